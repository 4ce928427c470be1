"""Genotypes on the command line: PLINK's files, and tables of their samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .beside import as_trained, column_of, with_columns
from .joins import OWN, Known
from .sample_file import SampleFile
from .sample_table import SampleTable

if TYPE_CHECKING:
    from .table import Layout, Table
    from .where import Where

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
    from .where import Where

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
