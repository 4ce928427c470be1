"""Rows held out: the folds that data allow, cross-validation, half-samples, ways out of errors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..core.budgets import UnfittableError
from ..core.errors import Message, message_of
from ..core.messages import Doubt, show
from ..core.targets import check_survival
from ..data.gathered import gather
from ..estimators import BudgetRegressor
from ..estimators.base import quantiles_of
from ..estimators.folds import FoldError, splits
from ..estimators.survival import concordance
from ..inference.half_samples import LoneRowError
from ..io.opening import as_design, dense_columns
from ..io.read import WITH_COLUMNS
from ..io.table import where_not
from ..model_selection.cross_validation import fold_models, permuted
from ..persistence.records import has_intervals
from ..reporting.documents.trust import half_samples
from ..solvers.folds import members
from .messages import Work
from .options import SelectOptions
from .plan import OF_FOLDS, SelectionPlan

if TYPE_CHECKING:
    from ..core.budgets import AtFault
    from ..core.results import Path
    from ..estimators.held_out import CrossValidation, Validation
    from ..inference.stability import StabilitySelection
    from ..io.input import Response, Samples
    from ..io.table import Dataset
    from ..model_selection.cross_validation import PermutationTest
    from .selection import Interrupt


# Names of columns that say whose a sample is.
_WHOSE = re.compile(
    r"(^|[^a-z])(patient|subject|donor|participant|person|individual|animal|mouse|family|household"
    r"|customer|client|user|id)s?([^a-z]|id|$)"
)
_FEWEST = 5  # values of such a column


def usable_folds(cv: int, table: Dataset, response: Response, notes: list[str]) -> int | None:
    """Return as many folds as the target allows; None if it allows none.

    The smallest class must have a sample, or a group with one, for every fold; held-out numbers
    must differ, and held-out survival times have a pair to compare, for a score of them.
    """
    if response.groups is None:
        notes += _repeated_ids(table)
    else:
        name = table.column_names.get("cv_groups")
        of = "name" if name is None else show(name, 40)
        notes.append(
            f"in the cross-validation samples of one {of} are held out together: "
            f"{int(response.groups.max()) + 1:,} groups"
        )
    if response.labelled:
        return _folds_of_classes(cv, table, response, notes)
    return _folds_of_numbers(cv, response, notes)


def _repeated_ids(table: Dataset) -> list[str]:
    """Return notes about columns that say whose a sample is, and say it of several samples."""
    found: dict[str, tuple[str, int]] = {}
    codings = table.codings
    for place, name in enumerate(table.feature_names or ()):
        column = codings[name].column if name in codings else name
        if not _WHOSE.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()):
            continue
        if name in codings and codings[name].kind == "category":
            if len(codings[name].levels) < _FEWEST:
                continue
            value = repr(name.removeprefix(f"{column}="))
            (values,) = dense_columns(table.X, np.array([place]))
            often = int(np.count_nonzero(values))
        else:
            (values,) = dense_columns(table.X, np.array([place]))
            numbers, counts = np.unique(values, return_counts=True)
            if numbers.size < _FEWEST or (numbers != np.round(numbers)).any():
                continue
            value, often = f"{numbers[counts.argmax()]:g}", int(counts.max())
        if often > max(1, found.get(column, ("", 1))[1]):
            found[column] = value, often
    return [
        Doubt(
            f"{show(column, 40)} {show(value, 40)} occurs in {often:,} samples: folds may hold out "
            f"one and train on another; say --cv-groups {show(column, 40)}"
        )
        for column, (value, often) in found.items()
    ]


def _folds_of_classes(cv: int, table: Dataset, response: Response, notes: list[str]) -> int | None:

    classes, counts = members(response.y, response.groups)
    smallest = int(counts.min())
    if smallest >= cv:
        return cv
    label = show(str(classes[counts.argmin()]))
    one, many = ("group", "groups") if "cv_groups" in table.columns else ("sample", "samples")
    if smallest < 2:
        remedy = _by_where(table, str(classes[counts.argmin()]))
        remedy = f"; leave it out{remedy}" if remedy else ""
        notes.append(Doubt(f"no cross-validation: the class {label} has one {one}{remedy}"))
        return None
    notes.append(
        Doubt(f"{smallest} folds instead of {cv}: the class {label} has {smallest} {many}")
    )
    return smallest


def _folds_of_numbers(cv: int, response: Response, notes: list[str]) -> int | None:

    survival, n, groups = response.task == "survival", len(response.y), response.groups
    target = check_survival(response.y, n) if survival else response.y
    why = (
        "a held-out event needs a sample that outlives it"
        if survival
        else "held-out numbers must differ"
    )

    def scored(test: Any) -> bool:
        if not survival:
            return bool((target[test] != target[test[0]]).any(axis=0).all())
        try:
            concordance(target[test], np.zeros(test.size), np.ones(test.size))
        except ValueError:
            return False
        return True

    def pairs(folds: int) -> list[tuple[Any, Any]] | None:
        first = target if target.ndim == 1 else target[:, 0]  # of several responses
        strata = target[:, 1].astype(np.int64) if survival else quantiles_of(first, folds)
        try:
            return splits(
                strata, np.ones(n), folds, 0, stratify=survival or groups is None, groups=groups
            )
        except ValueError:
            return None

    n_samples = n if groups is None else int(groups.max()) + 1
    for folds in range(min(cv, n_samples), 1, -1):
        found = pairs(folds)
        if found is not None and all(scored(test) for _, test in found):
            if folds < cv:
                notes.append(Doubt(f"{folds} folds instead of {cv}: {why}"))
            return folds
    notes.append(Doubt(f"no cross-validation: {why}"))
    return None


def folds_of(plan: SelectionPlan, samples: Samples, work: Work) -> Any:
    """Return the folds, None without; refuse a rule that has none to choose by."""
    folds, of = plan.folds, (samples.table, samples.response)
    folds = None if folds is None else usable_folds(folds, *of, work.notes)
    if folds is None and plan.rule in OF_FOLDS:
        raise ValueError(
            f"--rule {plan.rule} chooses by cross-validation, which these data do not allow "
            f"({work.notes[-1]}). Say one size (--features K), --rule ebic, or --rule all."
        )
    return folds


@dataclass(frozen=True, slots=True, eq=False)
class Validated:
    """The cross-validation of a selection, with the models of its folds."""

    posed: Validation
    paths: list[list[Path]]
    scores: CrossValidation
    permutations: PermutationTest | None

    def errors(self, estimator: Any, size: Any) -> Any:
        """Return how far predictions of held-out rows are from their targets, (n,).

        None where these are not numbers of one target, as intervals need them.
        """
        if not isinstance(estimator, BudgetRegressor):
            return None
        found = []
        for number, own in enumerate(self.paths):
            fold = self.posed.held_out(number, own)
            z = self.posed.judge.scores_of(fold, size)
            if not has_intervals(estimator._loss(), z.shape[1]):
                return None
            offset = 0.0 if fold.offset is None else fold.offset
            found.append(fold.labels.ravel() - z[:, 0] - offset)
        return np.concatenate(found)


def validated(
    options: SelectOptions, estimator: Any, samples: Samples, folds: Any, work: Work
) -> Validated:
    """Return the cross-validation of a selection, and its permutation test where one is wanted."""
    work.progress.phase("Cross-validating", total=int(estimator.n_scans_))
    advance, found = work.progress.advance, None
    with work.timed("cross-validation"):
        posed, paths = fold_models(
            estimator, samples.table.X, samples.y, cv=folds, offset=samples.response.offset,
            groups=samples.response.groups, callback=lambda at: advance(at.n_scans),
        )  # fmt: skip
        scores = posed.scored(paths)
    n = options.permutations
    if n is not None:
        work.progress.phase("Permuting the labels", n, "permutation permutations")
        with work.timed("permutations"):
            found = permuted(posed, scores, n, folds, callback=advance)
    return Validated(posed, paths, scores, found)


def stability_of(
    options: SelectOptions, estimator: Any, samples: Samples, interrupt: Interrupt, work: Work
) -> StabilitySelection | None:
    """Return what half-samples choose, at the size of the chosen model.

    None where that is not asked for, or left out, of which a note tells.
    """
    if options.stability is None or interrupt.during is not None:
        return None

    found = None
    work.progress.phase("Selecting on half-samples")
    with interrupt.validating(options, work, "stability"), work.timed("stability"):
        try:
            found = half_samples(estimator, samples, options.stability)
        except ValueError as error:
            way = _half_remedy(error, samples.table)
            text = message_of(error).said(work.words).rstrip(".")
            work.notes.append(Doubt(f"no stability: {text}{way}"))
        else:
            for left_out in found._left_out[:1]:  # the one that the last note is of
                way = _half_remedy(left_out, samples.table)
                work.notes[-1] = Doubt(f"{work.notes[-1]}{way}")
    return found


_Error = TypeVar("_Error", bound=BaseException)


@contextmanager
def fold_remedies(table: Dataset, response: Response, *, others: str = "") -> Iterator[None]:
    """Say in an error of the training rows of a fold what can be done.

    others : a further way.
    """
    try:
        yield
    except ValueError as error:
        if _cause(error, FoldError) is None:
            raise
        where, n = _ways_of(error, table, response)
        ways = [where] if where else []
        if n > 1:  # else the fold that holds it out has none
            ways.append("more folds (--cv), whose training rows are more")
        ways += [others] if others else []
        if not ways:
            raise
        raise ValueError(Message(error, f" Ways out: {'; '.join(ways)}.")) from error


def _half_remedy(error: BaseException, table: Dataset) -> str:
    """Return what can be done about half-samples without a model, behind why; "" if unknown."""
    lone = _cause(error, LoneRowError)
    if lone is not None:  # which ends with "Leave that row out"
        return _by_where(table, lone.label)
    where, _ = _ways_of(error, table)
    return f". A way out: {where}" if where else ""


def _by_where(table: Dataset, label: str) -> str:
    """Return how the rows of a class are left out; "" where no column has it, or of two classes."""
    name, y = table.target_name, table.y
    has_column = table.form in WITH_COLUMNS and "target" not in table.by_position
    if not (isinstance(name, str) and has_column and y is not None and y.dtype.kind == "U"):
        return ""
    if len({*y.tolist()}) < 3:
        return ""
    return f" by {where_not(name, label)}"


def _cause(error: BaseException | None, kind: type[_Error]) -> _Error | None:
    """Return an error, or the one that it is raised from, of a kind; None where none is."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error


