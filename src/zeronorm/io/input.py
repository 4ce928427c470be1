"""What a command reads: the built-in data, a file, standard input, with tables of the samples.

What can be refused before the long work begins is refused here, in `cli.files`, in `cli.plan` and
in `cli.path`. NumPy and the readers are imported only when they are needed, so that a mistyped
option is answered at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.messages import show, some
from .joins import across_hint, check_across, read_across, read_genotypes, read_joined
from .samples import SampleFile

if TYPE_CHECKING:
    from ..core.groups import Groups
    from .table import Layout, Table, TableRequest


@dataclass(frozen=True, slots=True)
class Samples:
    """The data of a selection."""

    table: Table
    response: Response
    groups: Groups | None

    @property
    def y(self) -> Any:
        """The target, of ordered classes with their order."""
        order = self.response.order
        return self.response.y if order is None else Ordered(self.response.y, order)


@dataclass(frozen=True, slots=True)
class Response:
    """The target of a task, and what belongs to it."""

    task: str
    # Labels; numbers, of several responses (n_samples, n_responses); a structured array of event,
    # time and maybe the stratum.
    y: Any
    offset: Any = None  # (n_samples,) of the margins
    guess: str | None = None  # why this task, where there may be doubts
    order: Any = None  # of ordered classes, the labels from the lowest to the highest
    groups: Any = None  # (n_samples,) samples with the same number are held out together

    @property
    def labelled(self) -> bool:
        """Whether the target is classes, ordered or not."""
        return self.task in ("classes", "ordered")


@dataclass(frozen=True, slots=True)
class Ordered:
    """Labels with their order, as an ordered categorical of pandas has it."""

    labels: Any  # (n_samples,)
    categories: Any  # from the lowest to the highest
    ordered: bool = True

    @property
    def dtype(self) -> Ordered:
        """What has the order."""
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return the labels."""
        return self.labels

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.labels)


