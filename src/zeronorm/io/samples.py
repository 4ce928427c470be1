"""Tables of the samples, which are joined to data by the names of these."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.messages import Doubt, counted, remedy, show, some

if TYPE_CHECKING:
    from ..core.files import FileError
    from ..core.groups import Groups
    from .encoding import Coding, Content
    from .source import Source
    from .table import Layout, Request, Table, Where
    from .texts import Texts

    Read = Callable[[str | None, Mapping[str, str], str | None], Table]


# Columns of tables of samples beside the features of the data: covariates, numbers or text.


def with_columns(
    table: Table,
    known: Known,
    names: Sequence[str],
    codings: Mapping[str, Coding],
    missing: str | None,
) -> Table:
    """Return a table with columns of tables of samples behind its own; text is still to be coded.

    codings : of a model, by column.
    missing : what becomes of empty cells.
    """
    import numpy as np

    from ..core.files import quote
    from .encoding import Cells
    from .texts import Texts

    X, features, cells = table.X, table.feature_names, table.cells
    if not names:
        return table
    if features is None or not isinstance(X, np.ndarray):
        raise ValueError(
            f"{known.data}: covariates of --samples go beside columns with names in memory; write "
            f"{quote(names[0])} into the data."
        )
    for name in {*names} & {*features}:
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} is a column of the data and of "
            "--samples; rename one of them."
        )
    contents = [_content(known, name, codings.get(name), missing) for name in names]
    texts = {j: one for j, one in enumerate(contents, len(features)) if isinstance(one, Texts)}
    numbers = [
        np.full(len(one), np.nan) if isinstance(one, Texts) else one.astype(np.float64)
        for one in contents
    ]
    X = np.asfortranarray(np.column_stack([X, *numbers]))
    if cells is None and (texts or np.isnan(numbers).any()):
        cells = Cells(X, {}, [f"sample {quote(name)}" for name in table.sample_names or ()])
    if cells is not None:
        cells = replace(cells, numbers=X, texts={**cells.texts, **texts})
    return replace(table, X=X, feature_names=[*features, *names], cells=cells)


def _content(known: Known, name: str, coding: Coding | None, missing: str | None) -> Content:
    """Return a column, which must be numbers or text of few values."""
    from ..core.files import quote
    from .encoding import Problem, fitted
    from .texts import Texts

    content: Content = known.content(name, as_text=coding is not None and coding.kind != "number")
    result = fitted(name, content, missing) if coding is None else coding
    problem = None if coding is None else coding.problem(content)
    if problem is not None:
        row = problem.row
        shown = quote("" if row is None else str(content[row]))
        raise ValueError(
            f"{known.data}: the covariate {quote(name)}: {shown} {problem.what}."
            f"{remedy(*problem.ways)}"
        )
    if isinstance(result, Problem) or result.kind == "date":
        what = result.what if isinstance(result, Problem) else "is a date"
        row = (result.row if isinstance(result, Problem) else None) or 0
        cell = quote(content[row]) if isinstance(content, Texts) else content[row]
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} must be numbers, or text of few values; "
            f"got {cell}, which {what}."
        )
    return content


def picked(table: Table, wanted: Sequence[str], data: str) -> Table:
    """Return a table with the columns that a model needs alone, in its order."""
    from .table import places_of_features

    orders = places_of_features(data, wanted, table.feature_names or [])
    cells = None if table.cells is None else table.cells.columns(orders)
    X: Any = table.X
    return replace(table, X=X[:, orders], feature_names=[*wanted], cells=cells)


def as_trained(
    table: Table,
    like: Layout | None,
    data: str,
    missing: str | None = None,
    covariates: Sequence[str] = (),
) -> Table:
    """Return a table with its cells coded, as a model has them where there is one."""
    import numpy as np

    from .encoding import Cells, coded_whole, needs_coding
    from .table import Request

    if like is not None and like.sources is not None and table.feature_names is not None:
        table = picked(table, like.sources, data)
    if needs_coding(like) and table.cells is None:
        if not isinstance(table.X, np.ndarray):
            raise ValueError(
                f"{data}: the model codes columns as in its training, which is done of tables in "
                "memory alone; write the data as CSV or Parquet."
            )
        table = replace(table, cells=Cells(table.X, {}, table.sample_names or ()))
    request = Request(like=like, missing=missing, covariates=covariates)
    table = coded_whole(data, table, request)
    if like is not None and like.names is None and table.X.shape[1] != like.n_features:
        raise ValueError(
            f"{data}: {table.X.shape[1]} features; the model was trained on {like.n_features}."
        )
    return table


def column_of(feature: str, names: Collection[str]) -> str:
    """Return the column that a covariate is of: a level of text stands for it."""
    if feature in names:
        return feature
    ends = [name for name in names if feature.startswith(f"{name}=")]
    ends += [name for name in names if feature == f"{name} is missing"]
    return ends[0] if ends else feature


# Tables of the samples as files: what their lines say, all of it as text.
#
# They are text with commas, semicolons, tabs or blanks, workbooks, Parquet or JSON lines, as data
# are.


@dataclass(frozen=True, slots=True)
class SampleFile:
    """What stands in a table of the samples, read once."""

    path: str
    header: list[str]  # the names of its columns
    rows: list[list[str]]  # at least one, each as wide as the header

    @classmethod
    def read(cls, path: str, encoding: str | None) -> SampleFile:
        """Read a file; refuse one without samples, or whose columns have no names of their own.

        encoding : of text that is not UTF-8.
        """
        from ..core.files import FileError, quote
        from .source import Source, check_path, checked_encoding

        rows, word = _rows_of(Source(check_path(path), None, checked_encoding(encoding)))
        if not rows:
            raise FileError(f"{path}: the file is empty.")
        if len(rows) == 1:
            raise FileError(
                f"{path}: no samples in it, but for the line with names of columns. Write a line "
                "for each sample."
            )
        rows = [[cell.strip() for cell in row] for row in rows]
        for number, row in enumerate(rows, 1):
            if len(row) != len(rows[0]):
                raise FileError(
                    f"{path}, {word} {number}: {len(rows[0])} columns as in the first {word}; got "
                    f"{len(row)}. Write all, empty where there is no value."
                )
        header = [cell.lstrip("#") for cell in rows[0]]
        repeated = next((name for name in header if header.count(name) > 1), None)
        if repeated is not None:
            raise FileError(
                f"{path}: the column {quote(repeated)} is there several times. Give each a name of "
                "its own."
            )
        return cls(path, header, rows[1:])


def _rows_of(source: Source) -> tuple[list[list[str]], str]:
    """Return the rows of a file of any format, the names of columns first; and what they are."""
    from .source import has_objects

    if source.is_workbook:
        from . import excel as _excel

        return _excel.rows_of_text(source), "row"
    with source.open() as stream:
        if stream.peek(4).startswith(b"PAR1"):
            from . import parquet as _parquet

            return _parquet.rows_of_text(source, stream), "row"
    text = _text_of(source)
    if has_objects(source, text[:1000].encode()):
        from . import json_lines as _json_lines

        return _json_lines.rows_of_text(source, text), "line"
    return _split(str(source), text), "line"


def _split(path: str, text: str) -> list[list[str]]:
    """Return the rows of a text with commas, semicolons, tabs or blanks."""
    from ..core.files import FileError

    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = next((mark for mark in ",;\t" if lines and mark in lines[0]), None)
    if delimiter is None:
        return [*map(str.split, lines)]
    # Of the whole text: a cell may have ends of lines in it.
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        return [row for row in reader if any(row)]
    except csv.Error as error:
        raise FileError(
            f"{path}, line {reader.line_num + 1}: cannot be read ({error}). Close the quotes, "
            "or shorten the cell."
        ) from None


def _text_of(source: Source) -> str:
    """Return a file of text: UTF-8, or else in the encoding of its source."""
    from ..core.files import FileError
    from .source import not_utf8, nul_byte

    encoding, source.encoding = source.encoding, None
    with source.open() as stream:
        content = stream.read()
    if content.startswith((b"\x89HDF", b"PK\x03\x04", b"\x93NUMPY")):
        raise FileError(
            f"{source}: no table with names of columns; write the table of the samples as CSV, "
            "JSON lines, .xlsx or Parquet."
        )
    if encoding is not None and not _is_utf8(content):
        source.encoding = encoding
        with source.open() as stream:
            content = stream.read()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileError(f"{source}: UTF-16 text; say --encoding utf-16, or save it as UTF-8.")
    if b"\x00" in content:
        raise nul_byte(source)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(source, True) from None


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\x00" not in content


# Tables of the samples: which of their columns name these, and what the others say.

MISSING = {"", "na", "nan", "n/a", ".", "null"}
_FAMILY, _NAMES = "fid", ("iid", "id", "sample", "sample_id")


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A file with a line for each sample: family and name, or the name alone, then values."""

    path: str
    keys: list[tuple[str, ...]]
    columns: dict[str, Any]  # of text
    notes: tuple[str, ...] = ()

    @classmethod
    def of_people(cls, file: SampleFile) -> SampleTable:
        """Return the columns of a file that begins with those of family and name, or the name."""
        from ..core.files import FileError, quote

        header = file.header
        low = [cell.lower() for cell in header]
        by_family = low[0] == _FAMILY and len(low) > 1 and low[1] in _NAMES
        if not by_family and low[0] not in _NAMES:
            raise FileError(
                f"{file.path}: the first line must name the columns, FID and IID or IID first; got "
                f"{quote(' '.join(header))}. Write such a line at the top."
            )
        return cls._by(file, [0, 1] if by_family else [0])

    @classmethod
    def of_names(
        cls, file: SampleFile, names: Collection[str], others: Collection[str] = ()
    ) -> SampleTable:
        """Return the columns of a file, one of which has the names of samples: most of them.

        Where none has any, the one that has most of them but for case and blanks.

        others : names of the columns of the data, for the error where it has none.
        """
        from ..core.files import FileError, quote
        from .texts import folded

        header, rows = file.header, file.rows
        for as_read in (str, folded):
            wanted = {*map(as_read, names)}
            found = [sum(as_read(one) in wanted for one in own) for own in zip(*rows, strict=True)]
            most = max(range(len(header)), key=found.__getitem__)
            if found[most]:
                break
        else:
            there, here = quote(rows[0][0]), quote(next(iter(names)))
            across = f" and their columns with {quote(next(iter(others)))}" if others else ""
            raise FileError(
                f"{file.path}: no sample of the data is in it: it begins with {there}, the rows of "
                f"the data with {here}{across}. Write the names of the samples as the data have "
                "them."
            )
        return cls._by(file, [most])

    @classmethod
    def _by(cls, file: SampleFile, own: list[int]) -> SampleTable:
        """Return a table whose samples some columns name."""
        import numpy as np

        from ..core.files import FileError, quote
        from .texts import NOTE

        path, header = file.path, file.header
        body = np.array(file.rows, str).reshape(-1, len(header))
        keys = [tuple(row) for row in body[:, own].tolist()]
        twice, count = Counter(keys).most_common(1)[0]
        if count > 1:
            lines = [str(line) for line, key in enumerate(keys, 2) if key == twice]
            raise FileError(
                f"{path}: the sample {quote(' '.join(twice))} has several lines: "
                f"{some(lines, 5)}. Leave one."
            )
        named = {name: body[:, place] for place, name in enumerate(header) if place not in own}
        pointed = {name: _with_points(column) for name, column in named.items()}
        changed = any(pointed[name] is not column for name, column in named.items())
        return cls(path, keys, pointed, (f"{path}: {NOTE}",) if changed else ())


