"""The commands `zeronorm certify` and `zeronorm prove`: what is known of a list of features."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import persistence
from ..core.files import FileError, did_you_mean, quote
from ..core.messages import Doubt
from ..core.results import Status
from ..estimators.problem import problem_of
from ..export.formats import feature_names
from ..inspection import certification
from ..inspection.alternatives import near_optimal
from ..io.groups import read_costs, read_groups
from ..io.input import Samples, is_demo
from ..io.source import check_path
from ..persistence import is_archive, load
from ..persistence.loaded import named_among
from ..reporting.documents.data import feature_name
from ..reporting.documents.trust import (
    CountedUnits,
    describe_certified,
    describe_near_optimal,
    excess_of,
)
from ..reporting.text.certificates import print_certified
from .files import (
    check_columns_file,
    check_folder,
    columns_file,
    is_data,
    refuse_overwriting,
    refuse_swapped,
)
from .messages import Work, show_document, watched
from .options import CertifyOptions, ProblemOptions, ProveOptions, SelectOptions
from .plan import check_proof, plan_selection
from .selection import estimator_of, named_columns, positions_of
from .training import has_whole_groups, options_of_model, other_rows, read_training, with_forced

if TYPE_CHECKING:
    from ..core.results import Proof
    from ..core.types import FloatArray
    from ..inspection.alternatives import NearOptimal
    from ..io.table import Dataset
    from ..persistence import LoadedModel
    from ..reporting.records import NearSets


_HEADS = ("feature", "name")


def certify(options: CertifyOptions) -> None:
    """Say how far a list of features, from anywhere, can be from the best of its length."""
    _certified(options)


def prove(options: ProveOptions) -> None:
    """Search for a better list of features of this length, or prove that there is none."""
    check_proof(options.gap, options.time_limit)
    _check_within(options)
    _certified(options)


def _certified(options: CertifyOptions | ProveOptions) -> None:
    """Certify a list of features, or search until the wanted gap is proven."""
    with watched(options) as work:
        _check_certificate(options)
        if is_data(options.features):
            command = "certify" if isinstance(options, CertifyOptions) else "prove"
            refuse_swapped(command, options.features, options.data)
        names, of_model = _listed(options.features)
        asked = _as_selection(options, names, of_model)
        plan = plan_selection(asked)
        work.progress.phase(f"Reading {options.data}")
        cost = None if isinstance(options, CertifyOptions) else options.cost
        for named in filter(None, (cost, options.group_file)):
            check_path(named)  # before DATA is read, which may take its time
        with work.timed("read"):
            metadata = {} if of_model is None else of_model.metadata
            asked, table, response = read_training(
                asked, plan.task, options.features, metadata, work.notes
            )
            costs = None if cost is None else read_costs(cost, table)
            of = options.group_file
            groups = None if of is None else read_groups(of, table, work.notes)
        work.has_read(table)
        samples = Samples(table, response, groups)
        by_group = groups is not None and of_model is None
        support = [] if by_group else positions_of("FEATURES", names, table)
        if not plan.whole:  # a column of text may be several of them
            plan = replace(plan, sizes=[len(support)])
        problem = estimator_of(asked, plan, samples)
        if by_group:
            support = _features_of(names, problem, samples)
        if of_model is not None:
            signs = _signs_of(of_model, support, table)
            work.notes.extend(_other_data(options, of_model, table, signs))
            problem.set_params(**({} if signs is None else {"signs": signs}))
        given: dict[str, Any] = {"problem": problem, "n_threads": options.threads}
        given |= {} if groups is None else {"feature_groups": groups}
        if response.offset is not None:
            given["offset"] = response.offset
        work.progress.phase("Certifying")
        with work.timed("search"):
            certificate, proof = _searched(options, support, samples, given, work)
        if options.certificate is not None:
            with work.timed("write"):
                persistence.save_certificate(
                    certificate,
                    options.certificate,
                    table.X,
                    samples.y,
                    class_weight=options.class_weight,
                    feature_names=table.feature_names,
                    first_index=table.first_index,
                    target_name=table.target_name,
                    columns=named_columns(asked, table),
                )
        file = None if options.certificate is None else str(options.certificate)
        more: dict[str, Any] = {"file": file, "seconds": work.seconds, "notes": work.notes}
        if isinstance(options, ProveOptions):
            more["near_optimal"] = _near_lists(options, support, samples, costs, given, proof, work)
        document = describe_certified(options.data, samples, support, certificate, proof, **more)
    show_document(document, options, print_certified)


def _searched(
    options: CertifyOptions | ProveOptions,
    support: Any,
    samples: Samples,
    given: dict[str, Any],
    work: Work,
) -> tuple[Any, Any]:
    """Return the certificate of some features, and the proof where one is asked for."""
    given = {**given, "max_abs_coef": options.max_abs_coef}
    X, y = samples.table.X, samples.y
    if isinstance(options, CertifyOptions):
        return certification.certify(support, X, y, **given), None
    work.progress.proving(options.gap, options.time_limit)
    goal: dict[str, Any] = {"gap": options.gap, "time_limit": options.time_limit}
    callback = work.progress.searched
    proof: Any = certification.prove(support, X, y, callback=callback, **goal, **given)
    return proof.certificate, proof


def _signs_of(model: LoadedModel, support: Sequence[int], table: Dataset) -> Any:
    """Return the signs of coefficients that a model was selected with; None without any.

    None too where some features have a sign, and the columns of the data are not those of then.
    """
    signs = model.metadata["parameters"].get("signs")
    if not isinstance(signs, dict):
        return signs
    same = table.X.shape[1] == model.n_features_in_ and {*support} <= {*model.columns.tolist()}
    return {int(j): sign for j, sign in signs.items()} if same else None


def _other_data(
    options: ProblemOptions, model: LoadedModel, table: Dataset, signs: Any
) -> Iterator[Doubt]:
    """Yield in what data or problem differ from those that a model was selected from."""
    others = other_rows(options.data, table, options.features, model.metadata)
    if others is not None:
        yield Doubt(f"{others}; --where chooses rows")
    n, own = table.X.shape[1], model.n_features_in_
    if n != own:
        yield Doubt(
            f"{options.data} has {n:,} features, and {options.features} was selected from "
            f"{own:,}: the certificate is of all those of the data; --drop leaves out columns"
        )
    if signs is None and model.metadata["parameters"].get("signs") is not None:
        yield Doubt(
            f"{options.features} was selected with signs of coefficients; the certificate is of "
            "models whose coefficients have any sign"
        )


def _check_certificate(options: CertifyOptions | ProveOptions) -> None:
    """Refuse a file of the certificate that cannot be written, or that is an input."""
    path, option = options.certificate, "--certificate"
    if path is not None:
        check_folder(path, option)
        refuse_overwriting([path], options.data, options.target, options.group_file, option)


def _listed(text: str) -> tuple[list[str], LoadedModel | None]:
    """Return the names of a list of features, and the model that it is of, if it is of one."""
    path = Path(text)
    model = None
    if path.is_file():
        if is_archive(path):
            model = load(path)
            names = _names_of_model(model)
        else:
            try:
                names = _names_in(path.read_text(encoding="utf-8-sig"))
            except UnicodeDecodeError:
                raise FileError(f"{text}: no text file, and no model.") from None
    else:
        names = [name.strip() for name in text.split(",")]
    names = [name for name in names if name]
    if not names:
        raise ValueError(f"FEATURES must name one feature or more; {text!r:.60} has none.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"FEATURES must name each feature once; got {twice!r:.60} twice.")
    return names, model


def _features_of(names: Sequence[str], problem: Any, samples: Samples) -> list[int]:
    """Return the places of the features of groups, without those that are constant."""
    groups = samples.groups
    assert groups is not None
    labels = [str(label) for label in groups.labels.tolist()]
    for name in names:
        if name not in labels:
            raise ValueError(
                f"FEATURES must be groups of --group-file, which has no group {quote(name)}."
                f"{did_you_mean(name, labels, given=names)}"
            )
    posed = problem_of(problem, samples.table.X, samples.y, offset=samples.response.offset)
    inside = np.isin(groups.code, [labels.index(name) for name in names])
    found: list[int] = np.flatnonzero(inside & posed.usable).tolist()
    return found


def _names_in(text: str) -> list[str]:
    """Return the names in a text: those of a column, or a line each; without covariates."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return []
    delimiter = next((mark for mark in ",;\t" if mark in lines[0]), None)
    if delimiter is None:
        names = [line.strip().strip('"') for line in lines]
        return names[1:] if names[0].lower() in _HEADS else names
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    head = [cell.strip().lower() for cell in rows[0]]
    place = next((head.index(name) for name in _HEADS if name in head), None)
    if place is None:
        raise ValueError(
            "FEATURES must have a name on each line, or a column feature or name; got the columns "
            f"{', '.join(rows[0])[:80]}. If these are the data, name them after FEATURES."
        )
    beside = head.index("covariate") if "covariate" in head else None
    found = [
        row[place].strip()
        for row in rows[1:]
        if len(row) > place and (beside is None or row[beside].strip().lower() != "true")
    ]
    return list(dict.fromkeys(found))  # of several sizes or classes in one file


