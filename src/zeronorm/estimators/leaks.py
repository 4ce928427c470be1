"""Selected columns that tell the target because they were made from it, or number the rows.

The rule, on the selected columns of a fit, on those whose names are of outcomes, and in small data
on all:

- *The target itself.* A column that has one value in every class, is a linear or a rising or a
  falling function of the numbers or times, is the event, or has one of its values exactly where the
  target has one (as a cost that is 0 where no claim is), and is no such column by chance: with n
  rows in random order and p columns fewer than one study in a thousand has one. Columns that
  together are the time, as two dates.
- *A column that stands apart.* Its concordance with the target (AUC, Harrell's C, the share of
  pairs in order) is at least that of `LEVELS`, for columns of two values of `FLAG_LEVELS`. As a
  distance of two normal groups it is `GAP` or more beyond all other columns, and beyond the best of
  p columns of noise of n rows. Up to one column in ten, at most `MOST`, may stand apart together.
  One scan looks for the other columns, and only where a selected column is beyond its level and
  chance.
- *A column with the name of an outcome*, as death_date next to a survival time, paid_amount next to
  a count, status_code next to a target called status: `NAMED_LEVEL` and `NAMED_GAP` are enough.
- *Numbers of rows.* A column of whole numbers that rise or fall from row to row.

`benchmarks/leaks.py` measures how often planted leaks are named, and what is named on real data.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import norm, rankdata

from ..core.messages import LeakWarning
from ..core.types import Design, FloatArray, IndexArray
from ..data.operations import center_scale, dense, scan, top_features

# How well a single column tells an outcome, as a probability that two rows are in its order.

# From which concordance on a column may stand apart.
LEVELS = {"classes": 0.93, "numbers": 0.9, "survival": 0.9}
FLAG_LEVELS = {"classes": 0.9, "numbers": 0.95, "survival": 0.9}  # of columns of two values
_ROWS = 700  # rows among which pairs of numbers or survival times are compared
_CHANCE = 1e-3  # how often the best of all columns may be that good by chance
_RAREST = 0.1  # share of the rarer value from which on two values can tell numbers apart


@dataclass(frozen=True, slots=True)
class Question:
    """What about the outcome a column may tell.

    Attributes
    ----------
    name : what it is, for a message.
    residual : (n,) what a scan for other columns that tell it multiplies X with.
    positive : (n,) bool of a class against the others; None for others.
    code : (n,) of several classes the number of each; None for others.
    pairs : of numbers and survival times the rows that are compared, and the sign of each pair.
    kind : "classes", "numbers" or "survival".
    spread : the standard deviation of the concordance of a column of noise.
    """

    name: str
    residual: FloatArray
    spread: float
    kind: str
    positive: NDArray[np.bool_] | None = None
    code: NDArray[np.int64] | None = None
    pairs: tuple[NDArray[np.int64], NDArray[np.int8]] | None = None

    def concordance(self, column: FloatArray, as_flag: bool = True) -> float:
        """Return the share of pairs of rows that the column puts in the right order, 0.5 to 1.

        Ties count one half. Not so those of a column of two values, neither of them rare, next to
        numbers or survival times (as_flag), which can put no two rows of one value in order.
        """
        if self.positive is not None:
            return _auc(column, self.positive)
        if self.code is not None:
            return _neighbours(column, self.code)
        assert self.pairs is not None
        rows, sign = self.pairs
        x = column[rows]
        above = np.sign(x - x[:, None]).astype(np.int8)
        agree = float((above * sign).sum(dtype=np.int64))
        comparable = np.abs(sign)
        if as_flag and is_flag(x) and _RAREST <= (x == x.max()).mean() <= 1.0 - _RAREST:
            comparable = comparable * np.abs(above)
        total = float(comparable.sum(dtype=np.int64))
        return 0.5 + 0.5 * abs(agree) / total if total else 0.5

    def chance(self, n_columns: int) -> float:
        """Return the concordance that the best of so many columns of noise hardly ever has."""
        return min(0.5 + float(norm.isf(_CHANCE / (2 * max(n_columns, 1)))) * self.spread, 1.0)


def strength(concordance: float) -> float:
    """Return how far two normal groups of that concordance are apart, in standard deviations."""
    return float(np.sqrt(2.0) * norm.ppf(min(concordance, 1.0 - 1e-6)))


def is_flag(column: FloatArray) -> bool:
    """Return whether a column has two values."""
    low, high = column.min(), column.max()
    return bool(low < high and ((column == low) | (column == high)).all())


def question_of_classes(codes: NDArray[np.int64]) -> Question:
    """Return the question of the class; of several classes in the order that a column gives them.

    Single features often tell one class among several, as markers of cells do: that is no question.
    """
    n, counts = codes.size, np.bincount(codes)
    m = int(counts.min())
    spread = float(np.sqrt((n + 1) / (12.0 * m * (n - m))))
    several = counts.size > 2
    positive, code = (None, codes) if several else (codes > 0, None)
    return Question("the classes", codes - codes.mean(), spread, "classes", positive, code)


def question_of_numbers(y: Any, name: str) -> Question:
    """Return the question of how large numbers are."""
    y = np.asarray(y, np.float64)
    values, counts = np.unique(y, return_counts=True)
    most = int(counts.max())
    with_outcome = y != values[counts.argmax()] if 2 * most > y.size else None
    rows = _some_rows(y.size, with_outcome)
    own = y[rows]
    sign = np.sign(own - own[:, None]).astype(np.int8)
    residual = rankdata(y)
    n = y.size
    if with_outcome is None:  # Kendall's tau of noise, halved
        spread = np.sqrt(2 * (2 * n + 5) / (9.0 * n * (n - 1))) / 2
    else:
        spread = np.sqrt((n + 1) / (12.0 * most * (n - most)))
    residual -= residual.mean()
    return Question(name, residual, float(spread), "numbers", pairs=(rows, sign))


def question_of_survival(y: FloatArray) -> Question:
    """Return the question of when rows have their event; y as of `targets.check_survival`."""
    time, event = y[:, 0], y[:, 1] > 0
    rows = _some_rows(time.size, event)
    t, e, stratum = time[rows], event[rows], y[rows, 2]
    later = (t[:, None] < t) | ((t[:, None] == t) & ~e)  # of the row: the column outlives it
    later &= e[:, None] & (stratum[:, None] == stratum)
    if y.shape[1] == 4:
        later &= y[rows, 3] < t[:, None]
    sign = later.astype(np.int8)
    # What the model without features leaves: the event less the cumulative hazard until then.
    order = np.argsort(time, kind="stable")
    at_risk = time.size - np.searchsorted(time[order], time[order], "left")
    hazard = np.empty(time.size)
    hazard[order] = np.cumsum(event[order] / at_risk)
    residual = event - hazard
    spread = 0.4 / np.sqrt(max(int(event.sum()), 1))
    residual -= residual.mean()
    return Question("the time", residual, float(spread), "survival", pairs=(rows, sign))


def _some_rows(n: int, with_outcome: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """Return rows that lie evenly, as many as may be with the outcome that few have."""
    if n <= _ROWS:
        return np.arange(n)
    if with_outcome is None:
        return np.linspace(0, n - 1, _ROWS).astype(np.int64)
    parts = [np.flatnonzero(with_outcome), np.flatnonzero(~with_outcome)]
    few = min(parts[0].size, _ROWS // 2), min(parts[1].size, _ROWS // 2)
    kept = [
        part[np.linspace(0, part.size - 1, size).astype(np.int64)]
        for part, size in zip(parts, few, strict=True)
    ]
    return np.sort(np.concatenate(kept))


def _auc(column: FloatArray, positive: NDArray[np.bool_]) -> float:
    m = int(positive.sum())
    pairs = m * (positive.size - m)
    if not pairs:
        return 0.5
    auc = (float(rankdata(column)[positive].sum()) - m * (m + 1) / 2) / pairs
    # Few pairs that are all in order say less than many.
    return min(max(auc, 1.0 - auc), 1.0 - 0.5 / pairs)


def _neighbours(column: FloatArray, code: Any) -> float:
    """Return the mean AUC of neighbouring classes, in the order of their means."""
    counts = np.bincount(code)
    order = np.argsort(np.argsort(np.bincount(code, column) / counts))[code]
    found = []
    for low in range(counts.size - 1):
        pair = (order == low) | (order == low + 1)
        found.append(_auc(column[pair], order[pair] > low))
    return float(np.mean(found))


# Columns that are the target itself, or together a survival time, or numbers of rows.

_BY_CHANCE = 1e-3  # columns that may be the target by chance
_ROUNDING = 1e-8  # by which a correlation of 1 may be less: values with four digits
_VALUES = 10  # so many different ones that follow each other are no chance
_COUNTED = 10  # rows that a column must number
_OFTEN = 5  # rows, or one in twenty, that must have a number that a column marks
_EXACT, _NEEDED = 1e-6, 1e-2  # of the variance of times: what columns together leave, and without


def itself(column: FloatArray, y: Any, kind: str, n_features: int) -> str:
    """Return what a column is that is a function of the outcome; "" for others."""
    if kind == "survival":
        event = y[:, 1] > 0
        if event.any() and not event.all() and _is_class(column, event, n_features):
            return "the event itself (one value where it was observed, one where not)"
        found = _is_number(column, y[:, 0], n_features)
        if found:
            return found.replace("target", "time")
        value = _marks(column, event, n_features)
        which = "an" if value is not None and (column[event] == value).all() else "no"
        return "" if value is None else f"{value:g} exactly where there is {which} event"
    if kind == "classes":
        found = _is_class(column, y, n_features)
        if found:
            return found
        for label in np.unique(y):
            value = _marks(column, y == label, n_features)
            if value is not None:
                return f"{value:g} exactly where the target is {label}"
        return ""
    single = y.ndim == 1
    several = [y] if single else _nearest(column, y)
    for one in several:
        found = _is_number(column, one, n_features)
        if found:
            return found if single else found.replace("target", "response")
        values, counts = np.unique(one, return_counts=True)
        for place in dict.fromkeys((0, int(counts.argmax()))):  # as no claim is, of many
            value, often = values[place], counts[place]
            few = often < max(_OFTEN, one.size / 20)
            mark = None if few else _marks(column, one == value, n_features)
            if mark is not None:
                return f"{mark:g} exactly where the target is {value:g}"
    return ""


def _nearest(column: FloatArray, y: FloatArray) -> list[FloatArray]:
    """Return the response that a column correlates most with."""
    a, b = column - column.mean(), y - y.mean(axis=0)
    size = np.maximum(np.sqrt((b * b).sum(axis=0)), 1e-300)
    return [y[:, int(np.abs(a @ b / size).argmax())]]


def _marks(column: FloatArray, rows: Any, n_features: int) -> float | None:
    """Return the value that a column has exactly in some rows, or in all others; None without."""
    m = int(rows.sum())
    if not 0 < m < rows.size or not is_no_chance(np.array([m, rows.size - m]), n_features):
        return None
    for part in (rows, ~rows):
        value = column[int(part.argmax())]
        same = column == value
        if same.sum() == part.sum() > 1 and bool((same == part).all()):
            return float(value)
    return None


def _is_class(column: FloatArray, y: Any, n_features: int) -> str:
    """Return what a column is that has one value in every class; "" for others."""
    classes, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    first = np.empty(classes.size)
    first[code] = column
    same = bool((column == first[code]).all()) and np.unique(first).size == classes.size
    if not same or not is_no_chance(counts, n_features):
        return ""
    sure = "one value in each class" if classes.size > 2 else "correlation 1"
    return f"the target itself ({sure})"


def _is_number(column: FloatArray, one: FloatArray, n_features: int) -> str:
    """Return what a column is that is a function of numbers, or they of it; "" for others."""
    a, b = column - column.mean(), one - one.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    counts = np.unique(one, return_counts=True)[1]
    if not norm or not is_no_chance(counts, n_features):
        return ""
    if abs(float(a @ b)) >= (1 - _ROUNDING) * norm:
        return "the target itself (correlation 1)"
    values = np.unique(column).size
    if min(values, counts.size) >= _VALUES and (_follows(column, one) or _follows(one, column)):
        return "the target itself on another scale (same order of the rows)"
    return ""


def is_no_chance(counts: Any, n_features: int, ways: float = 0.0) -> bool:
    """Return whether hardly any column would be the target, were its values in random order.

    counts : how often each of its values occurs. ways : the log of how many orders are the target.
    """
    arrangements = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    return bool(arrangements - ways > np.log(2 * n_features / _BY_CHANCE))


def _follows(a: FloatArray, b: FloatArray) -> bool:
    """Return whether b is a rising or a falling function of a."""
    order = np.argsort(a, kind="stable")
    steps, same = np.diff(b[order]), np.diff(a[order]) == 0
    return not steps[same].any() and bool((steps >= 0).all() or (steps <= 0).all())


def together(columns: Mapping[int, FloatArray], y: FloatArray) -> list[int]:
    """Return the columns whose sum with some weights is the time, each of which that needs."""
    n, names = len(y), [*columns]
    if not 2 <= len(names) <= n // 3:
        return []
    rows = np.linspace(0, n - 1, min(n, 5000)).astype(np.int64)
    A = np.column_stack([columns[j][rows] for j in names])
    A = A - A.mean(axis=0)
    A /= np.maximum(A.std(axis=0), 1e-300)
    b = y[rows, 0] - y[rows, 0].mean()
    total = float(b @ b)

    def left(kept: list[int]) -> float:
        fitted = A[:, kept] @ np.linalg.lstsq(A[:, kept], b, rcond=None)[0]
        return float(((b - fitted) ** 2).sum())

    every = [*range(len(names))]
    if not total or left(every) > _EXACT * total:
        return []
    return [names[one] for one in every if left([k for k in every if k != one]) > _NEEDED * total]


def numbering(column: FloatArray) -> str:
    """Return what a column is that numbers the rows; "" for others."""
    steps = np.diff(column)
    if column.size < _COUNTED or not ((steps > 0).all() or (steps < 0).all()):
        return ""
    if (steps == steps[0]).all():
        return "a number of the row (the same step from each row to the next)"
    if (column == np.floor(column)).all():
        way = "larger" if steps[0] > 0 else "smaller"
        return f"like a number of the row (whole numbers, each {way} than the one before)"
    return ""


NAMED_LEVEL = 0.75
GAP, NAMED_GAP = 0.75, 0.25  # standard deviations between two groups
MOST = 4  # columns that stand apart together
RIVALS = 50  # other columns that are looked at, those that a scan finds
MOST_COLUMNS = 200  # selected columns that are looked at
MOST_CLASSES = 20
MOST_NAMES, MOST_NAMED = 20_000, 20  # names that are read, columns of such names not selected
_FEWEST = 4  # rows
_SMALL = 1_000_000  # cells of data of few columns, which are all looked at
_TOGETHER = 64  # columns that are in memory at a time
_OF_SURVIVAL = re.compile(
    r"death|died|dead(?!l)|deceas|mortal|surviv|follow.?up|last.?(contact|visit|seen|known)|"
    r"relapse|recurren|progress|censor|vital|time.?to|days.?to|event|"
    r"(?<![a-z])(fup|fu|dod|os|dfs|pfs|rfs|status|dates?|datum)(?![a-z])|days since"
)
_OF_COUNTS = re.compile(r"cost|amount|paid|pay(out|ment)|severity|settle|claim|indemnit")
_BIRTH = re.compile(r"birth|born|(?<![a-z])dob(?![a-z])|geburt")
_SAYS_NOTHING = {"class", "code", "group", "label", "level", "target", "type", "value", "score"}


@dataclass(frozen=True, slots=True)
class Leak:
    """Why a selected column, or some together, may say what they could not know.

    Attributes
    ----------
    features : of the design.
    reason : what follows "column NAME", in words, beginning with "is" or "tells".
    """

    features: tuple[int, ...]
    reason: str

    @property
    def words(self) -> str:
        """What follows "column NAME" or "columns NAME, NAME"."""
        verb, _, rest = self.reason.partition(" ")
        several = {"is": "are each", "tells": "each tell"}
        return f"{several[verb]} {rest}" if len(self.features) > 1 else self.reason

    @property
    def numbers_rows(self) -> bool:
        """Whether it is a number of the row, that measures nothing."""
        return "number of the row" in self.reason


def suspects(
    names: Sequence[str],
    kind: str,
    targets: Collection[str] = (),
    dates: Collection[str] = (),
) -> list[bool]:
    """Return which names are those of an outcome.

    kind : "classes", "numbers" or "survival". targets : what the target and its columns are called.
    dates : names of columns that are dates, which next to survival times are outcomes.
    """
    stems = {word for target in targets for word in _words(target)} - _SAYS_NOTHING
    pattern = {"survival": _OF_SURVIVAL, "numbers": _OF_COUNTS}.get(kind)
    found = []
    for name in names:
        own = str(name).lower()
        like = pattern is not None and pattern.search(own) is not None
        if kind == "survival":
            like = (like or name in dates) and _BIRTH.search(own) is None
        found.append(like or any(_akin(word, stem) for word in _words(name) for stem in stems))
    return found


def _words(name: str) -> set[str]:
    """Return the words of a name of three letters or more: those of "VitalStatus_2" are two."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).lower()
    return {word for word in re.split(r"[^a-z]+", apart) if len(word) >= 3}