def _with_points(column: Any) -> Any:
    """Return a column with points for the commas of its numbers; itself where it has none."""
    import numpy as np

    from .texts import Texts, with_points

    texts = Texts.of(column.tolist())
    found = with_points(texts.mapped(lambda text: "" if text.lower() in MISSING else text))
    return column if found is None else np.array(found.tolist())


# What is said where tables of the samples do not fit the data, or lack what is asked for.


def names_apart(table: SampleTable, people: Any) -> str:
    """Return the first names of a table and of the data, none of which is the same."""
    from ..core.files import quote

    own = [str(people[what][0]) for what in ("family", "name")][-len(table.keys[0]) :]
    there, here = quote(" ".join(table.keys[0])), quote(" ".join(own))
    return f" (it begins with {there}, the data with {here})"


def check_case(data: str, table: SampleTable, people: Any) -> None:
    """Refuse names that case or blanks alone keep from those of samples that are not found."""
    from ..core.files import quote
    from .texts import folded

    lines = {folded(key[-1]): line for line, key in enumerate(table.keys, 2)}
    found = [(name, lines.get(folded(name))) for name in map(str, people["name"].tolist())]
    alike = [
        (name, table.keys[line - 2][-1], line)
        for name, line in found
        if line is not None and table.keys[line - 2][-1] != name
    ]
    for name, there, line in alike[:1]:
        verb = "sample differs" if len(alike) == 1 else "samples differ"
        raise ValueError(
            f"{data}: {len(alike):,} {verb} by case or blanks alone from a name in {table.path}, "
            f"as {quote(name)} from {quote(there)} (line {line}). Write the names in one way."
        )