def read(
    data: str,
    target: str | None,
    id: str | None = None,
    like: Layout | None = None,
    need_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    samples: Sequence[str] = (),
    covariates: Sequence[str] = (),
    force: Sequence[str] = (),
    threads: int | None = None,
    layer: str | None = None,
    where: str | None = None,
    missing: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    by_position: bool = False,
    transpose: bool = False,
    intercept: bool = True,
    na: str | None = None,
    dates: str | None = None,
) -> Table:
    """Return the built-in data or a file; a file of that name comes first.

    samples : tables of the samples.
    covariates, force : features that may be columns of these.
    by_position : whether files of labels are in the order of the samples, where these have names.
    intercept : whether a model has one, beside which covariates of text need no base level.
    """
    from .table import Layout, TableRequest, Where, absent, check_dates

    check_missing(missing)
    check_dates(dates, "--dates")
    check_decimal(decimal)
    na = ",".join(absent(na, like)) or None
    roles = columns or {}
    given: dict[str, Any] = {
        "--id": id, "--drop": drop, "--layer": layer, "--missing": missing,
        "--encoding": encoding, "--transpose": transpose, "--na": na, "--dates": dates,
        "--decimal": decimal,
    }  # fmt: skip
    if is_genotypes(data):
        for option, value in given.items():
            if value and not (option in ("--encoding", "--na", "--dates") and samples):
                raise ValueError(f"{data}: genotypes have no columns to name; leave out {option}.")
        files = [SampleFile.read(path, encoding, absent(na, None)) for path in samples]
        target = _target_of(target, like, files, need_labels)
        return read_genotypes(
            data, target, files, roles, covariates, force, like, where, threads, intercept
        )
    given |= {"--where": where, "--samples": samples}
    if is_demo(data):
        named = {f"--{role.replace('_', '-')}": name for role, name in roles.items()}
        return _demo({**given, "--target": target, **named})
    from ..core.files import FileError, TargetError
    from .read import read_request

    if transpose:
        check_across(samples, {"--where": where, "--drop": drop, "--time": roles})
        with lasting(data) as (path, _):
            across = read_across(path, target, id, like, missing, layer, encoding, decimal, na)
            refuse_unasked(across, data, {"target": target}, by_position)
            return as_named(across, path, data)
    others = {role: name for role, name in roles.items() if role != "event_value"}
    if samples:
        # What a model takes as text is text, whatever stands there now; the rest is as it is.
        codings = {} if like is None else like.codings
        kinds = Layout(0, codings=codings, exact=True) if codings else None
        files = [SampleFile.read(path, encoding, absent(na, None)) for path in samples]
        target = _target_of(target, like, files, need_labels)
        joined = [name for file in files for name in file.header]
        own_where, of_samples = (None, None) if where is None else Where(where).parted(joined)

        def read_own(target: str | None, columns: Mapping[str, str], of_id: str | None) -> Table:
            rows = None if own_where is None else Where(own_where.text, own_where.comparisons)
            own = id or of_id
            request = TableRequest(
                target, kinds, own, False, columns, tuple(drop), layer, rows, missing,
                is_part=True, encoding=encoding, decimal=decimal, na=na, dates=dates,
            )  # fmt: skip
            return _own_part(path, name, request, joined, like is None)

        with lasting(data) as (path, name):
            table = read_joined(
                path, target, files, roles, covariates, force, like, missing, of_samples, read_own,
                intercept,
            )  # fmt: skip
            return as_named(table, path, data)
    rows = None if where is None else Where(where)
    request = TableRequest(
        target, like, id, need_labels, others, tuple(drop), layer, rows, missing,
        tuple(covariates) if intercept else (), encoding, decimal, na=na, dates=dates,
    )  # fmt: skip
    with lasting(data) as (path, name):
        try:
            table = read_request(path, request, name)
        except TargetError as error:
            hint = file_hint("--target", target) if ":" in (target or "") else ""
            raise FileError(
                f"{error}{hint or across_hint(path, target, encoding, decimal)}"
            ) from None
    refuse_unasked(table, data, {"target": target, **others}, by_position)
    if rows is None:
        return table
    notes = (*table.notes, rows.note, *(rows.lost if like is None else ()))
    return replace(table, notes=notes, n_before=rows.n_rows)


def _target_of(
    target: str | None, like: Layout | None, files: Sequence[SampleFile], need_labels: bool
) -> str | None:
    """Return what to predict: what is asked for, or what a model or a certificate is of.

    need_labels : whether that of a model is wanted, where tables of the samples have it.
    """
    own = None if like is None else like.target_name
    if target is not None or like is None or not isinstance(own, str):
        return target
    there = need_labels and any(own in file.header for file in files)
    return own if like.exact or there else None


def _own_part(
    data: str, name: str | None, request: TableRequest, joined: Sequence[str], is_new: bool
) -> Table:
    """Return the data beside which tables of the samples stand, with what became of the rows.

    name : of the data in messages, if another. joined : the columns of these tables.
    is_new : whether no model says what features are.
    """
    from ..core.files import WhereError, did_you_mean
    from .read import read_request

    where = request.where
    if where is None:
        return read_request(data, request, name)
    try:
        table = read_request(data, request, name)
    except WhereError as error:
        if error.lacks is not None:  # with what the tables have it is told beside them
            raise
        near = [did_you_mean(one.name, joined, listing=False) for one in where.comparisons]
        raise WhereError(f"{error}{max(near, key=len)}") from None
    return replace(table, notes=(*table.notes, where.note, *(where.lost if is_new else ())))


def is_genotypes(data: str) -> bool:
    """Return whether DATA means .bed files: by its suffix, or as the stem of some."""
    return data.endswith(".bed") or (not Path(data).exists() and Path(f"{data}.bed").exists())


def is_demo(data: str) -> bool:
    """Return whether data are the built-in ones."""
    return data == "demo" and not Path(data).exists()


