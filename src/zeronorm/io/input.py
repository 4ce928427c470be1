"""What the arguments of several commands mean: the data and their classes.

What can be refused before the long work begins is refused here, in `_paths`, in `_plan` and in
`_path`. NumPy and the readers are imported only when they are needed, so that a mistyped option is
answered at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.text import show, some
from .genotype_target import read_genotypes
from .joins import read_joined
from .label_files import file_hint, refuse_unasked
from .paths import is_genotypes, is_golub
from .sample_file import SampleFile
from .streams import as_named, lasting
from .upright import across_hint, check_across, read_across

if TYPE_CHECKING:
    from .table import Layout, Request, Table


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
        files = [SampleFile.read(path, encoding) for path in samples]
        target = _target_of(target, like, files, need_labels)
        return read_genotypes(
            data, target, files, roles, covariates, force, like, where, threads, intercept
        )
    given |= {"--where": where, "--samples": samples}
    if is_golub(data):
        named = {f"--{role.replace('_', '-')}": name for role, name in roles.items()}
        return _golub({**given, "--target": target, **named})
    from ..core.files import FileError, TargetError
    from .read import read_request
    from .table import Layout, Request
    from .where import Where

    if transpose:
        check_across(samples, {"--where": where, "--drop": drop, "--time": roles})
        with lasting(data) as (path, _):
            across = read_across(path, target, id, like, missing, layer, encoding)
            refuse_unasked(across, data, {"target": target}, by_position)
            return as_named(across, path, data)
    others = {role: name for role, name in roles.items() if role != "event_value"}
    if samples:
        # What a model takes as text is text, whatever stands there now; the rest is as it is.
        codings = {} if like is None else like.codings
        kinds = Layout(0, codings=codings, exact=True) if codings else None
        files = [SampleFile.read(path, encoding) for path in samples]
        target = _target_of(target, like, files, need_labels)
        joined = [name for file in files for name in file.header]
        own_where, of_samples = (None, None) if where is None else Where(where).parted(joined)

        def read_own(target: str | None, columns: Mapping[str, str], of_id: str | None) -> Table:
            rows = None if own_where is None else Where(own_where.text, own_where.comparisons)
            own = id or of_id
            request = Request(
                target, kinds, own, False, columns, tuple(drop), layer, rows, missing,
                is_part=True, encoding=encoding,
            )  # fmt: skip
            return _own_part(path, name, request, joined, like is None)

        with lasting(data) as (path, name):
            table = read_joined(
                path, target, files, roles, covariates, force, like, missing, of_samples, read_own,
                intercept,
            )  # fmt: skip
            return as_named(table, path, data)
    rows = None if where is None else Where(where)
    request = Request(
        target, like, id, need_labels, others, tuple(drop), layer, rows, missing,
        tuple(covariates) if intercept else (), encoding,
    )  # fmt: skip
    with lasting(data) as (path, name):
        try:
            table = read_request(path, request, name)
        except TargetError as error:
            hint = file_hint("--target", target) if ":" in (target or "") else ""
            raise FileError(f"{error}{hint or across_hint(path, target, encoding)}") from None
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
    data: str, name: str | None, request: Request, joined: Sequence[str], is_new: bool
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
    from .table import Table

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