def _akin(word: str, stem: str) -> bool:
    """Return whether two words are one, or begin with the same six letters or more."""
    return word == stem or (min(len(word), len(stem)) >= 6 and word[:6] == stem[:6])


def find(
    design: Design,
    features: IndexArray,
    y: Any,
    kind: str,
    names: Sequence[str] | None = None,
    targets: Collection[str] = (),
    dates: Collection[str] = (),
    known: Collection[int] = (),
) -> list[Leak]:
    """Return what there is to doubt of the selected features, the gravest first.

    Columns with the name of an outcome are looked at whether they are selected or not, and in small
    data all.

    Parameters
    ----------
    y : (n,) labels for kind="classes"; (n,) or (n, responses) for "numbers"; for "survival" as of
        `targets.check_survival`.
    names : of all columns of the design. targets, dates : as of `suspects`.
    known : columns that are not looked at.
    """
    n, p = design.shape
    selected = {*np.asarray(features, np.int64).tolist()}
    features = np.arange(p) if p <= _TOGETHER and n * p <= _SMALL else np.array(sorted(selected))
    if n < _FEWEST:
        return []
    like: Collection[int] = ()
    if names is not None:
        where = range(p) if p <= MOST_NAMES else features.tolist()
        called = suspects([str(names[j]) for j in where], kind, targets, dates)
        like = {j for j, one in zip(where, called, strict=True) if one}
        more = np.array(sorted(like)[:MOST_NAMED], np.int64)
        features = np.union1d(features, more)
    features = np.setdiff1d(features, np.array([*known], np.int64))
    if not features.size:
        return []
    questions = _questions(y, kind)
    kept: dict[int, FloatArray] = dict(_columns(design, features, questions))
    found: dict[str, list[int]] = {}
    for j, column in kept.items():
        what = (j in selected and numbering(column)) or itself(column, y, kind, p)
        if what:
            found.setdefault(f"is {what}", []).append(j)
    told = {j for own in found.values() for j in own}
    rest = {j: column for j, column in kept.items() if j not in told}
    known = {*known, *told}
    parts = together(rest, y) if kind == "survival" else []
    if parts:
        found["is a part of the time (with some weights they add up to it)"] = parts
    for question in questions:
        for j, reason in _apart(design, question, rest, like, known):
            if not any(j in own for own in found.values()):
                found.setdefault(reason, []).append(j)
    return [Leak(tuple(own), reason) for reason, own in found.items()]


