"""Data with what tables of their samples say, joined by the names of the samples.

The samples are rows of the data or, where the columns have their names, columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.messages import counted, option, remedy, some, ways_out
from .samples import (
    OWN,
    KnownSamples,
    SampleFile,
    SampleTable,
    column_of,
    nowhere,
    of_samples,
    refuse_data,
    refuse_roles,
    refuse_twice,
)

if TYPE_CHECKING:
    from .encoding import Coding, Content
    from .table import Dataset, Layout, Where
    from .texts import Texts

    Read = Callable[[str | None, Mapping[str, str], str | None], Dataset]


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
) -> Dataset:
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
            f"{data}: say what to predict with {option('--target')}, a column of "
            f"{option('--samples')}: {listed}."
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
    own = table.sample_names or []
    refuse_twice(data, own)
    people = np.array([(name, name) for name in own], [("family", object), ("name", object)])
    known = KnownSamples(
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


def as_needed(
    table: Dataset, wanted: Sequence[str], data: str, headers: Mapping[str, list[str]]
) -> Dataset:
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
) -> Dataset:
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
    from .table import Dataset

    roles = {role: name for role, name in columns.items() if role != "event_value"}
    people = read_samples(data)
    known = KnownSamples(data, people, [*map(SampleTable.of_people, files)])
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
    return Dataset(
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


FAMILY = "FID"  # what blocks are called that the .fam file has
_MISSING_TARGET = -9.0  # PLINK's, of phenotypes


def _families(people: Any) -> Any:
    """Return the families of the .fam file; a sample of family 0 is one by itself."""
    import numpy as np

    own = zip(people["family"].tolist(), people["name"].tolist(), strict=True)
    return np.array([f"0 {name}" if family == "0" else family for family, name in own])


def _coded(
    known: KnownSamples, names: Sequence[str], like: Layout | None, covariates: Sequence[str]
) -> Dataset:
    """Return columns of the tables alone as features: text is coded, as by a model if there is one.

    covariates : those of which text needs no base level.
    """
    import numpy as np

    from .table import Dataset

    people = [str(name) for name in known.people["name"][known.kept]]
    table = Dataset(np.empty((len(people), 0)), None, feature_names=[], sample_names=people)
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


# Columns of tables beside the features of the data: covariates, numbers or text.


def with_columns(
    table: Dataset,
    known: KnownSamples,
    names: Sequence[str],
    codings: Mapping[str, Coding],
    missing: str | None,
) -> Dataset:
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
            f"{known.data}: covariates of {option('--samples')} go beside columns with names in "
            f"memory; write {quote(names[0])} into the data."
        )
    for name in {*names} & {*features}:
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} is a column of the data and of "
            f"{option('--samples')}; rename one of them."
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


def _content(known: KnownSamples, name: str, coding: Coding | None, missing: str | None) -> Content:
    """Return a column, which must be numbers or text of few values."""
    from ..core.files import quote
    from .encoding import ColumnProblem, fitted
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
    if isinstance(result, ColumnProblem) or result.kind == "date":
        what = result.what if isinstance(result, ColumnProblem) else "is a date"
        row = (result.row if isinstance(result, ColumnProblem) else None) or 0
        cell = quote(content[row]) if isinstance(content, Texts) else content[row]
        raise ValueError(
            f"{known.data}: the covariate {quote(name)} must be numbers, or text of few values; "
            f"got {cell}, which {what}."
        )
    return content


def picked(table: Dataset, wanted: Sequence[str], data: str) -> Dataset:
    """Return a table with the columns that a model needs alone, in its order."""
    from .table import places_of_features

    orders = places_of_features(data, wanted, table.feature_names or [])
    cells = None if table.cells is None else table.cells.columns(orders)
    X: Any = table.X
    return replace(table, X=X[:, orders], feature_names=[*wanted], cells=cells)


def as_trained(
    table: Dataset,
    like: Layout | None,
    data: str,
    missing: str | None = None,
    covariates: Sequence[str] = (),
) -> Dataset:
    """Return a table with its cells coded, as a model has them where there is one."""
    import numpy as np

    from .encoding import Cells, coded_whole, needs_coding
    from .table import TableRequest

    if like is not None and like.sources is not None and table.feature_names is not None:
        table = picked(table, like.sources, data)
    if needs_coding(like) and table.cells is None:
        if not isinstance(table.X, np.ndarray):
            raise ValueError(
                f"{data}: the model codes columns as in its training, which is done of tables in "
                "memory alone; write the data as CSV or Parquet."
            )
        table = replace(table, cells=Cells(table.X, {}, table.sample_names or ()))
    request = TableRequest(like=like, missing=missing, covariates=covariates)
    table = coded_whole(data, table, request)
    if like is not None and like.names is None and table.X.shape[1] != like.n_features:
        raise ValueError(
            f"{data}: {table.X.shape[1]} features; the model was trained on {like.n_features}."
        )
    return table


# Data with features in rows and samples in columns: taken the other way round.


def read_named(
    read: Callable[[str | None], Dataset],
    data: str,
    there: Collection[str],
    wanted: Collection[str] = (),
) -> Dataset:
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


def _naming(table: Dataset, wanted: Collection[str] = ()) -> str | None:
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
    from .texts import strict_float

    return all(strict_float(text) is None for text in column.levels)


def _lies(table: Dataset, there: Collection[str], wanted: Collection[str]) -> bool:
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


def upright(
    table: Dataset, data: str, there: Collection[str], wanted: Collection[str] = ()
) -> Dataset:
    """Return data with samples in rows; where they are in columns, the other way round."""
    from ..core.files import quote
    from .table import shared_name

    if not _lies(table, there, wanted):
        if table.sample_names is None:
            raise ValueError(
                f"{data}: its samples have no names by which {option('--samples')} could be "
                f"joined; say which column names them with {option('--id')}."
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


def features_in_rows(
    data: str, like: Layout, encoding: str | None, decimal: str | None, id: str | None
) -> Dataset | None:
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
    from .table import TableRequest, unique_names

    if not Path(data).is_file():
        return None
    wanted = like.sources or ()
    column = id or _naming(
        read_request(data, TableRequest(is_part=True, encoding=encoding, decimal=decimal)), wanted
    )
    if column is None:
        return None
    table = read_request(
        data, TableRequest(id=column, is_part=True, encoding=encoding, decimal=decimal)
    )
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
            f"has {'them' if missing[1:] else 'it'} with {option('--samples')}."
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
    own, table = option("--transpose"), option("--samples")
    shown = "shows by itself that features are in the rows"
    if samples:
        raise ValueError(f"{own} cannot be with {table}, which {shown}; leave out {own}.")
    for name, value in others.items():
        if value:
            raise ValueError(
                f"{own} cannot be with {option(name)}; put what is known of the samples into a "
                f"table of {table}, which {shown}, and leave out {own}."
            )


def read_across(
    data: str,
    target: str | None,
    id: str | None,
    like: Layout | None,
    missing: str | None,
    layer: str | None,
    encoding: str | None,
    decimal: str | None = None,
    na: str | None = None,
) -> Dataset:
    """Return data with samples in columns the other way round, and labels from a file.

    id : the column with the names of the features; None: what the data say by themselves.
    """
    from .arrays import read_labels
    from .read import read_request
    from .source import is_label_file
    from .table import TableRequest

    def read(column: str | None) -> Dataset:
        request = TableRequest(
            None, None, id or column, False, {}, (), layer, None, missing, is_part=True,
            encoding=encoding, decimal=decimal, na=na,
        )  # fmt: skip
        return read_request(data, request)

    table = as_trained(turned(read_named(read, data, ()), data, ""), like, data, missing)
    if target is None:
        return table
    if not is_label_file(target):
        raise ValueError(
            f"{data}: with {option('--transpose')} the target must be a file with a label for each "
            f"column; got {target!r:.60}. Put it into a table with the names of the samples, and "
            f"{', '.join(ways_out(f'say --samples FILE --target {target}'))}."
        )
    y, name = read_labels(target, table.X.shape[0])
    return replace(table, y=y, target_name=name, by_position=("target",))


def across_hint(data: str, target: str | None, encoding: str | None, decimal: str | None) -> str:
    """Return what to do with data not read that may have samples in columns, or ""."""
    from ..core.files import FileError
    from .arrays import read_labels
    from .read import read_request
    from .source import is_label_file
    from .table import TableRequest

    if target is None or not Path(data).is_file():
        return ""
    try:
        table = read_request(data, TableRequest(is_part=True, encoding=encoding, decimal=decimal))
        n_rows, names = table.X.shape[0], table.feature_names or []
        if is_label_file(target):
            n_columns = _without_texts(table, data, ()).X.shape[1]
            read_labels(target, n_columns)
            seen = f" {data} has {n_columns:,} columns of numbers: where features are in the rows,"
            return f"{seen} say {option('--transpose')}." if n_columns != n_rows else ""
    except (FileError, ValueError):
        return ""
    if target in names or n_rows < len(names):
        return ""
    way = ", ".join(ways_out(f"--samples FILE --target {target}"))
    return (
        " Where features are in the rows and samples in the columns, name a table of the samples "
        f"with {way}: they are found by their names."
    )


def _without_texts(table: Dataset, data: str, there: Collection[str]) -> Dataset:
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


def turned(table: Dataset, data: str, note: str, there: Collection[str] = ()) -> Dataset:
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
