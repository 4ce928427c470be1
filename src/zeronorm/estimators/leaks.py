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
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.types import Design, FloatArray, IndexArray
from ..core.warnings import LeakWarning
from ..data.operations import center_scale, scan, top_features
from .associations import (
    FLAG_LEVELS,
    LEVELS,
    Question,
    is_flag,
    question_of_classes,
    question_of_numbers,
    question_of_survival,
    strength,
)
from .disguises import itself, numbering, together

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
        `validate.check_survival`.
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
            columns = _dense(design, features[part])
            size = np.maximum(columns.std(axis=0), 1e-300)
            for question in questions:
                own = np.abs(question.residual @ (columns - columns.mean(axis=0))) / size
                score[part] = np.maximum(score[part], own / question.residual.std())
        features = np.sort(features[top_features(score, MOST_COLUMNS)])
    for start in range(0, features.size, _TOGETHER):
        own = features[start : start + _TOGETHER]
        yield from zip(own.tolist(), _dense(design, own).T, strict=True)


def _dense(design: Design, features: IndexArray) -> FloatArray:
    gathered = design.gather(features)
    return np.asarray(
        gathered if isinstance(gathered, np.ndarray) else gathered.toarray(), np.float64
    )


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
        for column in _dense(design, others[start : start + _TOGETHER]).T
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


__all__ = ["Leak", "LeakWarning"]