def _questions(y: Any, kind: str) -> list[Question]:
    """Return what of the outcome a column may tell."""
    if kind == "survival":
        return [question_of_survival(y)] if (y[:, 1] > 0).any() else []
    if kind == "classes":
        labels, codes = np.unique(y, return_inverse=True)
        if not 2 <= labels.size <= MOST_CLASSES:
            return []
        return [question_of_classes(codes)]
    columns = [y] if y.ndim == 1 else list(y.T)[:MOST_CLASSES]
    name = "the target" if y.ndim == 1 else "a response"
    return [question_of_numbers(one, name) for one in columns if np.ptp(one) > 0]


def _columns(
    design: Design, features: IndexArray, questions: Sequence[Question]
) -> Iterator[tuple[int, FloatArray]]:
    """Yield the selected columns, the most telling of them where they are many."""
    if features.size > MOST_COLUMNS and questions:
        score = np.zeros(features.size)
        for start in range(0, features.size, _TOGETHER):
            part = slice(start, start + _TOGETHER)
            columns = dense(design.gather(features[part]))
            size = np.maximum(columns.std(axis=0), 1e-300)
            for question in questions:
                own = np.abs(question.residual @ (columns - columns.mean(axis=0))) / size
                score[part] = np.maximum(score[part], own / question.residual.std())
        features = np.sort(features[top_features(score, MOST_COLUMNS)])
    for start in range(0, features.size, _TOGETHER):
        own = features[start : start + _TOGETHER]
        yield from zip(own.tolist(), dense(design.gather(own)).T, strict=True)


