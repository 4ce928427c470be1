"""The command `zeronorm infer`: intervals and p-values by rows that did not choose the features."""

from __future__ import annotations

import re
from dataclasses import fields, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from .._effects import ratio_name
from ._columns_file import columns_file
from ._doubts import targets_in_disguise
from ._features_out import check_features_out
from ._names import columns_named
from ._options import SelectOptions
from ._output import show_document
from ._plan import plan_selection
from ._progress import watched
from ._takes import option, takes
from ._target import Response, read_response
from ._task import settle_task

if TYPE_CHECKING:
    from ..files import Table

# What is of one model of all rows, its folds, its proof and its files; and what the models of
# inference do not have.
_NOT_OF_HALVES = {
    "features", "output", "save", "certificate", "report", "view", "cv", "no_cv", "permutations",
    "stability", "prove", "gap", "time_limit", "rule", "refit_c", "calibrate", "checkpoint",
    "measure", "positive", "groups", "group_file", "covariates", "offset", "exposure", "order",
    "shared", "features_out", "scheduler",
}  # fmt: skip
_TYPES = get_type_hints(SelectOptions)
_TASKS = ("auto", "classes", "numbers", "survival")
_OWN: list[tuple[str, Any, Any]] = [
    ("features", str, option("How many are chosen, exactly.", "--features", "-k", metavar="K",
                             default="10")),
    ("task", str, option("The target: classes (two), numbers or survival; auto: as it looks.",
                         metavar="TASK", default="auto")),
    ("splits", int, option("So many random splits, whose p-values are combined.", metavar="N",
                           default=1)),
    ("share", float, option("Of the samples that choose; all others infer.", metavar="SHARE",
                            default=0.5)),
    ("confidence", float, option("Of the intervals.", metavar="LEVEL", default=0.95)),
    ("features_out", Path | None, option("The features, a table (.csv, .parquet).",
                                         metavar="FILE")),
]  # fmt: skip

if TYPE_CHECKING:

    class InferOptions(SelectOptions):
        """What `zeronorm infer` is asked for."""

        splits: int
        share: float
        confidence: float

else:
    _own = {name for name, *_ in _OWN}
    _shared = [
        (one.name, _TYPES[one.name], one)
        for one in fields(SelectOptions)
        if one.name not in _NOT_OF_HALVES | _own
    ]
    # The data and the number of features come first in --help.
    InferOptions = make_dataclass(
        "InferOptions",
        [_shared[0], *_OWN, *_shared[1:]],
        frozen=True,
        kw_only=True,
    )


@takes(InferOptions)
def infer(options: InferOptions) -> None:
    """Say how large the effects of K selected features are, by rows that did not choose."""
    _check(options)
    asked = _as_selection(options)
    with watched(options.quiet or options.as_json) as work:
        with work.timed("imports"):
            task = settle_task(asked)
            plan = plan_selection(asked)
            work.progress.phase("Starting")
            from ..split_inference import split_inference
            from ._selection import Samples, estimator_of
            from .documents._inference import describe_inference
            from .reports._inference import print_inference
        work.progress.phase(f"Reading {options.data}")
        with work.timed("read"):
            table, response = read_response(asked, task)
        work.notes.extend(table.notes)
        if response.groups is not None:
            work.notes.append(
                "samples of one group choose together or infer together; intervals take them as "
                "independent, and are too short where they are alike"
            )
        model = _model_of(options, table, response)
        samples = Samples(table, response, None)
        estimator = estimator_of(asked, plan, samples)
        work.progress.phase("Selecting on some samples, inferring on the others")
        with work.timed("splits"), columns_named(table.feature_names):
            try:
                found = split_inference(
                    estimator,
                    table.X,
                    samples.y,
                    n_splits=options.splits,
                    share=options.share,
                    level=options.confidence,
                    model=model,
                    groups=response.groups,
                )
            except ValueError as error:
                raise ValueError(_in_words(str(error), table)) from error
        document = describe_inference(options, samples, found)
        work.notes.extend(targets_in_disguise([document], samples, options.keep or ()))
        if options.features_out is not None:
            with work.timed("write"), columns_file(options.features_out) as write:
                write(_table(document))
    document |= {
        "features_file": None if options.features_out is None else str(options.features_out),
        "seconds": work.seconds,
        "notes": work.notes,
    }
    show_document(document, options, print_inference)