def _ways_of(
    error: BaseException, table: Dataset, response: Response | None = None
) -> tuple[str, int]:
    """Return how to leave out the rows at fault, "" if unknown, and how many they are.

    Of classes that is how many the rarest has among them; 0 where it is not known.
    """
    unfittable = _cause(error, UnfittableError)
    found = None if unfittable is None else unfittable.at_fault
    return ("", 0) if found is None else _rows_at_fault(found, table, response)


def _rows_at_fault(at_fault: AtFault, table: Dataset, response: Response | None) -> tuple[str, int]:
    """Return what `_ways_of` does of rows of one level of a category."""
    if table.feature_names is None or at_fault.value not in (0, 1):
        return "", 0
    known = [table.feature_names[place] for place in at_fault.columns]
    coding = table.codings.get(known[0])
    if coding is None or coding.kind != "category":
        return "", 0
    levels = {f"{coding.column}={level}": level for level in coding.levels}
    if coding.gaps is not None:
        levels[coding.absent] = ""
    names = known if at_fault.value else sorted({*levels}.difference(known))
    if len(names) != 1 or names[0] not in levels:
        return "", 0
    columns = gather(as_design(table.X), np.array(at_fault.columns)).dense()
    rows = (columns == at_fault.value).all(axis=1)
    n = int(rows.sum())
    if response is not None and response.labelled:
        n = min(int((response.y[rows] == one).sum()) for one in np.unique(response.y))
    where = f"leave those rows out by {where_not(coding.column, levels[names[0]])}"
    if len(levels) < 3:  # then the column says nothing any more
        where += f", and {show(coding.column)} out of --covariates"
    return where, n