def refuse_data(data: str, tables: Sequence[str]) -> None:
    """Refuse the data as a table of their own samples."""
    for path in tables:
        if Path(path).exists() and Path(data).exists() and Path(path).samefile(data):
            raise ValueError(
                f"--samples {path} is DATA itself; name a table with a line for each sample, or "
                "leave it out."
            )


def refuse_twice(data: str, names: Sequence[str]) -> None:
    """Refuse samples of the same name, which lines of tables could not be told apart by."""
    from ..core.files import quote

    twice, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(
            f"{data}: the samples must have distinct names; got {quote(twice)} {count} times."
        )


def nowhere(error: FileError, data: str, headers: Mapping[str, list[str]]) -> FileError:
    """Return the error of a column that is neither in the data nor in the tables; or the given."""
    from ..core.files import FileError, WhereError, did_you_mean, quote

    if error.lacks is None:
        return error
    names = [name for header in headers.values() for name in header]
    hint = did_you_mean(error.lacks, [*names, *error.there], listing=False)
    kind = WhereError if isinstance(error, WhereError) else FileError
    return kind(
        f"{some([*headers], 3)}: no column {quote(error.lacks)}, and none in {data}."
        f"{hint or did_you_mean(error.lacks, names)}"
    )


def as_needed(
    table: Table, wanted: Sequence[str], data: str, headers: Mapping[str, list[str]]
) -> Table:
    """Return the columns that a model needs alone; refuse data and tables that lack one."""
    from ..core.files import MissingFeaturesError, did_you_mean

    where = some([data, *headers], 4)
    try:
        return picked(table, wanted, where) if table.feature_names is not None else table
    except MissingFeaturesError as error:
        names = [name for header in headers.values() for name in header]
        missing = next(name for name in wanted if name not in (table.feature_names or ()))
        hint = did_you_mean(missing, names, listing=False, given=wanted)
        raise MissingFeaturesError(f"{error}{hint}") from None


def refuse_roles(data: str, beside: Sequence[str], roles: Mapping[str, str | None]) -> None:
    """Refuse features that are the target, or another column that is none."""
    from ..core.files import quote

    for role, name in roles.items():
        if name in beside:
            option = "--" + role.replace("_", "-")
            raise ValueError(
                f"{data}: the column {quote(str(name))} is that of {option}, and cannot be a "
                "feature as well; leave it out of --force or --covariates."
            )


def refuse_typo(
    name: str,
    covariates: Sequence[str],
    given: Collection[str],
    table: Table,
    data: str,
    headers: Mapping[str, list[str]],
) -> None:
    """Refuse a feature that is neither in the data nor in the tables, but almost in a table.

    given : all columns that are asked for.
    """
    from ..core.files import did_you_mean, quote
    from .table import shared_name

    names = [name for header in headers.values() for name in header]
    own = [shared_name(one)[0] for one in table.feature_names or ()]
    if column_of(name, {*names, *own}) in {*names, *own}:
        return
    hint = did_you_mean(name, names, listing=False, given=given)
    if hint:
        option = "--covariates" if name in covariates else "--force"
        raise ValueError(
            f"{option}: no column {quote(name)} in {some([*headers], 3)}, and no feature of "
            f"{data}.{hint}"
        )