# What the built-in data have not, by the options that are about it.
_NOT_DEMO = {
    "--where": "no columns of text",
    "--id": "no names of samples",
    "--samples": "no names of samples",
    "--encoding": "no text",
    "--decimal": "no text",
    "--transpose": "its samples in rows",
    "--missing": "no empty cells",
    "--na": "no missing values",
    "--dates": "no dates",
    "--target": "its labels built in",
}


def _demo(given: Mapping[str, Any]) -> Table:
    """Return the built-in data, of which options have nothing to say."""
    from ..datasets import load_demo
    from .table import Table

    for option, value in given.items():
        if value:
            what = _NOT_DEMO.get(option, "no column of that name")
            one = value if isinstance(value, str | bool) else value[0]
            shown = "" if one is True else f" {one!r}"
            raise ValueError(f"demo has {what}; leave out {option}{shown}.")
    demo = load_demo()
    return Table(
        demo.X, demo.y, demo.feature_names, demo.target_name, descriptions=demo.descriptions
    )


def check_missing(missing: str | None, *ways: str) -> None:
    """Refuse what empty cells cannot become, before anything is imported."""
    ways = ways or ("mean", "most_frequent", "indicator")
    if missing not in (None, *ways):
        listed = f"{', '.join(ways[:-1])} or {ways[-1]}"
        raise ValueError(f"--missing must be {listed}; got {missing!r}.")


def check_decimal(decimal: str | None) -> None:
    """Refuse what is no decimal mark, before anything is imported."""
    if decimal not in (None, ",", "."):
        raise ValueError(f"--decimal must be ',' or '.'; got {decimal!r:.50}.")


def check_folds(cv: int, remedy: str) -> None:
    """Refuse numbers of folds that no data allow."""
    if cv < 2:
        raise ValueError(f"--cv must be at least 2; got {cv}. {remedy}")


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
    return some([show(str(label), 30) for label in classes], 6)


# Standard input as a file that can be read more than once.

NAME = "standard input"  # in messages


@contextmanager
def lasting(data: str) -> Iterator[tuple[str, str | None]]:
    """Yield what can be read more than once, and the name that messages have for it, if another.

    Errors in the body have that name, too.
    """
    if data != "-":
        yield data, None
        return
    from .source import standard_input

    with standard_input() as file:
        try:
            yield str(file), NAME
        except ValueError as error:
            error.args = tuple(_named(one, str(file)) for one in error.args)
            raise


def as_named(table: Table, path: str, data: str) -> Table:
    """Return a table of a file, of standard input with notes that say so."""
    if data != "-":
        return table
    notes = (type(note)(_named(note, path)) for note in table.notes)
    return replace(table, notes=tuple(notes))


def _named(text: object, path: str) -> str:
    return str(text).replace(path, NAME)


# Labels in files of their own: taken in the order of the rows only where that is asked for.


def refuse_unasked(table: Table, data: str, files: Mapping[str, str | None], asked: bool) -> None:
    """Refuse files of labels beside samples with names, unless their order is said to be the same.

    files : the option of each role, the file where it has one. asked : whether it is said.
    """
    if asked or table.sample_names is None:
        return
    for role in table.by_position:
        option = "--" + role.replace("_", "-")
        raise ValueError(
            f"{data}: its samples have names, as {table.sample_names[0]!r:.60}, and the lines of "
            f"{option} {files.get(role)} have none: their order may be another. Join a table by "
            f"the names with --samples FILE {option} COLUMN; or say --by-position where the order "
            "is the same."
        )


def file_hint(option: str, given: str | None) -> str:
    """Return a remedy for a file, or FILE:COLUMN, in place of the name of a column, or ""."""
    path, mark, column = (given or "").rpartition(":")
    if not mark:
        path, column = column, "COLUMN"
    if not path or not column or not Path(path).is_file():
        return ""
    return (
        f" Columns of a table of the samples are said by --samples {path} {option} {column}: it is "
        "joined by the names of the samples."
    )
