"""Rows for a model, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.messages import Doubt
from ..io.input import as_named, is_genotypes, is_golub, lasting, read, refuse_unasked
from ..io.joins import across_hint, features_in_rows
from ..reporting.warnings import RepeatedNames

if TYPE_CHECKING:
    from ..io.table import Layout, Table
    from .rows_options import RowsOptions

_BLOCK = 1 << 20  # so many cells are predicted at once
# What predictions need not.
_TARGETS = ("target", "time", "event", "start", "strata", "cv_groups")


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
    notes += repeated.notes()


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
    from ..core.files import FileError, GapError, MissingFeaturesError, TargetError
    from ..io.read import read_blocks
    from ..io.source import is_label_file
    from ..io.table import ROLES, TableRequest, Where

    data, target = options.data, options.target
    if is_genotypes(data) or is_golub(data) or options.samples or options.transpose:
        table = read(
            data, target, options.id, like, need_labels, columns, samples=options.samples or (),
            layer=options.layer, where=options.where, encoding=options.encoding,
            by_position=options.by_position, transpose=options.transpose,
        )  # fmt: skip
        yield table
        return
    others = {role: name for role, name in columns.items() if role in ROLES}
    where = None if options.where is None else Where(options.where)
    request = TableRequest(
        target, like, options.id, need_labels, others, (), options.layer, where,
        encoding=options.encoding,
    )  # fmt: skip
    # A file of labels has those of all rows, and text without a model of it is coded by all.
    whole = like.names is None or any(
        is_label_file(name) for name in (target or "", *others.values())
    )
    n_read, size = 0, None if whole else _BLOCK
    with lasting(data) as (path, name):
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
            hint = across_hint(path, target, options.encoding)
            if not hint:
                raise
            raise FileError(f"{error}{hint}") from None
        except MissingFeaturesError:
            across = None
            if not (target or others):
                across = features_in_rows(path, like, options.encoding, options.id)
            if across is None:
                raise
            yield as_named(across, path, data)
    if where is not None:
        if not where.n_kept:
            raise where.nothing_kept(data)
        notes.append(where.note)