# Data with features in rows and samples in columns: taken the other way round.


def read_named(
    read: Callable[[str | None], Table],
    data: str,
    there: Collection[str],
    wanted: Collection[str] = (),
) -> Table:
    """Return data whose rows have names: of samples, or of features where samples are in columns.

    read : takes the column of the names; None: what the data say by themselves. Its cells are not
        coded yet.
    there : what stands in the tables of the samples. wanted : the columns that a model needs.
    """
    from ..core.files import SampleNamesError
    from .encoding import uncodable

    table = read(None)
    if table.sample_names is not None:
        return table
    error = uncodable(data, table)
    column = _naming(table, wanted)
    if error is not None and error.column is not None:
        named = read(error.column)
        if _lies(named, there, wanted):
            return named if column == error.column else read(column)
        if isinstance(error, SampleNamesError):
            return named
        raise error
    names = table.feature_names
    if names and names[0] not in there and _lies(table, there, wanted):
        return read(column)
    return table


def _naming(table: Table, wanted: Collection[str] = ()) -> str | None:
    """Return the column that names the features where they are in the rows.

    It is one with features that a model needs; else the first, or where that has text and repeats
    itself the first of text that does not.
    """
    from .table import shared_name

    names: Sequence[str | None] = table.feature_names or [None]
    texts = {} if table.cells is None else table.cells.texts
    known = {own for name in wanted for own in (name, shared_name(name)[0])}
    for order, column in texts.items():
        if not known.isdisjoint(column.levels):
            return names[order]
    if 0 in texts:
        for order, column in texts.items():
            if len(column.levels) == len(column) and _is_text(column):
                return names[order]
    return names[0]


def _is_text(column: Texts) -> bool:
    """Return whether no cell of a column is a number."""
    from .table import strict_float

    return all(strict_float(text) is None for text in column.levels)


def _lies(table: Table, there: Collection[str], wanted: Collection[str]) -> bool:
    """Return whether the samples are in the columns, and not in the rows.

    They are where the columns that a model needs are in the rows alone; else where names of samples
    are, whatever their case and blanks.
    """
    from .texts import folded

    rows, columns = table.sample_names or (), table.feature_names or ()
    if not {*wanted}.isdisjoint(rows) and {*wanted}.isdisjoint(columns):
        return True
    known = {*map(folded, there)}
    by_row = any(folded(name) in known for name in rows)
    return not by_row and any(folded(name) in known for name in columns)


def upright(table: Table, data: str, there: Collection[str], wanted: Collection[str] = ()) -> Table:
    """Return data with samples in rows; where they are in columns, the other way round."""
    from ..core.files import quote
    from .table import shared_name

    if not _lies(table, there, wanted):
        if table.sample_names is None:
            raise ValueError(
                f"{data}: its samples have no names by which --samples could be joined; say which "
                "column names them with --id."
            )
        return table
    for name in table.feature_names or ():
        own, count = shared_name(name)
        if count > 1 and own in there and name not in there:
            raise ValueError(
                f"{data}: the sample {own!r:.60} has several columns; leave out all but one."
            )
    table = _without_texts(table, data, there)
    names = table.feature_names or ()
    others = [quote(name) for name in names if name not in there]
    by_column = len(names) - len(others)
    why = f"{by_column:,} of its columns are samples of --samples"
    if others:
        why = f"{why}, and {len(others):,} {'is' if len(others) == 1 else 'are'} not"
        why = f"{why} ({some(others, 5)})"
    if not by_column:
        why = "those of the model are there"
    note = f"features are in the rows of {data}, since {why}: taken the other way round"
    return turned(table, data, note, there)


def features_in_rows(data: str, like: Layout, encoding: str | None, id: str | None) -> Table | None:
    """Return data with samples in columns the other way round; None where rows are no features.

    like : a model, whose features the names of the rows are.
    id : the column of these names; None: what the data say by themselves.

    Raises
    ------
    MissingFeaturesError
        Where all of them are but covariates, which a table of the samples may have.
    """
    from ..core.files import MissingFeaturesError, quote
    from .read import read_request
    from .table import Request, unique_names

    if not Path(data).is_file():
        return None
    wanted = like.sources or ()
    column = id or _naming(read_request(data, Request(is_part=True, encoding=encoding)), wanted)
    if column is None:
        return None
    table = read_request(data, Request(id=column, is_part=True, encoding=encoding))
    rows = set(unique_names(table.sample_names or ())[0])
    n_found = len(rows.intersection(wanted))
    if not n_found:
        return None
    made = {name: one.column for name, one in like.codings.items()}
    beside = {made.get(name, name) for name in like.covariates}
    missing = [name for name in wanted if name not in rows]
    if missing and beside.issuperset(missing):
        what, verb = ("covariates", "are") if missing[1:] else ("covariate", "is")
        raise MissingFeaturesError(
            f"{data}: the features of the model are in its rows, but its {what} "
            f"{', '.join(map(quote, missing))} {verb} not there; name a table of the samples that "
            f"has {'them' if missing[1:] else 'it'} with --samples."
        )
    if any(one.kind != "number" for one in like.codings.values()):
        return None
    note = (
        f"features are in the rows of {data}, since {n_found:,} features of the model are in its "
        f"column {column!r}: taken the other way round"
    )
    return as_trained(turned(table, data, note), like, data)


