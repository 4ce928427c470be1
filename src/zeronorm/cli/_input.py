"""What the arguments of the commands mean: sizes, data, forced features, where a model goes.

What can be refused before the long work begins is refused here. NumPy and the readers are imported
only when they are needed, so that a mistyped option is answered at once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..methods import METHODS
from ._messages import show

if TYPE_CHECKING:
    from ..files import Layout, Table
    from ..persistence import SavedCertificate

NO_VALIDATION = "no cross-validation"  # how the note begins that says why
FEWER_FOLDS = "folds in place of"
METHOD_NAMES = [
    "auto",
    *(name for name, method in METHODS.items() if "features" in method.budgets),
]
_MAX_SIZES = 1000  # of one range
# Why an option does not go with groups.
_NOT_OF_GROUPS = {
    "--method": "which is the only one that has a budget of groups",
    "--criterion": "and information criteria do not count groups",
    "--prove": "and there are no proofs for budgets of features and groups at once",
    "--certificate": "which gives no certificate",
    "--calibrate": "whose probabilities are not scaled",
}
_SUFFIXES = {".gz", ".bz2", ".xz", ".zip"}


def parse_sizes(text: str) -> list[int]:
    """Return the sizes of --features, smallest first."""
    sizes: set[int] = set()
    for part in text.split(","):
        ends = [end.strip() for end in part.split(":")]
        if len(ends) > 2 or not all(re.fullmatch("[0-9]{1,12}", end) for end in ends):
            raise ValueError(
                "--features must be whole numbers with commas between them, or first and last with "
                f"a colon between them, such as 10 or 5,10,20 or 1:20; got {text!r}."
            )
        first, last = int(ends[0]), int(ends[-1])
        if first > last:
            raise ValueError(f"--features must have the smaller end first; got {part.strip()!r}.")
        if last - first >= _MAX_SIZES:
            raise ValueError(
                f"--features must be at most {_MAX_SIZES:,} sizes; {part.strip()!r} has "
                f"{last - first + 1:,}."
            )
        sizes.update(range(first, last + 1))
    if 0 in sizes:
        raise ValueError(f"--features must be at least 1; got {text!r}.")
    return sorted(sizes)


def parse_refit_c(text: str) -> float | str:
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


def read(
    data: str,
    target: str | None,
    id: str | None = None,
    like: Layout | None = None,
    need_labels: bool = False,
) -> Table:
    """Return the built-in data or a file; a file of that name comes first."""
    from ..files import FileError, SampleNamesError, Table, read_table

    if data == "golub" and not Path(data).exists():
        from ..datasets import load_golub

        if target is not None:
            raise ValueError(f"golub has its labels built in; leave out --target {target!r}.")
        if id is not None:
            raise ValueError(f"golub has no names of samples; leave out --id {id!r}.")
        golub = load_golub()
        return Table(
            golub.X,
            golub.y,
            golub.feature_names,
            golub.target_name,
            descriptions=golub.descriptions,
        )
    try:
        return read_table(data, target, id=id, like=like, need_labels=need_labels)
    except SampleNamesError as error:
        option = f"--id {shlex.quote(error.column)}"
        raise FileError(str(error).replace(error.argument, option)) from None


def read_labelled(
    data: str, target: str | None, id: str | None, like: Layout | None = None
) -> tuple[Table, Any]:
    """Return the data, and the labels that they must have: of classes, not continuous."""
    from .._validate import check_target

    table = read(data, target, id, like, need_labels=True)
    if table.y is None:
        raise ValueError(f"{data}: labels are needed; say where they are with --target.")
    return table, check_target(table.y, len(table.y))


def forced_positions(names: Sequence[str] | None, table: Table) -> list[int] | None:
    """Return the positions of the features of --force."""
    if not names:
        return None
    from ..files import did_you_mean, quote

    positions = []
    n_features = table.X.shape[1]
    known = table.feature_names
    for name in names:
        if known is not None and name in known:
            positions.append(known.index(name))
        elif known is not None:
            same = [other for other in known if re.fullmatch(re.escape(name) + r"#\d+'*", other)]
            if len(same) > 1:
                shown = ", ".join(show(other) for other in same[:8])
                raise ValueError(
                    f"--force: {quote(name)} is the name of {len(same)} columns: {shown}; name one "
                    "of these."
                )
            raise ValueError(f"--force: no feature {quote(name)}.{did_you_mean(name, known)}")
        elif name.isdigit() and 0 <= int(name) - table.first_index < n_features:
            positions.append(int(name) - table.first_index)
        else:
            last = n_features - 1 + table.first_index
            raise ValueError(
                f"--force must be between {table.first_index} and {last} (the features have no "
                f"names); got {quote(name)}."
            )
    return positions


def output_files(
    data: str,
    sizes: Sequence[int],
    output: Path | None,
    *,
    one: bool = False,
    kind: str = "model",
    option: str = "--output",
) -> dict[int, Path]:
    """Return where the file of each size goes; checked before the long work begins.

    one : whether only one of them is to be written.
    kind, option : what it is, and the option that names it.
    """
    if output is None:
        stem = Path(data).name
        while Path(stem).suffix.lower() in _SUFFIXES:
            stem = Path(stem).stem
        stem = Path(stem).stem
        files = {k: Path(f"{stem}-k{k}.{kind}.npz") for k in sizes}
    elif one or len(sizes) == 1:
        files = dict.fromkeys(sizes, output)
    else:
        name, dot, rest = output.name.partition(".")
        files = {k: output.with_name(f"{name}-k{k}{dot}{rest}") for k in sizes}
    for path in files.values():
        check_folder(path, option)
    return files


def certificate_files(
    data: str,
    sizes: Sequence[int],
    models: Mapping[int, Path],
    output: Path | None,
    *,
    one: bool,
) -> dict[int, Path]:
    """Return where the certificate of each size goes: by default beside its model."""
    if output is None:
        files = {
            k: path.with_name(
                path.name.removesuffix(".npz").removesuffix(".model") + ".certificate.npz"
            )
            for k, path in models.items()
        }
    else:
        files = output_files(data, sizes, output, one=one, option="--certificate")
    both = set(files.values()) & set(models.values())
    if both:
        raise ValueError(f"--certificate {min(both)} is the file of the model; name another.")
    return files


def proof_options(
    prove: bool, method: str | None, gap: float | None, time_limit: float | None
) -> tuple[str, dict[str, Any]]:
    """Return the method, l0 for a proof, and the options of the proof; none without."""
    if method is not None and method not in METHOD_NAMES:
        raise ValueError(f"--method must be one of {', '.join(METHOD_NAMES)}; got {method!r}.")
    if not prove:
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
    if not 0 <= gap < float("inf"):
        raise ValueError(f"--gap must be at least 0 (0.01 stands for 1%); got {gap:g}.")
    if not 0 < time_limit < float("inf"):
        raise ValueError(
            f"--time-limit must be a positive finite number of seconds; got {time_limit:g}."
        )
    return "l0", {"gap": gap, "time_limit": time_limit}


def check_groups(groups: int | None, group_file: Path | None, others: Mapping[str, bool]) -> None:
    """Refuse half of a bi-level selection, and what does not go with it.

    others : whether each option was given of those that a bi-level selection does not have.
    """
    if groups is None:
        if group_file is not None:
            raise ValueError(
                f"--group-file {group_file} needs the number of groups to select at most; say "
                "--groups G as well."
            )
        return
    if group_file is None:
        raise ValueError(
            f"--groups {groups} needs the group of every feature; say --group-file FILE as well."
        )
    if groups < 1:
        raise ValueError(f"--groups must be at least 1; got {groups}.")
    for option, given in others.items():
        if given:
            raise ValueError(
                f"--groups implies the method bilevel, {_NOT_OF_GROUPS[option]}. Leave out "
                f"{option}, or --groups and --group-file."
            )


def check_measure(measure: str | None, positive: str | None, others: Mapping[str, bool]) -> None:
    """Refuse a measure that is none, and what does not go with one.

    others : whether each option was given of those that training for a measure does not have.
    """
    if measure is None:
        if positive is not None:
            raise ValueError(f"--positive {positive} is of --measure; say --measure NAME as well.")
        return
    from ..measures import parse_measure

    try:
        parse_measure(measure)
    except ValueError as error:
        raise ValueError(f"--{error}") from None
    for option, given in others.items():
        if given:
            raise ValueError(
                f"--measure {measure} trains by a method of its own, which has no {option}. Leave "
                f"out {option}, or --measure."
            )


def check_measured_folds(estimator: Any, y: Any, folds: int) -> None:
    """Refuse a measure that cannot score the rows left out of a fold, before anything is fitted."""
    import numpy as np

    from .. import _validate
    from .._folds import splits
    from ..measures import parse_measure
    from ..model_selection import check_folds

    labels, weight = np.asarray(y), np.ones(len(y))
    classes, _ = _validate.check_pos_label(np.unique(labels), estimator.pos_label)
    pairs = splits(labels, weight, folds, 0)
    check_folds(parse_measure(estimator.measure), labels, weight, pairs, [classes] * len(pairs))


def named_class(label: str, y: Any) -> Any:
    """Return the class that a label on the command line names."""
    import numpy as np

    classes = {str(value): value for value in np.unique(y)}
    if label not in classes:
        raise ValueError(
            f"--positive must be one of the classes {listed(np.unique(y))}; got {label!r}."
        )
    return classes[label]


def check_folder(path: Path, option: str = "--output") -> None:
    """Refuse an output that cannot become a file."""
    if path.is_dir():
        raise ValueError(f"{option} must be a file; {path} is a directory.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: no such directory {str(path.parent)!r}; create it.")


def refuse_overwriting(
    outputs: Iterable[Path],
    data: str,
    target: str | None,
    other: Path | str | None = None,
    option: str = "--output",
) -> None:
    """Refuse outputs that are an input as well: the data, the labels or another file."""
    sources = [source for source in (data, target, other) if source is not None]
    for path in outputs:
        for source in sources:
            if path.exists() and Path(source).exists() and path.samefile(source):
                raise ValueError(f"{option} {path} is an input as well; name another file.")


def check_grid(points: int, ratio: float | None, max_features: int | None) -> None:
    """Refuse what is no grid of a path."""
    if points < 2:
        raise ValueError(f"--points must be at least 2; got {points}.")
    if ratio is not None and not 1 < ratio < float("inf"):
        raise ValueError(f"--ratio must be a finite number above 1; got {ratio:g}.")
    if max_features is not None and max_features < 1:
        raise ValueError(f"--max-features must be at least 1; got {max_features}.")


def check_folds(cv: int, remedy: str) -> None:
    """Refuse numbers of folds that no data allow."""
    if cv < 2:
        raise ValueError(f"--cv must be at least 2; got {cv}. {remedy}")


def check_classes(y: Any, cv: int | None, folds: int | None, limited: bool) -> None:
    """Refuse several classes where a path is for two of them.

    cv, folds : the folds of --cv, and as many of them as the classes allow.
    limited : whether --ratio or --max-features ends the path.
    """
    import numpy as np

    n_classes = len(np.unique(y))
    if n_classes <= 2:
        return
    if cv is None:
        raise ValueError(
            f"A path without --cv is for two classes; got {n_classes}. Say --cv 5: it chooses one "
            "C for all of them."
        )
    if folds is None:
        raise ValueError(
            f"A path of several classes needs a cross-validation, and so two samples of each; got "
            f"{n_classes} classes, the smallest with one."
        )
    if limited:
        raise ValueError(
            f"--ratio and --max-features are for two classes; got {n_classes}. Leave them out."
        )


def usable_folds(cv: int, y: Any, notes: list[str]) -> int | None:
    """Return as many folds as the smallest class allows; None if it allows none."""
    import numpy as np

    classes, counts = np.unique(y, return_counts=True)
    smallest = int(counts.min())
    if smallest >= cv:
        return cv
    label = show(str(classes[counts.argmin()]))
    if smallest < 2:
        notes.append(f"{NO_VALIDATION}: the class {label} has one sample")
        return None
    notes.append(f"{smallest} {FEWER_FOLDS} {cv}: the class {label} has {smallest} samples")
    return smallest


def check_names(table: Table, certificate: SavedCertificate, data: str) -> None:
    """Refuse data whose selected features have other names than those of a certificate."""
    from ..files import quote

    if table.feature_names is None or certificate.feature_names is None:
        return
    for j, name in zip(certificate.support_.tolist(), certificate.feature_names, strict=True):
        found = table.feature_names[j] if j < len(table.feature_names) else ""
        if found != name:
            raise ValueError(
                f"{data}: feature {j} (from 0) must be {quote(name)}, as in the certificate; got "
                f"{quote(found)}. Verify with the data of the selection, its columns in order."
            )


def comparable(y: Any, classes: Any) -> Any:
    """Return labels in the type of the classes: a file may say 1 where another says 1.0 or "1"."""
    import numpy as np

    if (y.dtype.kind == "U") == (classes.dtype.kind == "U"):
        return y
    if classes.dtype.kind == "U":
        return y.astype(str)
    text = {str(label): label for label in classes}
    return np.array([text.get(label, np.nan) for label in y.tolist()])


def listed(classes: Any) -> str:
    """Return the first classes for a note."""
    more = f" and {len(classes) - 6} more" if len(classes) > 6 else ""
    return ", ".join(show(str(label), 30) for label in classes[:6]) + more
