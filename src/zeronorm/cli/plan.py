"""What the options of `zeronorm select` mean, and what of them is refused before any work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..estimators.sizes import AUTOMATIC
from ..io.input import check_folds
from ..measures import parse_measure
from ..methods import METHODS
from .files import check_features_out, check_folder, refuse_overwriting
from .options import FOLDS, LOSSES, METHOD_NAMES, TASKS, SelectOptions
from .page import check_page

OF_FOLDS, OF_CRITERIA = ("1se", "best"), ("aic", "bic", "ebic", "gic")

_MAX_SIZES = 1000  # One range has so many sizes at most.

_OTHER_FORMATS = {
    ".csv",
    ".tsv",
    ".txt",
    ".json",
    ".parquet",
    ".xlsx",
    ".npy",
    ".pkl",
    ".onnx",
    ".sql",
}
_SUFFIXES = {".gz", ".bz2", ".xz", ".zip"}

# Reasons why an option does not go with groups.
_NOT_OF_GROUPS = {
    "--method": "which is the only one that has a budget of groups",
    "--rule": "and information criteria do not count groups",
    "--prove": "and there are no proofs for budgets of features and groups at once",
    "--certificate": "which gives no certificate",
    "--calibrate": "whose models are not scaled",
    "--signs": "whose coefficients have any sign",
}
_NOT_OF_WHOLE_GROUPS = ("--signs", "--rule")  # --rule by a criterion


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """A selection as it is settled before the data are read."""

    task: str  # "auto": the target says it
    # The numbers of features, or of whole groups, growing; None: to be found.
    sizes: list[int] | None
    whole: bool  # whether groups are selected as wholes
    n_groups: int | str | None  # that the features are in at most; "auto": to be found
    rule: str | None  # what chooses among several sizes; None: there is one
    method: str
    search: dict[str, Any]  # options of the method l0; empty where there are none
    refit_C: float | str
    folds: int | None  # of the cross-validation
    models: dict[int, Path]  # where the model of each size goes
    certificates: dict[int, Path]  # where the certificate of each size goes


def plan_selection(options: SelectOptions) -> SelectionPlan:
    """Return what the options mean; refuse those that are wrong or do not go together."""
    task = _task_of(options)
    _check_permutations(options)
    _check_pairs(options)
    others = {
        "--method": options.method is not None,
        f"--rule {options.rule}": options.rule in OF_CRITERIA,
        "--prove": options.prove,
        "--certificate": options.certificate is not None,
        "--calibrate": bool(options.calibrate),
        "--signs": bool(options.signs),
    }
    n_groups = _check_groups(options, others)
    grouped, refitted = n_groups is not None, options.refit_c != "loo"
    shared = {"--shared": options.shared is True}  # A measure has a model for each class.
    measured = {"--groups": options.groups is not None, "--refit-c": refitted, **shared, **others}
    measured["--covariates"] = options.covariates is not None
    if options.positive is not None and options.measure is None:
        raise ValueError(
            f"--positive {options.positive} is of --measure; say that as well, or leave it out."
        )
    _check_measure(options.measure, measured)
    method, search = _search_options(options)
    if options.signs and method not in ("auto", "pool", "l0"):
        raise ValueError(f"--signs needs --method pool or l0; got {method!r}.")
    if options.measure is not None:
        method = "measure"
    elif grouped:
        method = "bilevel"
    folds = _folds(options.cv, options.no_cv)
    option, given = _sizes_option(options)
    sizes = None if given.strip() == "auto" else _parse_sizes(option, given)
    rule = _rule(options, sizes, folds, n_groups == "auto")
    if sizes is None:
        candidates = sorted({*AUTOMATIC, max(1, len(options.force or ()))})
    else:
        sizes = candidates = _compared(sizes, rule)
    one = rule != "all"
    models = _model_files(options, candidates, one) if options.save else {}
    certificates: dict[int, Path] = {}
    if options.certificate is not None or options.prove:
        certificates = _certificate_files(options, candidates, models, one)
    _check_outputs(options, models, "--output")
    _check_outputs(options, certificates, "--certificate")
    files = [*models.values(), *certificates.values()]
    check_features_out(options, files)
    if options.report is not None:
        check_page(options.report, "--report", options, files)
    refit_C = _parse_refit_c(options.refit_c)
    return SelectionPlan(
        task,
        sizes,
        option == "--groups",
        n_groups,
        rule,
        method,
        search,
        refit_C,
        folds,
        models,
        certificates,
    )


def for_every_size(options: SelectOptions, plan: SelectionPlan) -> SelectionPlan:
    """Return the plan that writes a model of every size, as nothing has chosen among them."""
    sizes = plan.sizes or []
    models = _model_files(options, sizes, False) if plan.models else {}
    certificates: dict[int, Path] = {}
    if plan.certificates:
        certificates = _certificate_files(options, sizes, models, False)
    _check_outputs(options, models, "--output")
    _check_outputs(options, certificates, "--certificate")
    return replace(plan, rule="all", models=models, certificates=certificates)


def loss_of(options: SelectOptions) -> tuple[str | None, float | None]:
    """Return the name of the loss, and the quantile behind its colon, if there are any."""
    text = options.loss
    if text is None or not text.startswith("quantile:"):
        return text, None
    name, _, value = text.partition(":")
    try:
        quantile = float(value)
    except ValueError:
        quantile = float("nan")
    if not 0 < quantile < 1:
        raise ValueError(
            f"--loss {name}:Q must have Q between 0 and 1, as {name}:0.9; got {text!r}."
        )
    return name, quantile


def _task_of(options: SelectOptions) -> str:
    """Return the task that the options say, "auto" where the target says it; refuse the rest."""
    if options.task not in TASKS:
        raise ValueError(f"--task must be one of {', '.join(TASKS)}; got {options.task!r}.")
    loss, _ = loss_of(options)
    if loss is not None and loss not in LOSSES:
        raise ValueError(
            f"--loss must be one of {', '.join(LOSSES)}; got {loss!r}. Classes have the logistic "
            "loss, survival times Cox's partial likelihood."
        )
    if options.ties not in (None, "breslow", "efron"):
        raise ValueError(f"--ties must be breslow or efron; got {options.ties!r}.")
    of_rates = loss in ("poisson", "gamma")
    # Ordered classes are classes, too.
    labels = "ordered" if options.task == "ordered" or options.order is not None else "classes"
    implied = {
        "--time": (options.time is not None, "survival"),
        "--event": (options.event is not None, "survival"),
        "--time-from": (options.time_from is not None, "survival"),
        "--start": (options.start is not None, "survival"),
        "--strata": (options.strata is not None, "survival"),
        "--ties": (options.ties is not None, "survival"),
        f"--loss {loss}": (loss is not None, LOSSES.get(loss or "", "")),
        "--exposure": (options.exposure is not None and not of_rates, "counts"),
        "--order": (options.order is not None, "ordered"),
        "--measure": (options.measure is not None, "classes"),
        "--positive": (options.positive is not None, "classes"),
        "--class-weight": (options.class_weight is not None, labels),
        "--shared" if options.shared else "--per-class": (options.shared is not None, "classes"),
    }
    task, reason = options.task, "--task"
    for option, (given, of_task) in implied.items():
        if not given:
            continue
        if task == "auto":
            task, reason = of_task, option
        elif task != of_task:
            raise ValueError(
                f"{option} is of {of_task}, but {reason} says {task}. Leave out one of them."
            )
    _check_parts(options, task)
    return task


def _check_parts(options: SelectOptions, task: str) -> None:
    """Refuse half of a target, and what does not go with a task."""
    if task == "survival":
        for option, value in (("--time", options.time), ("--event", options.event)):
            if value is None:
                raise ValueError(
                    f"Survival times need {option}: say --time COLUMN, until the event or the end "
                    "of observation, and --event COLUMN, 1 where the event was observed and else 0."
                )
        if options.target is not None:
            raise ValueError(
                "Survival times have --time and --event as their target; leave out --target "
                f"{options.target!r}."
            )
        if not options.intercept:
            raise ValueError("--no-intercept is not of survival, which has no intercept.")
    offset = options.offset if options.exposure is None else options.exposure
    if task == "ordered":
        if not options.intercept:
            raise ValueError("--no-intercept is not of ordered, whose thresholds are intercepts.")
        known = [name for name, method in METHODS.items() if method.shares]
        if options.method not in (None, "auto", *known):
            raise ValueError(
                f"--method must be one of {', '.join(known)} for ordered; got {options.method!r}."
            )
    if offset is not None and task in ("classes", "ordered", "survival"):
        raise ValueError(f"--offset and --exposure are of numbers and counts; got {task}.")
    if options.offset is not None and options.exposure is not None:
        raise ValueError(
            "--offset is the logarithm of --exposure: they are one or the other; got both."
        )


def _check_permutations(options: SelectOptions) -> None:
    """Refuse a number of permutations that is none, or does not go with other options."""
    n = options.permutations
    if n is None:
        return
    if n < 1:
        raise ValueError(
            f"--permutations must be at least 1; got {n}. With 99 the least p is 0.01; leave it "
            "out for none."
        )
    if options.no_cv:
        raise ValueError(
            f"--permutations {n} repeats the cross-validation, and --no-cv has none; leave out one "
            "of them."
        )
    if options.covariates is not None:
        raise ValueError(
            f"--permutations {n} does not go with --covariates: permuting the labels breaks their "
            "link with the covariates too, so that p would test both; leave out one of them."
        )


def _check_pairs(options: SelectOptions) -> None:
    """Refuse a number of pairs that is none."""
    if options.stability is not None and options.stability < 1:
        raise ValueError(
            "--stability must be at least 1 pair of half-samples, 50 are usual; got "
            f"{options.stability}. Leave it out for none."
        )


def _sizes_option(options: SelectOptions) -> tuple[str, str]:
    """Return the option that says the sizes, and what it says."""
    if options.features.strip() == "all" and options.groups is not None:
        return "--groups", options.groups
    return "--features", options.features


def _check_groups(options: SelectOptions, others: Mapping[str, bool]) -> int | str | None:
    """Return the number of groups that features are in at most; None of whole groups, and without.

    Refuse half of a selection in groups, and what does not go with one.

    others : whether each option was given of those that features in few groups do not have.
    """
    groups, file, whole = options.groups, options.group_file, options.features.strip() == "all"
    if groups is None:
        if whole:
            raise ValueError(
                "--features all takes whole groups of features; say --groups G and --group-file "
                "FILE as well."
            )
        if file is not None:
            raise ValueError(
                f"--group-file {file} needs the number of groups to select at most; say "
                "--groups G as well."
            )
        return None
    n_groups = None if whole else _number_of_groups(groups)
    if file is None:
        raise ValueError(
            f"--groups {groups.strip():.60} needs the group of every feature; say --group-file "
            "FILE as well."
        )
    for option in [name for name, given in others.items() if given]:
        of_single = option.split()[0] in _NOT_OF_WHOLE_GROUPS
        if whole and of_single:
            raise ValueError(
                f"{option} is of single features, and --features all takes whole groups; leave "
                "out one of them."
            )
        if not whole:
            raise ValueError(
                f"--groups implies the method bilevel, {_NOT_OF_GROUPS[option.split()[0]]}. Leave "
                f"out {option}, or --groups and --group-file."
                + ("" if of_single else " Whole groups, --features all, may have it.")
            )
    return n_groups


def _number_of_groups(groups: str) -> int | str:
    """Return the number of groups that features are in at most; it may be "auto"."""
    text = groups.strip()
    if text != "auto" and not re.fullmatch("[0-9]{1,12}", text):
        raise ValueError(
            f"--groups must be a whole number or auto; got {groups!r:.60}. Which features are in "
            "which group says --group-file FILE; several numbers are of whole groups, "
            "--features all."
        )
    if text != "auto" and int(text) < 1:
        raise ValueError(f"--groups must be at least 1; got {text}.")
    return text if text == "auto" else int(text)


def _check_measure(measure: str | None, others: Mapping[str, bool]) -> None:
    """Refuse a measure that is none, and what does not go with one.

    others : whether each option was given of those that training for a measure does not have.
    """
    if measure is None:
        return

    parse_measure(measure)
    for option, given in others.items():
        if given:
            raise ValueError(
                f"--measure {measure} trains by a method of its own, which has no {option}. Leave "
                f"out {option}, or --measure."
            )


def _search_options(options: SelectOptions) -> tuple[str, dict[str, Any]]:
    """Return the method, l0 for a proof, and the options of l0: of its searches and the proof."""
    method, gap, time_limit = options.method, options.gap, options.time_limit
    if method is not None and method not in METHOD_NAMES:
        raise ValueError(f"--method must be one of {', '.join(METHOD_NAMES)}; got {method!r}.")
    if not options.prove:
        for option, value in (("--gap", gap), ("--time-limit", time_limit)):
            if value is not None:
                raise ValueError(f"{option} {value:g} is of a proof; say --prove as well.")
        return "auto" if method is None else method, {}
    if method not in (None, "l0"):
        raise ValueError(
            f"--prove needs --method l0; got {method!r}. Leave --method out, or --prove."
        )
    gap = 0.01 if gap is None else gap
    time_limit = 60.0 if time_limit is None else time_limit
    check_proof(gap, time_limit)
    return "l0", {"gap": gap, "time_limit": time_limit}


def check_proof(gap: float, time_limit: float) -> None:
    """Refuse ends of a proof that are none."""
    if not 0 <= gap < float("inf"):
        raise ValueError(f"--gap must be at least 0 (0.01 stands for 1%); got {gap:g}.")
    if not 0 < time_limit < float("inf"):
        raise ValueError(
            f"--time-limit must be a positive finite number of seconds; got {time_limit:g}."
        )


def _folds(cv: int | None, no_cv: bool) -> int | None:
    """Return the number of folds; None: no cross-validation."""
    if no_cv and cv is not None:
        raise ValueError(f"--no-cv and --cv {cv} say the opposite; leave out one of them.")
    if no_cv:
        return None
    folds = FOLDS if cv is None else cv
    check_folds(folds, f"Leave it out for {FOLDS}.")
    return folds


def _parse_sizes(option: str, text: str) -> list[int]:
    """Return the sizes of --features, or of --groups, smallest first."""
    sizes: set[int] = set()
    for part in text.split(","):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) > 2 or not all(re.fullmatch("[0-9]{1,12}", end) for end in ends):
            raise ValueError(
                f"{option} must be whole numbers with commas between them, first and last with a "
                f"colon between them, such as 10 or 5,10,20 or 1:20, or auto; got {text!r}."
            )
        first, last = int(ends[0]), int(ends[-1])
        if first > last:
            raise ValueError(f"{option} must have the smaller end first; got {part.strip()!r}.")
        if last - first >= _MAX_SIZES:
            raise ValueError(
                f"{option} must be at most {_MAX_SIZES:,} sizes; {part.strip()!r} has "
                f"{last - first + 1:,}."
            )
        sizes.update(range(first, last + 1))
    if 0 in sizes:
        raise ValueError(f"{option} must be at least 1; got {text!r}.")
    return sorted(sizes)


def _rule(
    options: SelectOptions, sizes: Sequence[int] | None, folds: int | None, of_groups: bool
) -> str | None:
    """Return what chooses among the sizes, None of one; refuse what nothing can choose among.

    of_groups : whether the number of groups that features are in is to be chosen.
    """
    option, given = _sizes_option(options)
    what = option.removeprefix("--")
    rule, known = options.rule, (*OF_FOLDS, *OF_CRITERIA, "all")
    if rule is not None and rule not in known:
        raise ValueError(f"--rule must be one of {', '.join(known)}; got {rule!r}.")
    if sizes is None and options.prove:
        raise ValueError(
            f"--prove needs the number of {what}: say {option} K, as proofs of all sizes may "
            "take hours."
        )
    if sizes is not None and len(sizes) == 1 and rule not in OF_CRITERIA and not of_groups:
        if rule in OF_FOLDS:
            raise ValueError(
                f"--rule {rule} chooses among several sizes; got {option} {given}. "
                f"Say {option} 1:{max(2, sizes[0])} or auto, or leave out --rule."
            )
        return rule
    if folds is None and of_groups:
        raise ValueError(
            "--no-cv leaves nothing to choose the number of groups by; say --groups G, or leave "
            "out --no-cv."
        )
    if folds is None and rule in (None, *OF_FOLDS):
        raise ValueError(
            f"--no-cv leaves nothing to choose among the sizes {given} by; say --rule "
            "ebic (or aic, bic, gic), --rule all for a model of each, one size, or leave out "
            "--no-cv."
        )
    return "1se" if rule is None else rule


def _compared(sizes: list[int], rule: str | None) -> list[int]:
    """Return the sizes to compare: of a criterion and one number all up to it."""
    if rule in OF_CRITERIA and len(sizes) == 1:
        return list(range(1, sizes[0] + 1))
    return sizes


def _model_files(options: SelectOptions, sizes: Sequence[int], one: bool) -> dict[int, Path]:
    """Return where the model of each size goes; one : whether only one of them is written."""
    of_groups = _sizes_option(options)[0] == "--groups"
    return _output_files(options.data, sizes, options.output, one, "g" if of_groups else "k")


def _output_files(
    data: str,
    sizes: Sequence[int],
    output: Path | None,
    one: bool,
    letter: str = "k",
    option: str = "--output",
) -> dict[int, Path]:
    """Return where the file of each size goes; checked before the long work begins.

    one : whether only one of them is to be written. letter : before the size in their names.
    option : the one that names the file.
    """
    if output is None:
        stem = "input" if data == "-" else Path(data).name
        if not Path(data).exists():  # a pattern
            stem = re.sub(r"[-_]?([*?]+|\[.*?\])", "", stem)
        while Path(stem).suffix.lower() in _SUFFIXES:
            stem = Path(stem).stem
        stem = Path(stem).stem
        files = {k: Path(f"{stem}-{letter}{k}.model.npz") for k in sizes}
    elif one or len(sizes) == 1:
        files = dict.fromkeys(sizes, output)
    else:
        name, dot, rest = output.name.partition(".")
        files = {k: output.with_name(f"{name}-{letter}{k}{dot}{rest}") for k in sizes}
    for path in files.values():
        check_folder(path, option)
    return files


def _certificate_files(
    options: SelectOptions, sizes: Sequence[int], models: Mapping[int, Path], one: bool
) -> dict[int, Path]:
    """Return where the certificate of each size goes: by default beside its model."""
    output = options.certificate
    if output is None:
        files = {
            k: path.with_name(
                path.name.removesuffix(".npz").removesuffix(".model") + ".certificate.npz"
            )
            for k, path in models.items()
        }
    else:
        files = _output_files(options.data, sizes, output, one, option="--certificate")
    both = set(files.values()) & set(models.values())
    if both:
        raise ValueError(f"--certificate {min(both)} is the file of the model; name another.")
    return files


def _check_outputs(options: SelectOptions, files: Mapping[int, Path], option: str) -> None:
    """Refuse outputs that are an input, or that their names call something else."""
    group_file = options.group_file if option == "--output" else None
    refuse_overwriting(files.values(), options.data, options.target, group_file, option)
    for table in options.samples or ():
        refuse_overwriting(files.values(), table, None, option=option)
    for path in files.values():
        if path.suffix.lower() in _OTHER_FORMATS:
            raise ValueError(
                f"{option} must be a file of zeronorm, by custom NAME.npz; by the name {path} it "
                "would be taken for something else."
            )


def _parse_refit_c(text: str) -> float | str:
    """Return the value of --refit-c: a positive number or loo."""
    if text == "loo":
        return text
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise ValueError(f"--refit-c must be loo or a positive finite number; got {text!r}.")
    return value