def check_across(samples: Sequence[str], others: Mapping[str, object]) -> None:
    """Refuse what cannot be with --transpose. others : the values of options."""
    shown = "shows by itself that features are in the rows"
    if samples:
        raise ValueError(
            f"--transpose cannot be with --samples, which {shown}; leave out --transpose."
        )
    for option, value in others.items():
        if value:
            raise ValueError(
                f"--transpose cannot be with {option}; put what is known of the samples into a "
                f"table of --samples, which {shown}, and leave out --transpose."
            )


def read_across(
    data: str,
    target: str | None,
    id: str | None,
    like: Layout | None,
    missing: str | None,
    layer: str | None,
    encoding: str | None,
) -> Table:
    """Return data with samples in columns the other way round, and labels from a file.

    id : the column with the names of the features; None: what the data say by themselves.
    """
    from .arrays import read_labels
    from .read import read_request
    from .source import is_label_file
    from .table import Request

    def read(column: str | None) -> Table:
        request = Request(
            None, None, id or column, False, {}, (), layer, None, missing, is_part=True,
            encoding=encoding,
        )  # fmt: skip
        return read_request(data, request)

    table = as_trained(turned(read_named(read, data, ()), data, ""), like, data, missing)
    if target is None:
        return table
    if not is_label_file(target):
        raise ValueError(
            f"{data}: with --transpose the target must be a file with a label for each column; got "
            f"{target!r:.60}. Put it into a table with the names of the samples, and say "
            f"--samples FILE --target {target}."
        )
    y, name = read_labels(target, table.X.shape[0])
    return replace(table, y=y, target_name=name, by_position=("target",))


def across_hint(data: str, target: str | None, encoding: str | None) -> str:
    """Return what to do with data not read that may have samples in columns, or ""."""
    from ..core.files import FileError
    from .arrays import read_labels
    from .read import read_request
    from .source import is_label_file
    from .table import Request

    if target is None or not Path(data).is_file():
        return ""
    try:
        table = read_request(data, Request(is_part=True, encoding=encoding))
        n_rows, names = table.X.shape[0], table.feature_names or []
        if is_label_file(target):
            n_columns = _without_texts(table, data, ()).X.shape[1]
            read_labels(target, n_columns)
            seen = f" {data} has {n_columns:,} columns of numbers: where features are in the rows,"
            return f"{seen} say --transpose." if n_columns != n_rows else ""
    except (FileError, ValueError):
        return ""
    if target in names or n_rows < len(names):
        return ""
    return (
        " Where features are in the rows and samples in the columns, name a table of the samples "
        f"with --samples FILE --target {target}: they are found by their names."
    )


def _without_texts(table: Table, data: str, there: Collection[str]) -> Table:
    """Return features in rows without the columns that say what these are: no cell is a number.

    A column that has the name of a sample stays, and so does one with a number in it: where a cell
    of a sample is spoilt, that is to be told.
    """
    import numpy as np

    from ..core.files import quote

    names, cells = table.feature_names, table.cells
    if names is None or cells is None:
        return table

    def says_nothing(order: int) -> bool:
        if order in cells.texts:
            return _is_text(cells.texts[order])
        return bool(np.isnan(cells.numbers[:, order]).all())

    out = [j for j, name in enumerate(names) if name not in there and says_nothing(j)]
    kept = [j for j in range(len(names)) if j not in {*out}]
    if not out or not kept:
        return table
    one = len(out) == 1
    note = (
        f"{counted(len(out), 'column')} of {data} without numbers {'is' if one else 'are'} no "
        f"{'sample' if one else 'samples'}, and left out: {some([quote(names[j]) for j in out], 5)}"
    )
    return replace(
        table,
        X=table.X[:, kept],
        cells=cells.columns(kept),
        feature_names=[names[j] for j in kept],
        notes=(*table.notes, note),
    )


def turned(table: Table, data: str, note: str, there: Collection[str] = ()) -> Table:
    """Return a table whose rows are features and whose columns are samples, the other way round.

    there : what stands in the tables of the samples.
    """
    import numpy as np

    from ..core.files import quote
    from .encoding import Cells, uncodable
    from .table import unique_names

    table = _without_texts(table, data, there)
    error = uncodable(data, table)
    if error is not None:
        raise error
    if table.cells is not None and table.cells.texts:
        name = (table.feature_names or [])[next(iter(table.cells.texts))]
        raise ValueError(
            f"{data}: its columns are samples, and its rows features, which must be numbers; got "
            f"{quote(table.cells.cell(next(iter(table.cells.texts)), 0))} in column {quote(name)}. "
            "Leave such rows out."
        )
    if not isinstance(table.X, np.ndarray) or table.feature_names is None:
        raise ValueError(
            f"{data}: its columns are samples, and its rows features, which is read of CSV, TSV "
            "and Parquet alone; write it with a row for each sample."
        )
    features, notes = table.sample_names, tuple[str, ...]()
    if features is not None:
        features, notes = unique_names(features)
    X, cells = np.asfortranarray(table.X.T), None
    if table.cells is not None:
        cells = Cells(X, {}, [f"sample {quote(name)}" for name in table.feature_names])
    return replace(
        table,
        X=X,
        cells=cells,
        feature_names=features,
        sample_names=table.feature_names,
        descriptions=None,
        column_names={what: name for what, name in table.column_names.items() if what != "id"},
        notes=(*table.notes, *([note] if note else []), *notes),
    )