def _as_selection(options: InferOptions) -> SelectOptions:
    """Return the selection of the rows that choose."""
    own = {one.name for one in fields(SelectOptions)} - {"features_out"}
    given = {
        one.name: getattr(options, one.name)
        for one in fields(options)  # type: ignore[arg-type,unused-ignore]
        if one.name in own
    }
    return SelectOptions(**given, no_cv=True, save=False, calibrate=False)


def _check(options: InferOptions) -> None:
    """Refuse what is wrong whatever the data are."""
    if options.task not in _TASKS:
        raise ValueError(
            f"--task must be one of {', '.join(_TASKS)}; got {options.task!r}. Linear, logistic "
            "and Cox models have inference."
        )
    size = options.features.strip()
    if not size.isdecimal() or int(size) < 1:
        raise ValueError(
            f"--features must be one number, 1 or more; got {options.features!r}. zeronorm cv says "
            "how well each of several does."
        )
    for name, value in (("--share", options.share), ("--confidence", options.confidence)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must be above 0 and below 1; got {value:g}.")
    if options.splits < 1:
        raise ValueError(f"--splits must be at least 1; got {options.splits}.")
    check_features_out(options, [])


def _model_of(options: InferOptions, table: Table, response: Response) -> str:
    """Return the model of the target; refuse a target that none is for."""
    import numpy as np

    if response.task == "survival":
        return "cox"
    if response.task == "counts":
        raise ValueError(
            f"{options.data}: counts have no inference; say --task numbers for a linear model."
        )
    if not response.labelled:
        return "linear"
    classes = np.unique(response.y)
    if classes.size != 2:
        raise ValueError(
            f"{options.data}: the target must have two classes for a logistic model; got "
            f"{classes.size}. Leave out the others by --where \"NAME != 'LABEL'\"."
        )
    return "logistic"


def _in_words(message: str, table: Table) -> str:
    """Return a message of the package with options in place of the parameters of its function.

    Features without names are those of the file, which may count from 1.
    """
    if table.feature_names is None:
        first = table.first_index
        message = re.sub(r"\bx(\d+)\b", lambda found: str(int(found[1]) + first), message)
    for parameter, words in (
        ("Choose fewer features, or take more rows", "Lower --features or --share"),
        ("Choose fewer, or lower share", "Lower --features or --share"),
        ("Take another random_state, or leave out", "Leave out, by --drop,"),
        ("Lower share", "Lower --share"),
        ("share must", "--share must"),
        ("estimator must choose", "--features must ask for"),
    ):
        message = message.replace(parameter, words)
    return message


def _table(document: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of the file, a row for each feature, named as those of select."""
    rows = document["features"]
    names = ["name", "index", "description", "chosen", "p_value", "adjusted_p_value"]
    if all(row["description"] is None for row in rows):
        names.remove("description")
    found = {"rank": list(range(1, len(rows) + 1))}
    found |= {name: [row[name] for row in rows] for name in names}
    if len(document["splits"]) == 1:
        own = {row["index"]: row for row in document["splits"][0]["features"]}
        heads = {one: one for one in ("coefficient", "standard_error", "lower", "upper")}
        heads["coefficient_per_sd"] = "coefficient_per_sd"
        ratio = (ratio_name(document["model"]) or "").replace(" ", "_")
        if ratio:
            heads |= {f"{ratio}{end}": f"ratio{end}" for end in ("", "_lower", "_upper", "_per_sd")}
        for name, key in heads.items():
            found[name] = [own[row["index"]][key] for row in rows]
    return found
