"""What the options of `zeronorm select` mean, and what of them is refused before any work."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..io.input import check_folds
from .features_out import check_features_out
from .groups_options import check_groups, sizes_option
from .options import FOLDS, METHOD_NAMES, SelectOptions
from .page_command import check_page, check_view
from .paths import check_folder, refuse_overwriting

_MAX_SIZES = 1000  # One range has so many sizes at most.
OF_FOLDS, OF_CRITERIA = ("1se", "best"), ("aic", "bic", "ebic", "gic")
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


@dataclass(frozen=True, slots=True)
class Plan:
    """A selection as it is settled before the data are read."""

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


def plan_selection(options: SelectOptions) -> Plan:
    """Return what the options mean; refuse those that are wrong or do not go together."""
    others = {
        "--method": options.method is not None,
        f"--rule {options.rule}": options.rule in OF_CRITERIA,
        "--prove": options.prove,
        "--certificate": options.certificate is not None,
        "--calibrate": bool(options.calibrate),
        "--nonnegative": bool(options.nonnegative),
        "--nonpositive": bool(options.nonpositive),
    }
    n_groups = check_groups(options, others)
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
    for option in ("--nonnegative", "--nonpositive"):
        if others[option] and method not in ("auto", "pool", "l0"):
            raise ValueError(f"{option} needs --method pool or l0; got {method!r}.")
    if options.measure is not None:
        method = "measure"
    elif grouped:
        method = "bilevel"
    folds = _folds(options.cv, options.no_cv)
    option, given = sizes_option(options)
    sizes = None if given.strip() == "auto" else _parse_sizes(option, given)
    rule = _rule(options, sizes, folds, n_groups == "auto")
    if sizes is None:
        from ..estimators.folds import AUTOMATIC

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
    check_view(options)
    if options.report is not None:
        check_page(options.report, "--report", options, files)
    refit_C = _parse_refit_c(options.refit_c)
    return Plan(
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


def for_every_size(options: SelectOptions, plan: Plan) -> Plan:
    """Return the plan that writes a model of every size, as nothing has chosen among them."""
    sizes = plan.sizes or []
    models = _model_files(options, sizes, False) if plan.models else {}
    certificates: dict[int, Path] = {}
    if plan.certificates:
        certificates = _certificate_files(options, sizes, models, False)
    _check_outputs(options, models, "--output")
    _check_outputs(options, certificates, "--certificate")
    return replace(plan, rule="all", models=models, certificates=certificates)


def _rule(
    options: SelectOptions, sizes: Sequence[int] | None, folds: int | None, of_groups: bool
) -> str | None:
    """Return what chooses among the sizes, None of one; refuse what nothing can choose among.

    of_groups : whether the number of groups that features are in is to be chosen.
    """
    option, given = sizes_option(options)
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


def _check_measure(measure: str | None, others: Mapping[str, bool]) -> None:
    """Refuse a measure that is none, and what does not go with one.

    others : whether each option was given of those that training for a measure does not have.
    """
    if measure is None:
        return
    from ..measures import parse_measure

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
    search: dict[str, Any] = {}
    if options.starts is not None:
        if not options.prove and method != "l0":
            raise ValueError(f"--starts {options.starts} needs --method l0, or --prove.")
        if options.starts < 1:
            raise ValueError(f"--starts must be at least 1; got {options.starts}.")
        search["n_starts"] = options.starts
    if not options.prove:
        for option, value in (("--gap", gap), ("--time-limit", time_limit)):
            if value is not None:
                raise ValueError(f"{option} {value:g} is of a proof; say --prove as well.")
        return "auto" if method is None else method, search
    if method not in (None, "l0"):
        raise ValueError(
            f"--prove needs --method l0; got {method!r}. Leave --method out, or --prove."
        )
    gap = 0.01 if gap is None else gap
    time_limit = 60.0 if time_limit is None else time_limit
    if not 0 <= gap < float("inf"):
        raise ValueError(f"--gap must be at least 0 (0.01 stands for 1%); got {gap:g}.")
    if not 0 < time_limit < float("inf"):
        raise ValueError(
            f"--time-limit must be a positive finite number of seconds; got {time_limit:g}."
        )
    return "l0", {**search, "gap": gap, "time_limit": time_limit}


def _model_files(options: SelectOptions, sizes: Sequence[int], one: bool) -> dict[int, Path]:
    """Return where the model of each size goes; one : whether only one of them is written."""
    of_groups = sizes_option(options)[0] == "--groups"
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