OWN = "phenotype"  # what the .fam file has


class Known:
    """What tables say of the samples, and which samples have all that was asked for."""

    def __init__(self, data: str, people: Any, tables: Sequence[SampleTable]) -> None:
        import numpy as np

        from .genotypes import places_of

        self.data, self.people, self.tables = data, people, tables
        self.notes: list[str] = []
        self._kept = np.ones(len(people), bool)
        self._columns: dict[str, Any] = {}
        self._asked: set[str] = set()
        self._places = [places_of(people, table.keys) for table in tables]
        for table, place in zip(tables, self._places, strict=True):
            self.notes += table.notes
            check_case(data, table, people[place < 0])
            matched = int((place >= 0).sum())
            left = len(table.keys) - matched
            names = "" if matched else names_apart(table, people)
            self.notes.append(
                f"{matched:,} of {counted(len(people), 'sample')} "
                f"{'is' if matched == 1 else 'are'} in {table.path}{names}; {left:,} of its lines "
                f"{'is' if left == 1 else 'are'} of no sample"
            )

    @property
    def kept(self) -> Any:
        """(n,) bool, the samples that lack nothing; at least one."""
        if not self._kept.any():
            raise ValueError(f"{self.data}: no samples are left: {'; '.join(self.notes)}.")
        return self._kept

    def only_target(self) -> str:
        """Return the name of the phenotypes of the .fam file, where nothing else is to be meant."""
        from ..core.files import quote

        if self.tables:
            names = ", ".join(quote(name) for table in self.tables for name in table.columns)
            raise ValueError(
                f"{self.data}: say what to predict with --target: {OWN} for that of the .fam "
                f"file, or a column of --samples: {names}."
            )
        return OWN

    def has(self, name: str) -> bool:
        """Return whether a table has a column."""
        return self.table_of(name) is not None

    def table_of(self, name: str) -> int | None:
        """Return the number of the first table with a column, None where none has it."""
        return next((n for n, table in enumerate(self.tables) if name in table.columns), None)

    def take(
        self, name: str, what: str, missing: float | None = None, filled: bool = False
    ) -> None:
        """Read a column, and leave out the samples without a value; `missing` is none either.

        filled : whether cells may be empty; then samples are left out that have no line alone.
        """
        import numpy as np

        from ..core.files import did_you_mean
        from .table import strict_float

        number = self.table_of(name)
        if number is None:
            names = [name for table in self.tables for name in table.columns]
            hint = did_you_mean(name, names) if names else " Name a table with --samples."
            tables = some([table.path for table in self.tables], 3) or self.data
            raise ValueError(f"{tables}: no column for the {what}.{hint}")
        self._asked.add(name)
        place = self._places[number]
        text = np.where(place >= 0, self.tables[number].columns[name][place], "")
        lacking = np.array([value.lower() in MISSING for value in text.tolist()])
        text = np.where(lacking, "", text)
        self._columns[name] = text
        self._leave_out(place < 0 if filled else lacking, what)
        if missing is not None:
            means = np.array([strict_float(value) == missing for value in text.tolist()])
            self._leave_out(means, f"{what} but {missing:g}, which stands for a missing one")

    def unused(self) -> list[str]:
        """Return notes about tables of which no column was asked for."""
        return [
            f"no column of {one.path} is used: name them with --target, --covariates or --force"
            for one in self.tables
            if self._asked.isdisjoint(one.columns)
        ]

    def keep(self, where: Where) -> None:
        """Leave out the samples of which comparisons of columns of the tables do not hold."""
        import numpy as np

        numbers = [self.table_of(one.name) for one in where.comparisons]
        self._asked |= {one.name for one in where.comparisons}
        for place in np.flatnonzero(self._kept):
            cells = []
            for one, number in zip(where.comparisons, numbers, strict=True):
                assert number is not None
                line = self._places[number][place]
                cells.append(self.tables[number].columns[one.name][line] if line >= 0 else None)
            self._kept[place] = where.keeps(cells, f"{self.data}: --samples")
        if not where.n_kept:
            raise where.nothing_kept(self.data)
        self.notes.append(where.note)

    def numbers(self, what: str, values: Any) -> Any:
        """Return numbers of the samples, those without one left out."""
        import numpy as np

        if np.isnan(values).all():
            raise ValueError(
                f"{self.data}: the .fam file has no {what}s; name a table of the samples with "
                "--samples, and its column with --target."
            )
        self._leave_out(np.isnan(values), what)
        return values

    def values(self, name: str) -> Any:
        """Return a column of the samples kept: numbers, or text where none is a number."""
        import numpy as np

        from ..core.files import quote
        from .table import strict_float

        text = self._columns[name][self.kept]
        values = text.tolist()
        found = [strict_float(value) for value in values]
        if all(number is None for number in found):
            return text
        for value, number in zip(values, found, strict=True):
            if number is None or not np.isfinite(number):
                raise ValueError(
                    f"{self.data}: the column {quote(name)} must be finite numbers, or text alone; "
                    f"got {quote(value)} among numbers. Write NA where a value is missing, and "
                    "decimals with a point."
                )
        numbers = np.array(found, np.float64)
        whole = all(value.lstrip("+-").isdigit() for value in values)
        return numbers.astype(np.int64) if whole and np.abs(numbers).max() < 2**53 else numbers

    def content(self, name: str, as_text: bool) -> Content:
        """Return a column of the samples kept, "" or NaN where it is empty: numbers, or text."""
        from .texts import Texts

        texts = Texts.of(self._columns[name][self.kept].tolist())
        numbers = None if as_text else texts.numbers()
        return texts if numbers is None else numbers

    def _leave_out(self, lacking: Any, what: str) -> None:
        if (lacking & self._kept).any():
            count = int((lacking & self._kept).sum())
            self.notes.append(Doubt(f"{counted(count, 'sample')} left out: no {what}"))
            self._kept &= ~lacking


