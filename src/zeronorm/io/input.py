"""What a command reads: the built-in data, a file, standard input, with tables of the samples.

What can be refused before the long work begins is refused here, in `cli.files`, in `cli.plan` and
in `cli.path`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.files import FileError, PathLike, TargetError, WhereError, did_you_mean, quote
from ..core.messages import option, remedy, show, some, span, ways_out
from .demo import load_demo
from .joins import across_hint, check_across, read_across, read_genotypes, read_joined
from .meaning import notes_of_roles
from .read import WITH_COLUMNS, read_request
from .samples import SampleFile
from .source import standard_input
from .table import Dataset, Layout, TableRequest, Where, absent, check_dates, shared_name

if TYPE_CHECKING:
    from ..core.groups import Groups


@dataclass(frozen=True, slots=True)
class Samples:
    """The data of a selection."""

    table: Dataset
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


def read_table(
    path: PathLike,
    target: str | int | None = None,
    *,
    samples: PathLike | Sequence[PathLike] = (),
    id: str | None = None,
    like: Layout | Dataset | None = None,
    need_labels: bool = False,
    columns: Mapping[str, str] | None = None,
    drop: str | Sequence[str] = (),
    only: str | Sequence[str] = (),
    where: str | None = None,
    missing: str | None = None,
    na: str | None = None,
    dates: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    layer: str | None = None,
    covariates: str | Sequence[str] = (),
    force: str | Sequence[str] = (),
    by_position: bool = False,
    transpose: bool = False,
    feature_names: PathLike | None = None,
    intercept: bool = True,
    threads: int | None = None,
) -> Dataset:
    r"""Read samples from a file, with what tables say of them: all that the command reads.

    ==================================== =======================================================
    svmlight (.svm .libsvm .svmlight,    X csr float64, y the labels of the file. Indices from 0
    or text that looks like it)          if a 0 occurs, else from 1
    .npz                                 X the array "X" or the only matrix, y the array `target`,
                                         "y" or "label"; or what `scipy.sparse.save_npz` writes,
                                         with or without labels beside it
    .npy                                 X memory-mapped (in memory if the file is compressed)
    CSV, TSV (any of , ; tab |)          X float64, y the column `target`; a first column without
                                         a name holds names of samples
    JSON lines (.jsonl, .ndjson)         an object on each line, its keys are columns; as CSV
    Excel (.xlsx)                        the first sheet or `layer`, its first row has names; as
                                         CSV; needs openpyxl (extra `excel`)
    Parquet                              X float32 or float64, y the column `target`
    .h5ad, .h5 of 10x Genomics           X a design that reads by blocks, y a column of obs; needs
                                         h5py (extra `hdf5`)
    .bed with .bim and .fam              genotypes, mapped; y the phenotypes of the .fam file, or a
                                         column of `samples`
    a store (zeronorm.write_store)       X a design that maps its blocks, y the column `target` of
                                         obs, or the only one
    ==================================== =======================================================

    Each file of them plain or compressed (.gz, .bz2, .xz, .zst, .zip with one file inside). A
    directory of Parquet files, and a pattern as "part-*.csv", are their rows one after the other;
    "-" is standard input, which lies on the disk meanwhile. "demo" is the built-in data.

    Parameters
    ----------
    path : path-like
    target : str, int or None
        The labels: name of a column or array, else index of a column (negative from the end),
        else path of a .npy, .npz or one-column text file. None where the file says it by itself.
        Several responses are several columns with commas between them, or an array of several
        columns; an .npz file may have their names in "target_names".
    id : str or None
        The names of the samples: name or index of a column of CSV or Parquet, which is no feature.
    like : Dataset, Layout or None
        Read as other data were, or as the training data of a model (its `layout`): with the same
        first index, and of a file with names only the features that it needs, wherever they stand.
    samples : path-like, or list of them
        Tables with a line for each sample, joined by the names of the samples: CSV, TSV, JSON
        lines, Parquet, or Excel with the sheet behind a colon ("pheno.xlsx:Samples"). Target,
        columns, covariates, forced features and `where` may be columns of them. Where the samples
        are columns of the data and features its rows, the data are taken the other way round.
    need_labels : bool
        Refuse CSV and Parquet whose target is not known, before any value is read.
    columns : dict of str, or None
        What else is no feature, by what it is, as {"time": "days", "event": "died"}: columns or
        arrays (as for `target`), or files of their own. `Dataset.columns` has their values.
    drop : str, or list of str
        Columns of CSV or Parquet that are no features, by name or index: they are not read. A
        pattern as "gene_*" or "x?" and a range as "a:f" mean several, but those asked for.
    only : str, or list of str
        The columns of the file that may be features, named in the same ways; none: all. Covariates
        and forced features are among them.
    layer : str or None
        Of .h5ad the layer, or "raw"; of 10x Genomics the genome; of other HDF5 files the dataset,
        as "study/expression"; of a workbook the sheet. None: X, or the only one, or the first.
    where : str or None
        Of tables, HDF5 (by columns of obs) and stores: the rows that are kept, as "batch == 'B1'
        and age >= 18", with ==, !=, <, <=, >, >=, in ('a', 'b') and not in, joined by `and`, `or`
        and brackets; names with blanks stand in backticks. A row without a value there is left
        out, which is all that "income != ''" asks for. A column that must be a text is no feature.
    missing : "mean", "most_frequent", "indicator" or None
        What becomes of empty cells in features of CSV, JSON lines, Excel and Parquet: the mean of
        their column, or its most frequent value, of several the least; with "indicator" the mean,
        and beside it a column of 0 and 1 that says where; in text a level of its own. Then X is a
        design, whose rows of training in a fold are filled by what they show. None: they are
        refused.
    encoding : str or None
        Of text: an encoding that Python knows, as "latin-1", "cp1252" or "utf-16". None: UTF-8.
    decimal : "," or "."
        Of CSV and TSV: the decimal mark of numbers; the other one may separate thousands. None: it
        is found from all cells of a column, which are refused where they can be read in two ways.
    covariates : str, or list of str
        Columns, or levels of text as "batch=B2", that are to be in every model. Of such a column of
        text the first level is no feature (of all levels but one, that one): the intercept and the
        others say where it is, so that it could add nothing to a model. Numbers stay as they are.
    na : str or None
        What stands for a missing value in features, target and other columns of CSV, JSON lines,
        Excel and Parquet, beside NA, NaN and the like: "-9,unknown". -9 is -9.0 as well. None: as
        in the training of a model.
    dates : "day-first", "month-first", "iso" or None
        How dates as 03/04/2020 are written. None: as all dates of their column say; where they say
        neither, they are refused.
    force : str, or list of str
        Features that may be columns of `samples`.
    by_position : bool
        Whether files of labels are in the order of the samples, where these have names.
    transpose : bool
        Whether features are in the rows and samples in the columns.
    feature_names : path-like or None
        A file with the names of the features, a line each in their order: of svmlight, .npy, .npz
        and HDF5 without names. The names that follow the highest index of svmlight are features
        that are 0 in all rows.
    intercept : bool
        Whether a model has one, beside which covariates of text need no base level.
    threads : int or None
        The threads that scan genotypes.

    Returns
    -------
    Dataset
        X is not searched for NaN in .npy and .npz files (the first scan of a fit does it).

    Raises
    ------
    MissingFileError
        If there is no such file (it is a FileError and a FileNotFoundError).
    FileError
        If the file cannot be read: a ValueError with the file, the line and column, the remedy.

    Examples
    --------
    >>> from zeronorm import BudgetClassifier, read_table
    >>> _ = open("genes.csv", "w").write("id,g1,g2\na,1.5,0\nb,0.5,2\nc,2.5,1\nd,0,3\n")
    >>> _ = open("people.csv", "w").write("id,ill\nb,no\na,yes\nc,yes\nd,no\n")
    >>> data = read_table("genes.csv", "ill", samples=["people.csv"])
    >>> data.y.tolist()
    ['yes', 'no', 'yes', 'no']
    >>> model = BudgetClassifier(1, calibrate=False).fit(data.X, data.y)
    >>> [data.feature_names[j] for j in model.support_]
    ['g1']
    """
    data, tables = str(path), _texts_of(samples)
    drop, only, covariates, force = map(_texts_of, (drop, only, covariates, force))
    target = None if target is None else str(target)
    if isinstance(like, Dataset):
        like = like.layout
    check_missing(missing)
    check_dates(dates, option("--dates"))
    check_decimal(decimal)
    if like is not None and like.names is not None:
        for asked, value in {
            "--drop": drop, "--only": only, "--missing": missing, "--covariates": covariates,
            "--force": force,
        }.items():  # fmt: skip
            if value:
                raise ValueError(f"{data}: like says what is a feature; leave out {option(asked)}.")
    na = ",".join(absent(na, like)) or None
    roles = columns or {}
    named = {"--covariates": covariates, "--force": force} if like is None else {}
    given: dict[str, Any] = {
        "--id": id, "--drop": drop, "--only": only, "--layer": layer, "--missing": missing,
        "--encoding": encoding, "--transpose": transpose, "--na": na, "--dates": dates,
        "--decimal": decimal, "--feature-names": feature_names,
    }  # fmt: skip
    if is_genotypes(data):
        for asked, value in given.items():
            if value and not (asked in ("--encoding", "--na", "--dates") and tables):
                raise ValueError(
                    f"{data}: genotypes have no columns to name; leave out {option(asked)}."
                )
        files = [SampleFile.read(one, encoding, absent(na, None)) for one in tables]
        target = _target_of(target, like, files, need_labels)
        table = read_genotypes(
            data, target, files, roles, covariates, force, like, where, threads, intercept
        )
        refuse_no_features(table, data, named)
        return _with_roles(table, like, na)
    given |= {"--where": where, "--samples": tables}
    if is_demo(data):
        others = {f"--{role.replace('_', '-')}": name for role, name in roles.items()}
        table = _demo({**given, "--target": target, **others})
        refuse_no_features(table, data, named)
        return table

    if transpose:
        check_across(
            tables,
            {"--where": where, "--drop": drop, "--only": only, "--time": roles,
             "--feature-names": feature_names},
        )  # fmt: skip
        with lasting(data) as (file, _):
            across = read_across(file, target, id, like, missing, layer, encoding, decimal, na)
            refuse_unasked(across, data, {"target": target}, by_position)
            refuse_no_features(across, data, named)
            return _with_roles(as_named(across, file, data), like, na)
    others = {role: name for role, name in roles.items() if role != "event_value"}
    if tables:
        # What a model takes as text is text, whatever stands there now; the rest is as it is.
        codings = {} if like is None else like.codings
        kinds = Layout(0, codings=codings, exact=True) if codings else None
        files = [SampleFile.read(one, encoding, absent(na, None)) for one in tables]
        target = _target_of(target, like, files, need_labels)
        joined = [name for file in files for name in file.header]
        own_where, of_samples = (None, None) if where is None else Where(where).parted(joined)

        def read_own(target: str | None, columns: Mapping[str, str], of_id: str | None) -> Dataset:
            own = id or of_id
            request = TableRequest(
                target, kinds, own, False, columns, tuple(drop), layer, own_where, missing,
                is_part=True, encoding=encoding, decimal=decimal, na=na, dates=dates, only=only,
                feature_names=feature_names,
            )  # fmt: skip
            found = _own_part(file, name, request, joined, like is None)
            if only and own is None and found.sample_names is None:
                # Their names may stand in a column that is no feature.
                return _own_part(file, name, replace(request, only=()), joined, like is None)
            return found

        with lasting(data) as (file, name):
            table = read_joined(
                file, target, files, roles, covariates, force, like, missing, of_samples, read_own,
                intercept,
            )  # fmt: skip
            refuse_no_features(table, data, named, only)
            return _with_roles(as_named(table, file, data), like, na)
    rows = None if where is None else Where(where)
    request = TableRequest(
        target, like, id, need_labels, others, tuple(drop), layer, rows, missing,
        tuple(covariates) if intercept else (), encoding, decimal, na=na, dates=dates,
        only=only, feature_names=feature_names,
    )  # fmt: skip
    with lasting(data) as (file, name):
        try:
            table = read_request(file, request, name)
        except TargetError as error:
            hint = file_hint("--target", target) if ":" in (target or "") else ""
            raise FileError(
                f"{error}{hint or across_hint(file, target, encoding, decimal)}"
            ) from None
    refuse_unasked(table, data, {"target": target, **others}, by_position)
    refuse_no_features(table, data, named, only)
    if rows is not None:
        lost = rows.lost if like is None and table.form in WITH_COLUMNS else ()
        notes = (*table.notes, rows.note, *lost)
        table = replace(table, notes=notes, n_before=rows.n_rows)
    return _with_roles(table, like, na)


def refuse_no_features(
    table: Dataset, data: str, named: Mapping[str, Sequence[str]], only: Sequence[str] = ()
) -> None:
    """Refuse names of features that a table has not. named : by the option that has them.

    only : the columns that may be features, where a caller says which.
    """
    names = table.feature_names
    if not any(named.values()):
        return
    known = {*(names or ()), *(shared_name(name)[0] for name in names or ())}
    known |= {coding.column for coding in table.codings.values()}
    known |= {*table.variants["name"].tolist()} if table.variants is not None else set()
    last = table.X.shape[1] - 1 + table.first_index
    for asked, given in named.items():
        if not ways_out(asked) or ",".join(given) in known:  # a command may call them otherwise
            continue
        for name in given:
            if name in known:
                continue
            if names is None and name.isdigit() and table.first_index <= int(name) <= last:
                continue
            if names is None:
                raise ValueError(
                    f"{option(asked)} must be {span(table.first_index, last)} (the features have "
                    f"no names); got {quote(name)}."
                )
            if option(asked) == asked and known.issuperset(map(str.strip, name.split(","))):
                continue  # the command says how several are named
            hint = file_hint(asked, name) or did_you_mean(name, names, given=given)
            left = f" Features are those of {option('--only')} alone." if only else ""
            raise ValueError(f"{option(asked)}: no feature {quote(name)}.{hint}{left}")


def _texts_of(given: PathLike | Sequence[PathLike]) -> list[str]:
    """Return names or paths as text: a list of them, or the only one."""
    return [str(given)] if isinstance(given, str | os.PathLike) else [*map(str, given)]


def _with_roles(table: Dataset, like: Layout | None, na: str | None) -> Dataset:
    """Return a table with notes about what is no feature, and what it was read by."""
    notes = [] if like is not None else notes_of_roles(table)
    return replace(table, notes=(*table.notes, *notes), na=na)


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
) -> Dataset:
    """Return the data beside which tables of the samples stand, with what became of the rows.

    name : of the data in messages, if another. joined : the columns of these tables.
    is_new : whether no model says what features are.
    """
    if request.where is None:
        return read_request(data, request, name)
    where = Where(request.where.text, request.where.condition)  # which counts from 0
    request = replace(request, where=where)
    try:
        table = read_request(data, request, name)
    except WhereError as error:
        if error.lacks is not None:  # the tables may have it: another message says so
            raise
        near = [did_you_mean(one.name, joined, listing=False) for one in where.comparisons]
        raise WhereError(f"{error}{max(near, key=len)}") from None
    return replace(table, notes=(*table.notes, where.note, *(where.lost if is_new else ())))


def is_genotypes(data: str) -> bool:
    """Return whether DATA means .bed files: by its suffix, or as the stem of some."""
    return data.endswith(".bed") or (not os.path.exists(data) and os.path.exists(f"{data}.bed"))


def is_demo(data: str) -> bool:
    """Return whether data are the built-in ones."""
    return data == "demo" and not os.path.exists(data)


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
    "--feature-names": "names of its own",
    "--target": "its labels built in",
}


def _demo(given: Mapping[str, Any]) -> Dataset:
    """Return the built-in data, of which options have nothing to say."""
    for name, value in given.items():
        if value:
            what = _NOT_DEMO.get(name, "no column of that name")
            one = value[0] if isinstance(value, list) else value
            shown = "" if one is True else f" {str(one)!r}"
            raise ValueError(f"demo has {what}; leave out {option(name)}{shown}.")
    return load_demo()


def check_missing(missing: str | None, *ways: str) -> None:
    """Refuse what empty cells cannot become, before anything is imported."""
    ways = ways or ("mean", "most_frequent", "indicator")
    if missing not in (None, *ways):
        listed = f"{', '.join(ways[:-1])} or {ways[-1]}"
        raise ValueError(f"{option('--missing')} must be {listed}; got {missing!r}.")


def check_decimal(decimal: str | None) -> None:
    """Refuse what is no decimal mark, before anything is imported."""
    if decimal not in (None, ",", "."):
        raise ValueError(f"{option('--decimal')} must be ',' or '.'; got {decimal!r:.50}.")


def check_folds(cv: int, remedy: str) -> None:
    """Refuse numbers of folds that no data allow."""
    if cv < 2:
        raise ValueError(f"--cv must be at least 2; got {cv}. {remedy}")


def comparable(y: Any, classes: Any) -> Any:
    """Return labels in the type of the classes: a file may say 1 where another says 1.0 or "1"."""
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

    with standard_input() as file:
        try:
            yield str(file), NAME
        except ValueError as error:
            error.args = tuple(_named(one, str(file)) for one in error.args)
            raise


def as_named(table: Dataset, path: str, data: str) -> Dataset:
    """Return a table of a file, of standard input with notes that say so."""
    if data != "-":
        return table
    notes = (type(note)(_named(note, path)) for note in table.notes)
    return replace(table, notes=tuple(notes))


def _named(text: object, path: str) -> str:
    return str(text).replace(path, NAME)


# Labels in files of their own: taken in the order of the rows only where that is asked for.


def refuse_unasked(table: Dataset, data: str, files: Mapping[str, str | None], asked: bool) -> None:
    """Refuse files of labels beside samples with names, unless their order is known.

    files : the option of each role, the file where it has one. asked : whether the caller says so.
    """
    if asked or table.sample_names is None:
        return
    for role in table.by_position:
        said = "--" + role.replace("_", "-")
        raise ValueError(
            f"{data}: its samples have names, as {table.sample_names[0]!r:.60}, and the lines of "
            f"{option(said)} {files.get(role)} have none: their order may be another."
            + remedy(
                f"join a table by the names with --samples FILE {said} COLUMN",
                "say --by-position where the order is the same",
            )
        )


def file_hint(named: str, given: str | None) -> str:
    """Return a remedy for a file, or FILE:COLUMN, that stands for the name of a column, or ""."""
    path, mark, column = (given or "").rpartition(":")
    if not mark:
        path, column = column, "COLUMN"
    if not path or not column or not Path(path).is_file():
        return ""
    return (
        " Name a column of a table of the samples with "
        f"{', '.join(ways_out(f'--samples {path} {named} {column}'))}: it is joined by the names "
        "of the samples."
    )