def _names_of_model(model: LoadedModel) -> list[str]:
    """Return the selected features of a model, by their names or numbers."""
    several = len(model.metadata["certificates"]) > 1
    if several:
        raise ValueError(
            "FEATURES must be one list; the model has one for each class. Select with zeronorm "
            "select --shared, or name the features of one class and a target of two."
        )
    if model.feature_names is None:
        first = model.metadata["first_index"]
        return [str(int(j) + first) for j in model.support_]
    return list(named_among(model.support_, model.columns, feature_names(model)))


def _as_selection(
    options: ProblemOptions, names: Sequence[str], model: LoadedModel | None
) -> SelectOptions:
    """Return the selection that the list is an answer to."""
    own = {one.name for one in fields(SelectOptions)}
    given = {
        one.name: getattr(options, one.name) for one in fields(ProblemOptions) if one.name in own
    }
    given |= {"features": str(len(names)), "no_cv": True, "save": False}
    if options.group_file is not None:
        given |= {"features": "all", "groups": "1"}  # as many as the list has
    elif model is not None and has_whole_groups(model):
        raise ValueError(
            f"{options.features} is a model of whole groups of features; say --group-file FILE as "
            "well, with which it was selected."
        )
    if model is not None:
        built_in = ("target", "id") if is_demo(options.data) else ()
        for name, value in options_of_model(model).items():
            if given.get(name) in (None, "auto") and name not in built_in:
                given[name] = value
    return with_forced(SelectOptions(**given), names, model)