def read_joined(
    data: str,
    target: str | None,
    tables: Sequence[SampleFile],
    columns: Mapping[str, str],
    covariates: Sequence[str],
    force: Sequence[str],
    like: Layout | None,
    missing: str | None,
    where: Where | None,
    read: Read,
    intercept: bool,
) -> Table:
    """Return data with what tables say of their samples, joined by the samples' names.

    Names that a table has mean its column, others a column of the data. Where the columns of the
    data are samples of the tables, and not the rows, features are in the rows. A sample that lacks
    one of the columns is left out, and a note says how many do; with `missing` one that lacks the
    target or another column that is no feature, or has no line at all.

    columns, covariates, force, like : as of `read_genotypes`; covariates may be of the data.
    where : comparisons of columns of the tables.
    intercept : as of `read`.
    read : reads the data, all of their columns, not coded yet, with a target and other columns of
        their own, and with the column that names the rows, where no option says which.
    """
    import numpy as np

    from ..core.files import FileError, quote

    refuse_data(data, [table.path for table in tables])
    headers = {table.path: table.header for table in tables}
    names = [name for header in headers.values() for name in header]
    codings = {} if like is None else {one.column: one for one in like.codings.values()}
    columns = {role: name for role, name in columns.items() if role != "event_value"}
    roles = {role: name for role, name in columns.items() if name in names}
    if like is not None:
        covariates = [column_of(one, names) for one in like.covariates]
        missing = like.columns.get("missing") if like.names is None else None
        force = like.sources or like.forced
    if target is None and like is None and not columns:
        listed = ", ".join(map(quote, names))
        raise ValueError(
            f"{data}: say what to predict with --target, a column of --samples: {listed}."
        )
    force = [column_of(one, names) for one in force]
    joined = target is not None and target in names
    others = {role: name for role, name in columns.items() if role not in roles}
    there = {value for table in tables for row in table.rows for value in row}
    wanted = () if like is None or like.sources is None else like.sources
    try:
        named = read_named(partial(read, None if joined else target, others), data, there, wanted)
    except FileError as error:
        raise nowhere(error, data, headers) from None
    table = upright(named, data, there, wanted)
    here = set(table.feature_names or ()) if like is not None else set()
    asked = dict.fromkeys([*covariates, *(name for name in force if name not in here)])
    beside = [name for name in asked if name in names]
    refuse_roles(data, beside, {"target": target, **roles})
    for name in asked if like is None else ():
        refuse_typo(name, covariates, {*asked, target or ""}, table, data, headers)
    own = table.sample_names or []
    refuse_twice(data, own)
    people = np.array([(name, name) for name in own], [("family", object), ("name", object)])
    known = Known(
        data,
        people,
        [SampleTable.of_names(one, own, table.feature_names or ()) for one in tables],
    )
    if where is not None:
        known.keep(where)
    if joined and target is not None:
        known.take(target, f"target {quote(target)}")
    for name in beside:
        coding = codings.get(name)
        filled = missing is not None or (coding is not None and coding.gaps is not None)
        known.take(name, f"covariate {quote(name)}", filled=filled)
    for role, name in roles.items():
        known.take(name, f"{role} {quote(name)}")
    known.notes += known.unused() if like is None else []
    kept = np.flatnonzero(known.kept)
    if kept.size < len(own):
        X, cells = table.X, table.cells
        table = replace(table, X=X[kept], cells=None if cells is None else cells.rows(kept))
    table = replace(table, sample_names=[own[row] for row in kept])
    table = with_columns(table, known, beside, codings, missing)
    if wanted:
        table = as_needed(table, wanted, data, headers)
    without_base = covariates if like is None and intercept else ()
    table = as_trained(table, like, data, missing, without_base)
    y = known.values(target) if joined and target is not None else table.y
    return replace(
        table,
        y=y if joined or y is None else y[kept],
        target_name=target if joined else table.target_name,
        notes=(*table.notes, *known.notes),
        columns={
            **{role: values[kept] for role, values in table.columns.items()},
            **{role: known.values(name) for role, name in roles.items()},
        },
        column_names={**table.column_names, **roles},
    )


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


# What the arguments of several commands mean: the data and their classes.
#
# What can be refused before the long work begins is refused here, in `_paths`, in `_plan` and in
# `_path`. NumPy and the readers are imported only when they are needed, so that a mistyped option
# is answered at once.


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
    from .table import Layout, Request, Where

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


# Data as read: the table, the target, the groups of features.


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


_MISSING_TARGET = -9.0  # PLINK's, of phenotypes


FAMILY = "FID"  # what blocks are called that the .fam file has