def _apart(
    design: Design,
    question: Question,
    columns: dict[int, FloatArray],
    like: Collection[int],
    known: Collection[int],
) -> Iterator[tuple[int, str]]:
    """Yield the columns that tell an outcome while the others do not, with the reason.

    known : columns that are the target itself, which are no others.
    """
    p = design.shape[1]
    own = {j: question.concordance(column) for j, column in columns.items()}
    among = {j: question.concordance(x, as_flag=False) for j, x in columns.items()}
    chance = strength(question.chance(p))
    needed = {j: _level(question.kind, columns[j], j in like) for j in own}
    wide = {j: NAMED_GAP if needed[j] == NAMED_LEVEL else GAP for j in own}
    beyond = [j for j in own if own[j] >= needed[j] and strength(own[j]) >= chance + wide[j]]
    if not beyond or p - len(known) < 3:
        return
    scores = scan(center_scale(design, np.ones(design.shape[0]), center=True), question.residual)
    scores[[*own, *known]] = 0.0
    others = top_features(scores, min(RIVALS, p))
    others = np.sort(others[scores[others] != 0])
    rivals = [
        question.concordance(column, as_flag=False)
        for start in range(0, others.size, _TOGETHER)
        for column in dense(design.gather(others[start : start + _TOGETHER])).T
    ]
    for j in beyond:
        rest = sorted([*rivals, *(among[i] for i in among if i != j)], reverse=True)
        for count in range(min(MOST, max(1, p // 10))):  # others that stand apart with it
            next_one = rest[count] if count < len(rest) else 0.5
            last = min([own[j], *rest[:count]])
            gap = strength(last) - max(strength(next_one), chance)
            if last >= needed[j] and gap >= wide[j]:
                yield j, _words_of(question, own[j], next_one, j in like)
                break


def _level(kind: str, column: FloatArray, like: bool) -> float:
    """Return the concordance from which on a column may stand apart; like: by its name, too."""
    return NAMED_LEVEL if like else (FLAG_LEVELS if is_flag(column) else LEVELS)[kind]


def _words_of(question: Question, own: float, next_one: float, like: bool) -> str:
    """Return why a column is doubted that stands apart."""
    measure = "AUC" if question.pairs is None else "concordance"
    errors = " without an error" if own >= 1.0 - 1e-3 and question.pairs is None else ""
    apart = " apart" if question.name == "the classes" else ""
    outcome = ", and it has the name of an outcome" if like else ""
    return (
        f"tells {question.name}{apart}{errors} and no other comes near ({measure} {own:.3f}, the "
        f"next {next_one:.2f}){outcome}"
    )


def warn(
    design: Design, features: IndexArray, y: Any, kind: str, names: Any, stacklevel: int
) -> None:
    """Warn of selected columns that are in doubt, by name; as an estimator does."""
    for leak in find(design, features, y, kind, names):
        called = [f"x{j}" if names is None else str(names[j]) for j in leak.features[:MOST]]
        shown = ", ".join(map(repr, called))
        which = "columns" if len(leak.features) > 1 else "column"
        warnings.warn(
            f"The {which} {shown} {leak.words}. Leave it out of X if it was made from the "
            "target, is known only after it, or measures nothing.",
            LeakWarning,
            stacklevel=stacklevel + 1,
        )