def _check_within(options: ProveOptions) -> None:
    """Refuse what is no share, and options of lists that nobody asks for."""
    within, path = options.within, options.output
    if within is None:
        of_lists = (("--output", path), ("--limit", options.limit), ("--cost", options.cost))
        for option, given in of_lists:
            if given is not None:
                raise ValueError(
                    f"{option} is of the lists of --within; got {given} without it. Say --within "
                    "0.01 as well, or leave it out."
                )
        return
    if options.group_file is not None:
        raise ValueError(
            "--within lists features, and --group-file is of whole groups; leave out one of them."
        )
    if not 0 <= within < float("inf"):
        raise ValueError(f"--within must be at least 0 (0.01 stands for 1%); got {within:g}.")
    if options.max_abs_coef is not None:
        raise ValueError(
            "--within lists models with any coefficients; leave out --max-abs-coef, or --within."
        )
    if options.limit is not None and options.limit < 1:
        raise ValueError(f"--limit must be at least 1; got {options.limit}.")
    if path is not None:
        check_columns_file(path, "--output", (".csv", ".parquet"))
        others = options.features, options.certificate, options.cost, *(options.samples or ())
        for other in others:
            refuse_overwriting([path], options.data, options.target, other)


def _near_lists(
    options: ProveOptions,
    support: list[int],
    samples: Samples,
    cost: FloatArray | None,
    given: dict[str, Any],
    proof: Proof,
    work: Work,
) -> NearSets | None:
    """Return the lists of as many features, and write them where a file is named.

    None where they are not asked for, and after an interrupt.

    cost : of every feature. given : the problem, the offset and the threads.
    """
    if options.within is None:
        return None
    if proof.status is Status.INTERRUPTED:
        work.notes.append(Doubt("interrupted: the lists of --within are left out"))
        return None
    work.progress.phase("Listing what is nearly as good")
    with work.timed("lists"):
        near: Any = near_optimal(
            samples.table.X,
            samples.y,
            len(support),
            within=options.within,
            cost=cost,
            limit=1000 if options.limit is None else options.limit,
            time_limit=options.time_limit,
            **given,
        )
    if options.output is not None:
        with work.timed("write"):
            _write(options.output, near, samples.table)
    return describe_near_optimal(near, support, CountedUnits(samples.table), options.output)


def _write(path: Path, near: NearOptimal, table: Dataset) -> None:
    """Write a row for each list, the best first."""
    excess = excess_of(near)
    columns: dict[str, list[Any]] = {
        "rank": list(range(1, len(near) + 1)),
        "objective": near.objectives.tolist(),
        "worse_by": excess.tolist(),
        # Whether no list that is as good as this one, or better, is missing.
        "complete": [near.complete or one < near.complete_within for one in excess.tolist()],
    }
    for place, features in enumerate(near.supports.T.tolist(), 1):
        columns[f"feature_{place}"] = [feature_name(table, j) for j in features]
    if near.costs is not None:
        columns["cost"] = near.costs.tolist()
    with columns_file(path) as write:
        write(columns)