def read_genotypes(
    data: str,
    target: str | None,
    files: Sequence[SampleFile],
    columns: Mapping[str, str],
    covariates: Sequence[str],
    force: Sequence[str],
    like: Layout | None,
    where: str | None,
    threads: int | None,
    intercept: bool = True,
) -> Table:
    """Return genotypes with what tables say of their samples, joined by the samples' names.

    A sample that lacks one of the columns is left out, and a note says how many do.

    files : tables with a line for each sample.
    columns : what they hold beside the target, by role, as {"time": "days"}.
    covariates, force : columns of the tables that are features beside the variants, and names that
        may be of such ones; with a model (`like`) they are its own.
    where : comparisons of columns of the tables.
    intercept : as of `read`.
    """
    import numpy as np

    from ..core.files import quote
    from .genotypes import phenotypes, read_plink, read_samples
    from .table import Table

    roles = {role: name for role, name in columns.items() if role != "event_value"}
    people = read_samples(data)
    known = Known(data, people, [*map(SampleTable.of_people, files)])
    if where is not None:
        known.keep(of_samples(where, known))
    if target is None and like is None and not roles.keys() - {"blocks"}:
        target = known.only_target()
    y = None
    if target == OWN and known.table_of(OWN) is None:
        y = known.numbers("phenotype", phenotypes(people))
    elif target is not None:
        known.take(target, f"target {quote(target)}", missing=_MISSING_TARGET)
    if like is not None:
        covariates, force = like.covariates, like.sources or like.forced
    there = [name for table in known.tables for name in table.columns]
    covariates, force = ([column_of(one, there) for one in some] for some in (covariates, force))
    beside = dict.fromkeys([*covariates, *(name for name in force if known.has(name))])
    for name in beside:
        known.take(name, f"covariate {quote(name)}")
    by_family = roles.get("blocks") == FAMILY and not known.has(FAMILY)
    of_tables = {role: name for role, name in roles.items() if not (by_family and role == "blocks")}
    for role, name in of_tables.items():
        known.take(name, f"{role} {quote(name)}")
    genotypes = read_plink(data, samples=known.kept, n_threads=threads)
    columns_beside = _coded(known, [*beside], like, covariates if intercept else ())
    numbers: Any = columns_beside.X
    if not isinstance(numbers, np.ndarray):  # sparse where they are many
        numbers = numbers.toarray()
    names = columns_beside.feature_names or ()
    X: Any = genotypes.with_columns(dict(zip(names, numbers.T, strict=True)))
    if y is not None:
        y = _classes(y[known.kept])
        if "2" in people["phenotype"] and y.dtype.kind == "i":
            known.notes.append("controls and cases, 1 and 2 in the .fam file, are 0 and 1")
    elif target is not None:
        y = known.values(target)
    return Table(
        X,
        y,
        X.feature_names,
        target,
        _distinct(genotypes.samples),
        notes=(*columns_beside.notes, *known.notes),
        columns={role: known.values(name) for role, name in of_tables.items()}
        | ({"blocks": _families(people[known.kept])} if by_family else {}),
        column_names=roles,
        variants=genotypes.variants,
        codings=columns_beside.codings,
        unseen=columns_beside.unseen,
    )


def _families(people: Any) -> Any:
    """Return the families of the .fam file; a sample of family 0 is one by itself."""
    import numpy as np

    own = zip(people["family"].tolist(), people["name"].tolist(), strict=True)
    return np.array([f"0 {name}" if family == "0" else family for family, name in own])


def _coded(
    known: Known, names: Sequence[str], like: Layout | None, covariates: Sequence[str]
) -> Table:
    """Return columns of the tables alone as features: text is coded, as by a model if there is one.

    covariates : those of which text needs no base level.
    """
    import numpy as np

    from .table import Table

    people = [str(name) for name in known.people["name"][known.kept]]
    table = Table(np.empty((len(people), 0)), None, feature_names=[], sample_names=people)
    if not names:
        return table
    codings = {} if like is None else {one.column: one for one in like.codings.values()}
    table = with_columns(table, known, names, codings, None)
    if like is None or like.names is None:
        without_base = covariates if like is None else like.covariates
        return as_trained(table, None, known.data, None, without_base)
    made = {name: one.column for name, one in like.codings.items()}
    own = [name for name in like.names or () if made.get(name, name) in names]
    there = {name: one for name, one in like.codings.items() if name in own}
    part = replace(like, names=own, n_features=len(own), covariates=(), codings=there)
    return as_trained(table, part, known.data)


def of_samples(where: str, known: Known) -> Where:
    """Return comparisons, all of which must be of columns of the tables."""
    from ..core.files import WhereError, did_you_mean, quote
    from .table import Where

    found = Where(where)
    for one in found.comparisons:
        if not known.has(one.name):
            names = [name for table in known.tables for name in table.columns]
            hint = did_you_mean(one.name, names) if names else " Name a table with --samples."
            raise WhereError(
                f"{known.data}: --where compares columns of --samples alone, and there is no "
                f"{quote(one.name)}.{hint}"
            )
    return found


def _classes(y: Any) -> Any:
    """Return cases and controls as the whole numbers 1 and 0, other phenotypes as they are."""
    import numpy as np

    return y.astype(np.int64) if np.isin(y, (0.0, 1.0)).all() else y


def _distinct(people: Any) -> list[str]:
    """Return the names of the samples, with their families where they repeat."""
    names = [str(name) for name in people["name"]]
    if len(set(names)) == len(names):
        return names
    return [f"{family}_{name}" for family, name in zip(people["family"], names, strict=True)]


def is_genotypes(data: str) -> bool:
    """Return whether DATA means .bed files: by its suffix, or as the stem of some."""
    return data.endswith(".bed") or (not Path(data).exists() and Path(f"{data}.bed").exists())


def is_golub(data: str) -> bool:
    """Return whether data are the built-in ones."""
    return data == "golub" and not Path(data).exists()
