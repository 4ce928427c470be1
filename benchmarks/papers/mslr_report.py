"""Claim by claim: what the paper says, and what the other scripts of this folder measured.

    python benchmarks/papers/mslr_report.py                     # reads results/papers/*.json
    python benchmarks/papers/mslr_report.py --results DIR

A claim has checks, each computed from the JSON files by the rule that stands beside it. The verdict
is "holds" where all checks that could be computed do, "does not hold" where none does, "holds in
part" otherwise, "not tested" without any; the numbers are those of the checks that hold and of all.
It is also given for each variant of MSLR by itself. Values between measured numbers of features are
interpolated, and nothing is extrapolated. In ratios of seconds a selection over the limit, and the
larger ones that were then not tried, count as at least as slow as the limit; where that leaves the
answer open, the check says so and is not counted. (A fit of l1-LR over the limit has no number of
features, so it enters no ratio.) Verdicts speak of the sizes that were run: the table below says
which.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy import stats

import _mslr as mslr
from _mslr import METHODS, MSLR_KEYS, Row, common

SCRIPTS = ("scale", "synthetic", "convergence", "real", "sensitivity", "tables")
NOT_TESTED = "not tested"
HEADER = [
    "no.", "the paper says", "where", "verdict", *(METHODS[key].label for key in MSLR_KEYS),
]  # fmt: skip
CLOSE = 0.01  # accuracies that count as equal
FGM = ("fgm-lr", "fgm-svm")
# LIBLINEAR at two tolerances, and the same problem solved by our path.
L1 = ("l1", "l1-tight", "l1-path")
WLR, GLR = ("wlr",), ("glr", "glr-ridge")


@dataclass(frozen=True)
class Check:
    """One measured statement."""

    what: str  # with its rule
    measured: str
    holds: bool | None  # None: the measurements leave it open
    method: str = ""  # the MSLR variant it is about, a key of METHODS


@dataclass(frozen=True)
class Claim:
    """What the paper says, and the checks of it."""

    words: str
    where: str  # figure or table
    script: str
    check: Callable[[Row], Iterator[Check]]

    def judge(self, files: dict[str, Row]) -> tuple[str, list[Check]]:
        """Return the verdict and the checks."""
        checks = list(self.check(files[self.script])) if self.script in files else []
        return verdict([check.holds for check in checks]), checks


def verdict(answers: Sequence[bool | None]) -> str:
    """Return the verdict of some checks."""
    holds = [answer for answer in answers if answer is not None]
    if not holds:
        return NOT_TESTED
    word = "holds" if all(holds) else "holds in part" if any(holds) else "does not hold"
    return f"{word} ({sum(holds)} of {len(holds)})"


def points(x: float) -> str:
    """Return a difference of accuracies in percentage points."""
    return f"{100 * x:+.2f} points"


def present(runs: list[Row], keys: Sequence[str]) -> list[str]:
    """Return the methods with at least one answer."""
    return [key for key in keys if mslr.ok(runs, method=key)]


def names(runs: list[Row]) -> list[str]:
    """Return the sets in the order they were run."""
    return list(dict.fromkeys(row["set"] for row in runs))


def compare(found: dict[float, float], form: Callable[[float], str]) -> tuple[int, int, str]:
    """Return how many differences are positive, how many negative, and both with the spread."""
    better, worse = (sum(sign * x > 0 for x in found.values()) for sign in (1, -1))
    values = list(found.values())
    spread = f"mean {form(float(np.mean(values)))}, {form(min(values))} to {form(max(values))}"
    return better, worse, f"better at {better}, worse at {worse} of {len(found)}; {spread}"


def differences(
    runs: list[Row], name: str, key: str, other: str, value: str, least: float = 0.0
) -> dict[float, float]:
    """Return value of key minus value of other at the numbers of features of key, above `least`."""
    theirs = mslr.curve(runs, value, set=name, method=other)
    result = {}
    for k, mine in zip(*mslr.curve(runs, value, set=name, method=key), strict=True):
        there = mslr.at(theirs, float(k))
        if k > least and there is not None:
            result[float(k)] = float(mine - there)
    return result


# --------------------------------------------------------------------------------------- Fig. 1


def scale_variation(file: Row) -> Iterator[Check]:
    """Fig. 1: equal at tau = 0, MSLR better where the tail is long, and the more the longer."""
    runs = file["runs"]
    taus = sorted({row["tau"] for row in runs})
    for key in present(runs, MSLR_KEYS):
        label = f"{METHODS[key].label} minus l1-LR"
        gains = {}
        for tau in taus:
            accuracy, recovered = (_mean_gain(runs, key, tau, v) for v in ("accuracy", "recovered"))
            if accuracy is None or recovered is None:
                continue
            gains[tau] = accuracy
            measured = f"{points(accuracy)}, {recovered:+.1f} recovered"
            if tau == 0.0:
                rule = f", tau = 0: accuracies within {100 * CLOSE:g} point"
                yield Check(label + rule, measured, abs(accuracy) <= CLOSE, key)
            elif tau >= 1.0:
                rule = f", tau = {tau:g}: more accurate and more recovered"
                yield Check(label + rule, measured, accuracy > 0 and recovered > 0, key)
        if len(gains) > 2:
            tau_rank = float(stats.kendalltau(list(gains), list(gains.values())).statistic)
            yield Check(
                f"{label}: the difference of accuracies grows with tau (rank correlation "
                "above 0.5)",
                f"Kendall's coefficient {tau_rank:+.2f} over {len(gains)} values of tau",
                tau_rank > 0.5,
                key,
            )


def _mean_gain(runs: list[Row], key: str, tau: float, value: str) -> float | None:
    """Return the mean difference to l1-LR over the seeds that both have."""
    mine, l1 = (
        {row["seed"]: row[value] for row in mslr.ok(runs, method=name, tau=tau)}
        for name in (key, "l1-search")
    )
    seeds = mine.keys() & l1.keys()
    return float(np.mean([mine[seed] - l1[seed] for seed in seeds])) if seeds else None


# ---------------------------------------------------------------------------------- Figs. 3 and 4


def synthetic(name: str, others: Sequence[str], beyond: bool) -> Callable[[Row], Iterator[Check]]:
    """Accuracy and recovery against others, at all numbers of features or beyond the true one."""

    def check(file: Row) -> Iterator[Check]:
        runs = [row for row in file["runs"] if row["set"] == name]
        if not runs:  # a part of the script was run
            return
        informative = file["shapes"][name][2]
        least = float(informative) - 1 if beyond else 0.0
        forms = {"accuracy": points, "recovered": lambda x: f"{x:+.1f}"}
        for key, other in product(present(runs, MSLR_KEYS), others):
            for value, form in forms.items():
                found = differences(runs, name, key, other, value, least)
                if not found:
                    continue
                better, worse, measured = compare(found, form)
                # "best with more than 300": everywhere; "generally": more often than not.
                rule = f"everywhere from {informative}" if beyond else "more often than below"
                yield Check(
                    f"{METHODS[key].label}, {value} above that of {METHODS[other].label} {rule}",
                    measured,
                    better == len(found) if beyond else better > worse,
                    key,
                )

    return check


def above_l1(keys: Sequence[str], fewer: bool) -> Callable[[Row], Iterator[Check]]:
    """Fig. 3(a): competitors of MSLR against l1-LR, everywhere or below the true number."""

    def check(file: Row) -> Iterator[Check]:
        runs = [row for row in file["runs"] if row["set"] == "fig3"]
        if not runs:
            return
        informative = file["shapes"]["fig3"][2]
        for key, other in product(present(runs, keys), L1):
            found = differences(runs, "fig3", key, other, "accuracy")
            found = {k: x for k, x in found.items() if not fewer or k < informative}
            if found:
                better, worse, measured = compare(found, points)
                rule = f"more often than below, k < {informative}" if fewer else "everywhere"
                yield Check(
                    f"{METHODS[key].label} more accurate than {METHODS[other].label} {rule}",
                    measured,
                    better > worse if fewer else better == len(found),
                    key,
                )

    return check


def most_expensive(file: Row) -> Iterator[Check]:
    """Fig. 3(c): GLR takes longest from a third of the true number of features on."""
    runs = [row for row in file["runs"] if row["set"] == "fig3"]
    if not runs:
        return
    least = file["shapes"]["fig3"][2] / 3
    for key, other in product(present(runs, GLR), present(runs, (*L1, *WLR, *MSLR_KEYS))):
        theirs = mslr.curve(runs, "seconds", set="fig3", method=other)
        found = [
            float(mine / there)
            for k, mine in zip(*mslr.curve(runs, "seconds", set="fig3", method=key), strict=True)
            if k > least and (there := mslr.at(theirs, float(k))) is not None
        ]
        if found:
            yield Check(
                f"seconds of {METHODS[key].label} / {METHODS[other].label} above 1 at every "
                f"number of features above {least:.0f}",
                str(Ratios(found, [], [])),
                min(found) > 1,
                key,
            )


def decline(file: Row) -> Iterator[Check]:
    """Fig. 3(a): accuracy falls once more than 4/3 of the true number are selected."""
    for name in [name for name in names(file["runs"]) if name == "fig3"]:
        runs = [row for row in file["runs"] if row["set"] == name]
        limit = 4.0 / 3.0 * file["shapes"][name][2]
        for key in present(runs, (*L1, *MSLR_KEYS, "truth")):
            k, accuracy = mslr.curve(runs, "accuracy", method=key)
            inside, last = k <= limit, k > limit
            if not inside.any() or not last.any():
                continue
            fall = float(accuracy[-1] - accuracy[inside].max())
            yield Check(
                f"{name}, {METHODS[key].label}: the largest number of features is less accurate "
                f"than the best up to {limit:.0f}, by at least {100 * CLOSE:g} point",
                f"{points(fall)} at {k[-1]:.0f} features",
                fall <= -CLOSE,
                key,
            )


@dataclass
class Ratios:
    """Seconds of one method / seconds of another at equal numbers of features.

    Where one of the two was over the limit there is only a bound.
    """

    exact: list[float]
    at_least: list[float]
    at_most: list[float]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.exact or self.at_least or self.at_most)

    def median_above(self, value: float) -> bool | None:
        """Return whether the median is at least `value`; None where the bounds leave it open."""
        low = common.median(self.exact + self.at_least + [0.0] * len(self.at_most))
        high = common.median(self.exact + [math.inf] * len(self.at_least) + self.at_most)
        return True if low >= value else False if high < value else None

    def __str__(self) -> str:
        """Return median and range, and how many are bounds."""
        found = self.exact + self.at_least + self.at_most
        text = f"median {common.median(found):.3g}, {min(found):.3g} to {max(found):.3g}"
        for bounds, name in ((self.at_least, "lower"), (self.at_most, "upper")):
            if bounds:
                text += f", {len(bounds)} of {len(found)} {name} bounds (over the limit)"
        return text


def ratios(runs: list[Row], name: str, key: str, other: str) -> Ratios:
    """Return the seconds of `other` / the seconds of `key`."""
    if METHODS[other].by_penalty:
        theirs = mslr.curve(runs, "seconds", set=name, method=other)
        mine = mslr.curve(runs, "seconds", set=name, method=key)
        pairs = [(float(s), mslr.at(theirs, float(k))) for k, s in zip(*mine, strict=True)]
        return Ratios([there / s for s, there in pairs if there is not None], [], [])
    found = Ratios([], [], [])
    there = {
        (row["seed"], row["asked"]): row
        for row in runs
        if (row["set"], row["method"]) == (name, other)
    }
    for row in runs:
        if (row["set"], row["method"]) != (name, key):
            continue
        same = there.get((row["seed"], row["asked"]), {})
        seconds, limit = row.get("seconds"), _limit(runs, row)
        their_seconds, their_limit = same.get("seconds"), _limit(runs, same)
        if seconds and their_seconds:
            found.exact.append(their_seconds / seconds)
        elif seconds and their_limit:
            found.at_least.append(their_limit / seconds)
        elif limit and their_seconds:
            found.at_most.append(their_seconds / limit)
    return found


def _limit(runs: list[Row], row: Row) -> float | None:
    """Return the limit that a row, or a smaller one that kept it from being tried, was over."""
    error = row.get("error", "")
    if error.startswith("over"):
        return float(row["limit"])
    if not error.startswith("not tried: over"):
        return None
    same = ("set", "method", "seed")
    return next(
        float(other["limit"])
        for other in runs
        if other.get("error", "").startswith("over") and all(other[k] == row[k] for k in same)
    )


def faster(*others: str) -> Callable[[Row], Iterator[Check]]:
    """Figs. 3(c), 4(c), 7: MSLR is faster than others."""

    def check(file: Row) -> Iterator[Check]:
        for name in names(file["runs"]):
            for key, other in product(present(file["runs"], MSLR_KEYS), others):
                found = ratios(file["runs"], name, key, other)
                if found:
                    yield Check(
                        f"{name}: median of seconds of {METHODS[other].label} / "
                        f"{METHODS[key].label} above 1",
                        str(found),
                        found.median_above(1),
                        key,
                    )

    return check


# --------------------------------------------------------------------------------------- Fig. 5


def convergence(file: Row) -> Iterator[Check]:
    """Fig. 5: the relative change falls below 1e-2 within ten iterations, and stays there."""
    for row in mslr.ok(file["runs"]):
        if "change" not in row:
            continue
        label = f"{row['set']}, {METHODS[row['method']].label}"
        change = np.array(row["change"])
        large = np.flatnonzero(change >= 1e-2)
        settled = int(large[-1]) + 2 if large.size else 1  # the first t of the rest
        last = min(10, len(change))
        if settled > len(change) and last < 10 and row["status"] == "MAX_BLOCKS":
            continue  # too short a run to tell
        when = f"from t = {settled} on" if settled <= len(change) else "not within the run"
        gap = row["outer_gap"][last - 1]
        above = row["above_optimum"][last - 1]
        yield Check(
            f"{label}: relative change below 1e-2 for good within ten iterations",
            f"{when}; at t = {last}: {above:.1e} above f*, certified outer gap {gap:.1e}",
            settled <= last,
            row["method"],
        )


# ---------------------------------------------------------------------------------- Figs. 6 and 7


def eight_genes(file: Row) -> Iterator[Check]:
    """Fig. 6(a): all 34 test samples of Leukemia right with eight features."""
    for name in names(file["runs"]):
        if file["sets"][name]["stands_for"] != "Leukemia":
            continue
        for row in mslr.ok(file["runs"], set=name, asked=8.0):
            if row["method"] in MSLR_KEYS:
                yield Check(
                    f"{name}, {METHODS[row['method']].label}, eight features: accuracy 1",
                    f"{row['accuracy']:.4f} (free intercept {row['accuracy_free']:.4f})",
                    row["accuracy"] == 1.0,
                    row["method"],
                )


def real_accuracy(*others: str) -> Callable[[Row], Iterator[Check]]:
    """Fig. 6: better than others at most numbers of features."""

    def check(file: Row) -> Iterator[Check]:
        for name in names(file["runs"]):
            for key, other in product(present(file["runs"], MSLR_KEYS), others):
                found = differences(file["runs"], name, key, other, "accuracy")
                if found:
                    better, worse, measured = compare(found, points)
                    yield Check(
                        f"{name}, {METHODS[key].label}: more accurate than "
                        f"{METHODS[other].label} at more numbers of features than less accurate",
                        measured,
                        better > worse,
                        key,
                    )

    return check


def real_time(file: Row) -> Iterator[Check]:
    """Fig. 7: l1-LR is faster on very sparse data, MSLR on dense data."""
    for name in names(file["runs"]):
        sparse = file["sets"][name]["sparse"]
        for key in present(file["runs"], MSLR_KEYS):
            found = ratios(file["runs"], name, key, "l1")
            if found:
                above = found.median_above(1)
                yield Check(
                    f"{name} ({'sparse: below' if sparse else 'dense: above'} 1): median of "
                    f"seconds of l1-LR / {METHODS[key].label}",
                    str(found),
                    not above if sparse else above,
                    key,
                )


def against_fgm(file: Row) -> Iterator[Check]:
    """MSLR is 10 to 500 times faster than both FGM, with close accuracy."""
    for name in names(file["runs"]):
        for key in present(file["runs"], MSLR_KEYS):
            for other in FGM:
                found = ratios(file["runs"], name, key, other)
                if found:
                    yield Check(
                        f"{name}: median of seconds of {METHODS[other].label} / "
                        f"{METHODS[key].label} at least 10",
                        str(found),
                        found.median_above(10),
                        key,
                    )


def fgm_accuracy(file: Row) -> Iterator[Check]:
    """MSLR and both FGM have very close accuracy under the same sparsity."""
    for name in names(file["runs"]):
        for key in present(file["runs"], MSLR_KEYS):
            for other in FGM:
                found = differences(file["runs"], name, key, other, "accuracy")
                if found:
                    size = float(np.mean(np.abs(list(found.values()))))
                    yield Check(
                        f"{name}: mean absolute difference of {METHODS[key].label} and "
                        f"{METHODS[other].label} at most {100 * CLOSE:g} point",
                        f"{100 * size:.2f} points; {compare(found, points)[2]}",
                        size <= CLOSE,
                        key,
                    )


def growth(runs: list[Row], name: str, key: str, other: str) -> tuple[float, float] | None:
    """Return the exponents g of seconds ~ k^g of two methods, between the ends both have."""
    curves = [mslr.curve(runs, "seconds", set=name, method=method) for method in (key, other)]
    common_k = np.intersect1d(curves[0][0], curves[1][0])
    if common_k.size < 2:
        return None
    ends = common_k[[0, -1]]
    seconds = [y[np.searchsorted(x, ends)] for x, y in curves]
    mine, theirs = (float(np.log(s[1] / s[0]) / np.log(ends[1] / ends[0])) for s in seconds)
    return mine, theirs


def growth_in_r(file: Row) -> Iterator[Check]:
    """Check that the time of MSLR grows much less with r than that of FGM."""
    for name in names(file["runs"]):
        for key, other in product(present(file["runs"], MSLR_KEYS), FGM):
            found = growth(file["runs"], name, key, other)
            if found is not None:
                mine, theirs = found
                yield Check(
                    f"{name}: seconds ~ k^g, g of {METHODS[key].label} at most half of g of "
                    f"{METHODS[other].label}",
                    f"{mine:.2f} and {theirs:.2f}",
                    mine <= 0.5 * theirs,
                    key,
                )


def control(file: Row) -> Iterator[Check]:
    """Check that the number of features is set directly with MSLR, and hard to reach with l1-LR."""
    for name in names(file["runs"]):
        rows = [row for key in MSLR_KEYS for row in mslr.ok(file["runs"], set=name, method=key)]
        if rows:
            exact = sum(row["n_features"] == row["asked"] for row in rows)
            yield Check(
                f"{name}: MSLR gives exactly the number asked for",
                f"{exact} of {len(rows)}",
                exact == len(rows),
            )
        grid = [row for row in mslr.ok(file["runs"], set=name, method="l1") if row["n_features"]]
        asked = {row["asked"] for row in rows}
        if grid and asked:
            hit = sum(any(row["n_features"] == k for row in grid) for k in asked)
            low = min(grid, key=lambda row: row["C"])
            high = max(grid, key=lambda row: row["C"])
            yield Check(
                f"{name}: l1-LR on a grid of C (ratio {mslr.GROWTH:g}) meets fewer "
                "than half of these numbers",
                f"{hit} of {len(asked)}; C = {low['C']:.3g} gives {low['n_features']} features, "
                f"C = {high['C']:.3g} gives {high['n_features']}",
                hit < len(asked) / 2,
            )


# --------------------------------------------------------------------------------------- Fig. 8


def sensitivity(*values: float) -> Callable[[Row], Iterator[Check]]:
    """Accuracy and seconds hardly change over some values of C."""

    def check(file: Row) -> Iterator[Check]:
        runs = file["runs"]
        for name in names(runs):
            for key in present(runs, MSLR_KEYS):
                accuracy, seconds = (
                    [_by_size(runs, value, name, key, C) for C in values]
                    for value in ("accuracy", "seconds")
                )
                sizes = set.intersection(*(set(one) for one in accuracy))
                if not sizes:
                    continue
                width = [max(v) - min(v) for k in sizes for v in [[one[k] for one in accuracy]]]
                longer = [max(v) / min(v) for k in sizes for v in [[one[k] for one in seconds]]]
                yield Check(
                    f"{name}, {METHODS[key].label}, C = {', '.join(f'{C:g}' for C in values)}: "
                    f"mean range of accuracies at most {100 * CLOSE:g} point, seconds within a "
                    "factor of 2 at every number of features",
                    f"range of accuracies mean {100 * np.mean(width):.2f}, largest "
                    f"{100 * max(width):.2f} points; slowest / fastest at most {max(longer):.2f}",
                    float(np.mean(width)) <= CLOSE and max(longer) <= 2,
                    key,
                )

    return check


def _by_size(runs: list[Row], value: str, name: str, key: str, C: float) -> dict[float, float]:
    found = mslr.curve(runs, value, set=name, method=key, weight=C)
    return dict(zip(*(part.tolist() for part in found), strict=True))


# ----------------------------------------------------------------------------- Tables II and III


def tables(test: str, keys: Sequence[str] = MSLR_KEYS) -> Callable[[Row], Iterator[Check]]:
    """Methods are better than l1-LR at every number of features: by the mean, or by a test."""

    def check(file: Row) -> Iterator[Check]:
        if test and file["least_p"][test] >= 0.05:
            return  # so few splits can show nothing
        for found in file["tests"]:
            if "l1" not in found or found["method"] not in keys:
                continue
            gain = found["mslr"][0] - found["l1"][0]
            rule, p = "higher mean accuracy", ""
            if test:
                rule = f"higher mean accuracy and p < 0.05 ({test.replace('_', '-')} test)"
                p = f"; p {found[test]:.3g}"
            yield Check(
                f"{found['set']}, # = {found['n_features']:.0f}, "
                f"{METHODS[found['method']].label} against {METHODS[found['base']].label}: {rule}",
                points(gain) + p,
                gain > 0 and (not test or found[test] < 0.05),
                found["method"],
            )

    return check


def printed_p(file: Row) -> Iterator[Check]:
    """Check which of the two tests of that name the printed p-values can be of."""
    least = file["least_p"]
    if file["options"]["seeds"] == 10:
        for test, what in (
            ("signed_rank", "the signed-rank test of ten pairs, the test for the same splits"),
            ("rank_sum", "the rank-sum test of ten against ten, which ignores the pairs"),
        ):
            yield Check(
                f"p = 1.83E-4 can be of {what}",
                f"its least p is {least[test]:.3g}",
                float(f"{least[test]:.3g}") <= 1.83e-4,
            )


# ------------------------------------------------------------------------------------- smoothing


def smoothing(key: str) -> Callable[[Row], Iterator[Check]]:
    """Every inner problem reaches its certified gap of 1e-3."""

    def check(file: Row) -> Iterator[Check]:
        for name in names(file["runs"]):
            tried = [row for row in file["runs"] if (row["set"], row["method"]) == (name, key)]
            lost = [row["error"] for row in tried if "error" in row]
            inner = [
                step for row in tried for step in row.get("steps", []) if step["gap"] is not None
            ]
            if not inner:
                if lost:
                    yield Check(f"{name}: any answer", "; ".join(sorted(set(lost))), False, key)
                continue
            counts: dict[str, int] = {}
            for step in inner:
                counts[str(step["status"])] = counts.get(str(step["status"]), 0) + 1
            gaps = [step["gap"] for step in inner]
            if lost:
                counts[f"selections without an answer ({lost[0]})"] = len(lost)
            said = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
            yield Check(
                f"{name}: all inner problems end at a certified gap of 1e-3",
                f"{said}; gap median {np.median(gaps):.1e}, largest {max(gaps):.1e}; iterations "
                f"median {np.median([step['iterations'] for step in inner]):.0f}",
                counts.get("CONVERGED", 0) == len(inner) and not lost,
                key,
            )

    return check


CLAIMS = (
    Claim("l1-LR and MSLR are alike where w_i is 0, 1 or -1; the larger the scale variation, the "
          "more l1-LR falls behind, in accuracy and in recovered features", "Fig. 1", "scale",
          scale_variation),
    Claim("With more than 300 features selected (the true number), MSLR is the most accurate and "
          "recovers the most true features", "Fig. 3(a), (b)", "synthetic",
          synthetic("fig3", (*L1, *WLR, *GLR), beyond=True)),
    Claim("With fewer features than 300 WLR is better than l1-LR", "Fig. 3(a)", "synthetic",
          above_l1(WLR, fewer=True)),
    Claim("GLR is consistently better than l1-LR", "Fig. 3(a)", "synthetic",
          above_l1(GLR, fewer=False)),
    Claim("MSLR generally outperforms its competitors where there are more rows", "Fig. 4(a), (b)",
          "synthetic", synthetic("fig4", (*L1, *WLR), beyond=False)),
    Claim("All methods, GroundTruth too, lose accuracy with more than 400 features (300 true)",
          "Fig. 3(a)", "synthetic", decline),
    Claim("MSLR trains faster than l1-LR on dense synthetic data", "Figs. 3(c), 4(c)", "synthetic",
          faster(*L1)),
    Claim("It trains faster there than WLR and GLR", "Figs. 3(c), 4(c)", "synthetic",
          faster(*WLR, *GLR)),
    Claim("GLR is the most expensive with more than 100 features (300 true)", "Fig. 3(c)",
          "synthetic", most_expensive),
    Claim("The outer objective converges within several iterations", "Fig. 5", "convergence",
          convergence),
    Claim("100 % on Leukemia with eight features", "Fig. 6(a)", "real", eight_genes),
    Claim("On real data MSLR is in general more accurate than l1-LR with the same number of "
          "features", "Fig. 6", "real", real_accuracy(*L1)),
    Claim("It is slightly more accurate there than WLR and GLR", "Fig. 6", "real",
          real_accuracy(*WLR, *GLR)),
    Claim("l1-LR is the fastest on very sparse data, MSLR on dense data", "Fig. 7", "real",
          real_time),
    Claim("MSLR is faster than WLR and GLR in most cases", "Fig. 7", "real",
          faster(*WLR, *GLR)),
    Claim("MSLR is 10 to 500 times faster than FGM-SVM and FGM-LR", "section IV-B, Fig. 7", "real",
          against_fgm),
    Claim("MSLR, FGM-SVM and FGM-LR have very close accuracy under the same sparsity",
          "section IV-B, Fig. 6", "real", fgm_accuracy),
    Claim("The training time of MSLR is much less sensitive to r", "section IV-B, Fig. 7", "real",
          growth_in_r),
    Claim("The number of features of MSLR is easily controlled by r; with l1-LR it is hard to "
          "reach a wanted number", "section IV-B", "real", control),
    Claim("MSLR is relatively insensitive to C in {5, 10, 20}, in accuracy and time", "Fig. 8",
          "sensitivity", sensitivity(5.0, 10.0, 20.0)),
    Claim("(Not claimed by the paper.) The same from C = 0.1 to 100", "Fig. 8, wider",
          "sensitivity", sensitivity(0.1, 1.0, 10.0, 100.0)),
    Claim("MSLR outperforms l1-LR with the same number of features", "Tables II, III", "tables",
          tables("")),
    Claim("It does so significantly, by the test that the paper's p-values can be of",
          "Tables II, III", "tables", tables("rank_sum")),
    Claim("(Not claimed by the paper.) It does so significantly, by the test for paired samples",
          "Tables II, III", "tables", tables("signed_rank")),
    Claim("(Not claimed by the paper.) WLR, and GLR where it was run, outperform l1-LR there too",
          "Tables II, III", "tables", tables("", (*WLR, *GLR))),
    Claim("The p-values of the tables (1.81E-4 to 1.83E-4) are of the Wilcoxon test",
          "Tables II, III", "tables", printed_p),
    Claim("The smoothing coordinate descent with q0 = 1/100 and beta = 5/3 solves the inner "
          "problem (real data)", "section III", "real", smoothing("published")),
    Claim("The same on synthetic data", "section III", "synthetic", smoothing("published")),
    Claim("Smoothing coordinate descent with a schedule of q that follows the gap (ours) solves "
          "the inner problem (real data)", "section III", "real", smoothing("smoothing")),
)  # fmt: skip


def main() -> None:
    """Write mslr.json and mslr.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=common.RESULTS / "papers")
    folder = parser.parse_args().results
    files: dict[str, Row] = {}
    for script in SCRIPTS:
        if found := common.earlier(folder, f"mslr_{script}"):
            if not {"machine", "options", "runs"} <= set(found):
                _of_another_version(folder, script)
            files[script] = found
    if not files:
        sys.exit(f"{folder} has no mslr_*.json: run the other scripts of this folder first.")
    summary: list[list[Any]] = []
    details: list[str] = []
    for number, claim in enumerate(CLAIMS, start=1):
        try:
            answer, checks = claim.judge(files)
        except (KeyError, TypeError):
            _of_another_version(folder, claim.script)
        by_variant = [
            verdict([check.holds for check in checks if check.method == key]) for key in MSLR_KEYS
        ]
        summary.append([number, claim.words, claim.where, f"**{answer}**", *by_variant])
        details.append(f"## {number}. {claim.words}\n\n{claim.where}; `mslr_{claim.script}.py`: "
                       f"**{answer}**.")  # fmt: skip
        if checks:
            words = {True: "yes", False: "**no**", None: "open"}
            rows = [[c.what, c.measured, words[c.holds]] for c in checks]
            details.append(common.table(["check", "measured", "holds"], rows))
        else:
            details.append("No result file has what this needs.")
    for name in mslr.missing_methods():
        untested = f"**{NOT_TESTED}**: no such method here"
        row = ["-", f"every comparison with {name}", "Figs. 3, 4, 6, 7", untested]
        summary.append(row + ["-"] * len(MSLR_KEYS))
    text = [
        "# Minimax sparse logistic regression: the paper's claims, measured here",
        "Tan, Tsang and Wang, IEEE TNNLS 24(10), 2013. Written by "
        "`benchmarks/papers/mslr_report.py` from the files below; no verdict is written by hand."
        "\n\n" + (__doc__ or "").split("\n\n", 2)[2].strip(),
        _runs_table(files),
        common.table(HEADER, summary),
        *details,
    ]
    figures = {"claims": [dict(zip(HEADER, line, strict=True)) for line in summary]}
    common.write(folder, "mslr", figures, "\n\n".join(text), package=False)


def _of_another_version(folder: Path, script: str) -> NoReturn:
    sys.exit(f"{folder / f'mslr_{script}'}.json lacks what this report reads: it is of another "
             f"version. Run mslr_{script}.py again.")  # fmt: skip


def _runs_table(files: dict[str, Row]) -> str:
    rows: list[list[Any]] = []
    for script in SCRIPTS:
        if script not in files:
            rows.append([f"mslr_{script}", "not run", "-", "-", "-", "-"])
            continue
        how, machine = files[script]["options"], files[script]["machine"]
        errors = sum("error" in row for row in files[script]["runs"])
        rows.append(
            [
                f"[mslr_{script}](mslr_{script}.md)",
                how["size"],
                how["seeds"],
                f"{how['limit']:g} s",
                f"{len(files[script]['runs'])} ({errors} without an answer)",
                f"{machine['date']}, {machine['cpu']}, load {machine['load_at_start']}",
            ]
        )
    header = ["script", "size", "seeds", "limit", "rows", "machine"]
    return common.table(header, rows)


if __name__ == "__main__":
    sys.exit(main())
