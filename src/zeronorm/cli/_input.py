"""What the arguments of several commands mean: the data, files to write, classes.

What can be refused before the long work begins is refused here, in `_plan` and in `_path`. NumPy
and the readers are imported only when they are needed, so that a mistyped option is answered at
once.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._doubts import RepeatedNames
from ._genotypes import is_genotypes, read_genotypes
from ._joined import read_joined
from ._label_files import file_hint, refuse_unasked
from ._messages import Doubt, show, some
from ._sample_table import header_of
from ._upright import across_hint, features_in_rows, read_across

if TYPE_CHECKING:
    from ..files import Layout, Table
    from ..files._table import Request
    from ._rows_options import RowsOptions

_BLOCK = 1 << 20  # so many cells are predicted at once
_TARGETS = ("target", "time", "event", "start", "strata")  # what predictions need not


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
    by_position: bool = False,
    transpose: bool = False,
    intercept: bool = True,
) -> Table:
    """Return the built-in data or a file; a file of that name comes first.

    samples : tables of the samples.
    covariates, force : features that may be columns of these.
    by_position : whether files of labels are in the order of the samples, where these have names.
    intercept : whether a model has one, beside which covariates of text need no base level.
    """
    check_missing(missing)
    roles = columns or {}
    given: dict[str, Any] = {
        "--id": id, "--drop": drop, "--layer": layer, "--missing": missing,
        "--encoding": encoding, "--transpose": transpose,
    }  # fmt: skip
    if is_genotypes(data):
        for option, value in given.items():
            if value and not (option == "--encoding" and samples):
                raise ValueError(f"{data}: genotypes have no columns to name; leave out {option}.")
        return read_genotypes(
            data, target, samples, roles, covariates, force, like, where, threads, encoding,
            intercept,
        )  # fmt: skip
    given |= {"--where": where, "--samples": samples}
    if is_golub(data):
        named = {f"--{role}": name for role, name in roles.items()}
        return _golub({**given, "--target": target, **named})
    from ..files import ROLES, FileError, Layout, TargetError, Where, read_table
    from ..files._table import Request

    if transpose:
        shown = "shows by itself that features are in the rows"
        if samples:
            raise ValueError(
                f"--transpose cannot be with --samples, which {shown}; leave out --transpose."
            )
        for option, value in {"--where": where, "--drop": drop, "--time": roles}.items():
            if value:
                raise ValueError(
                    f"--transpose cannot be with {option}; put what is known of the samples into a "
                    f"table of --samples, which {shown}, and leave out --transpose."
                )
        across = read_across(data, target, id, like, missing, layer, encoding)
        refuse_unasked(across, data, {"target": target}, by_position)
        return across
    others = {role: name for role, name in roles.items() if role in ROLES}
    if samples:
        # What a model takes as text is text, whatever stands there now; the rest is as it is.
        codings = {} if like is None else like.codings
        kinds = Layout(0, codings=codings, exact=True) if codings else None
        joined = [name for path in samples for name in header_of(path, encoding)]
        own_where, of_samples = (None, None) if where is None else Where(where).parted(joined)

        def read_own(target: str | None, columns: Mapping[str, str], of_id: str | None) -> Table:
            rows = None if own_where is None else Where(own_where.text, own_where.comparisons)
            own = id or of_id
            request = Request(
                target, kinds, own, False, columns, tuple(drop), layer, rows, missing,
                is_part=True, encoding=encoding,
            )  # fmt: skip
            return _own_part(data, request, joined, like is None)

        return read_joined(
            data, target, samples, roles, covariates, force, like, missing, of_samples, read_own,
            intercept, encoding,
        )  # fmt: skip
    try:
        table = read_table(
            data,
            target,
            id=id,
            like=like,
            need_labels=need_labels,
            columns=others,
            drop=drop,
            layer=layer,
            where=where,
            missing=missing,
            encoding=encoding,
            covariates=covariates if intercept else (),
        )
    except TargetError as error:
        hint = file_hint("--target", target) if ":" in (target or "") else ""
        raise FileError(f"{error}{hint or across_hint(data, target, encoding)}") from None
    refuse_unasked(table, data, {"target": target, **others}, by_position)
    lost = Where(where).lost if where is not None and like is None else ()
    return replace(table, notes=(*table.notes, *lost))


def _own_part(data: str, request: Request, joined: Sequence[str], is_new: bool) -> Table:
    """Return the data beside which tables of the samples stand, with what became of the rows.

    joined : the columns of these tables. is_new : whether no model says what features are.
    """
    from ..files import WhereError, did_you_mean, read_request

    where = request.where
    if where is None:
        return read_request(data, request)
    try:
        table = read_request(data, request)
    except WhereError as error:
        if error.lacks is not None:  # with what the tables have it is told beside them
            raise
        near = [did_you_mean(one.name, joined, listing=False) for one in where.comparisons]
        raise WhereError(f"{error}{max(near, key=len)}") from None
    return replace(table, notes=(*table.notes, where.note, *(where.lost if is_new else ())))


# What the built-in data have not, by the options that are about it.
_NOT_GOLUB = {
    "--where": "no columns of text",
    "--id": "no names of samples",
    "--samples": "no names of samples",
    "--encoding": "no text",
    "--transpose": "its samples in rows",
    "--missing": "no empty cells",
    "--target": "its labels built in",
}


def _golub(given: Mapping[str, Any]) -> Table:
    """Return the built-in data, of which options have nothing to say."""
    from ..datasets import load_golub
    from ..files import Table

    for option, value in given.items():
        if value:
            what = _NOT_GOLUB.get(option, "no column of that name")
            one = value if isinstance(value, str | bool) else value[0]
            shown = "" if one is True else f" {one!r}"
            raise ValueError(f"golub has {what}; leave out {option}{shown}.")
    golub = load_golub()
    return Table(
        golub.X, golub.y, golub.feature_names, golub.target_name, descriptions=golub.descriptions
    )


def check_missing(missing: str | None, *ways: str) -> None:
    """Refuse what empty cells cannot become, before anything is imported."""
    ways = ways or ("mean", "most_frequent", "indicator")
    if missing not in (None, *ways):
        listed = f"{', '.join(ways[:-1])} or {ways[-1]}"
        raise ValueError(f"--missing must be {listed}; got {missing!r}.")


def read_blocks(
    options: RowsOptions,
    like: Layout,
    columns: Mapping[str, str],
    notes: list[str],
    need_labels: bool = False,
) -> Iterator[Table]:
    """Yield the data to predict, of JSON lines and of several parts block by block.

    notes : what became of the rows is added to it at the end.
    need_labels : refuse columns none of which is the target, where they have names.
    """
    repeated = RepeatedNames()
    for table in _blocks(options, like, columns, notes, need_labels):
        repeated.take(table)
        yield table
    notes += [note for note in repeated.notes() if note not in notes]  # of another model


def _blocks(
    options: RowsOptions,
    like: Layout,
    columns: Mapping[str, str],
    notes: list[str],
    need_labels: bool,
) -> Iterator[Table]:
    """Yield the blocks; see `read_blocks`.

    Predictions need no target: from the first gap in that of the model on it is left.
    """
    from ..files import (
        ROLES,
        FileError,
        GapError,
        MissingFeaturesError,
        TargetError,
        Where,
        read_blocks,
    )
    from ..files._source import is_label_file
    from ..files._table import Request

    data, target = options.data, options.target
    if is_genotypes(data) or is_golub(data) or options.samples or options.transpose:
        table = read(
            data, target, options.id, like, columns=columns, samples=options.samples or (),
            layer=options.layer, where=options.where, encoding=options.encoding,
            by_position=options.by_position, transpose=options.transpose,
        )  # fmt: skip
        yield table
        return
    others = {role: name for role, name in columns.items() if role in ROLES}
    where = None if options.where is None else Where(options.where)
    request = Request(
        target, like, options.id, need_labels, others, (), options.layer, where,
        encoding=options.encoding,
    )  # fmt: skip
    # A file of labels has those of all rows, and text without a model of it is coded by all.
    whole = like.names is None or any(
        is_label_file(name) for name in (target or "", *others.values())
    )
    n_read, size = 0, None if whole else _BLOCK
    try:
        with _lasting(data) as (path, name):
            try:
                for table in read_blocks(path, request, size, name):
                    refuse_unasked(table, data, {"target": target, **others}, options.by_position)
                    n_read += 1
                    yield table
            except GapError as error:
                asked = need_labels or target is not None or error.role in columns
                if asked or like.names is None or error.role not in _TARGETS:
                    raise
                notes.append(Doubt(f"{error.what}, so that no target is read"))
                known = {role: one for role, one in like.columns.items() if role not in _TARGETS}
                like = replace(like, target_name=None, columns=known)
                where = None if options.where is None else Where(options.where)
                request = replace(request, like=like, where=where)
                again = read_blocks(path, request, size, name)
                yield from itertools.islice(again, n_read, None)
    except TargetError as error:
        hint = across_hint(data, target, options.encoding)
        if not hint:
            raise
        raise FileError(f"{error}{hint}") from None
    except MissingFeaturesError:
        across = (
            None if target or others else features_in_rows(data, like, options.encoding, options.id)
        )
        if across is None:
            raise
        yield across
    if where is not None:
        if not where.n_kept:
            raise where.nothing_kept(data)
        notes.append(where.note)


def is_data(path: str) -> bool:
    """Return whether a path is data: what has no checksum of a model at its end."""
    from ..designs._store import is_store
    from ..files._parts import parts_of
    from ..persistence import is_archive

    if path == "-" or is_genotypes(path) or is_store(path) or is_golub(path):
        return True
    if not Path(path).is_file():
        return parts_of(path) is not None
    return not path.endswith(".model.npz") and not is_archive(path)


def refuse_swapped(command: str, archive: str, data: str) -> None:
    """Refuse the arguments of a command, a file of zeronorm and data, in each other's place."""
    from ..persistence import is_archive

    def is_one(path: str) -> bool:
        return Path(path).is_file() and is_archive(path)

    if is_one(data) and not is_one(archive):
        first, second = (data, archive) if command != "verify" else (archive, data)
        raise ValueError(
            f"{archive} is no file of zeronorm, and {data} is one: say zeronorm {command} "
            f"{shlex.quote(first)} {shlex.quote(second)}."
        )


@contextmanager
def _lasting(data: str) -> Iterator[tuple[str, str | None]]:
    """Yield what can be read more than once, and the name that messages have for it, if another."""
    if data != "-":
        yield data, None
        return
    from ..files import standard_input

    with standard_input() as path:
        yield str(path), "standard input"


@contextmanager
def read_repeatedly(data: str) -> Iterator[str]:
    """Yield data that can be read more than once: standard input as a file."""
    from ..files import FileError

    with _lasting(data) as (path, name):
        try:
            yield path
        except FileError as error:
            if name is None:
                raise
            raise FileError(str(error).replace(path, name)) from None


def is_golub(data: str) -> bool:
    """Return whether data are the built-in ones."""
    return data == "golub" and not Path(data).exists()


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
