"""Claim by claim: what the paper says, and what the other scripts of this folder measured.

    python benchmarks/papers/mslr_report.py                     # reads results/papers/*.json
    python benchmarks/papers/mslr_report.py --results DIR

A claim has checks, each computed from the JSON files by the rule that stands beside it. The verdict
is "holds" where all checks that could be computed do, "does not hold" where none does, "holds in
part" otherwise, "not tested" without any; the numbers are those of the checks that hold and of all.
It is also given for each variant of MSLR by itself. Values between measured numbers of features are
interpolated, and nothing is extrapolated. A selection over the limit counts as at least as slow as
the limit in ratios of seconds. Verdicts speak of the sizes that were run: the table below says
which.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import _mslr as mslr
from _mslr import METHODS, MSLR_KEYS, Row

SCRIPTS = ("scale", "synthetic", "convergence", "real", "sensitivity", "tables")
NOT_TESTED = "not tested"
CLOSE = 0.01  # accuracies that count as equal
FGM = ("fgm-lr", "fgm-svm")
# LIBLINEAR at two tolerances, and the same problem solved by our path.
L1 = ("l1", "l1-tight", "l1-path")


@dataclass(frozen=True)
class Check:
    """One measured statement."""

    what: str  # with its rule
    measured: str
    holds: bool
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


def verdict(holds: Sequence[bool]) -> str:
    """Return the verdict of some checks."""
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


def spread(found: dict[float, float], form: Callable[[float], str]) -> str:
    """Return the mean and the range of some differences."""
    values = list(found.values())
    return f"mean {form(float(np.mean(values)))}, {form(min(values))} to {form(max(values))}"


# --------------------------------------------------------------------------------------- Fig. 1


def scale_variation(file: Row) -> Iterator[Check]:
    """Fig. 1: equal at tau = 0, MSLR better where the tail is long."""
    runs = file["runs"]
    for key in present(runs, MSLR_KEYS):
        for tau in sorted({row["tau"] for row in runs}):
            here = [mslr.ok(runs, method=name, tau=tau) for name in (key, "l1-search")]
            if not all(here) or 0.0 < tau < 1.0:
                continue
            mine, l1 = (
                {v: float(np.mean([row[v] for row in rows])) for v in ("accuracy", "recovered")}
                for rows in here
            )
            accuracy = mine["accuracy"] - l1["accuracy"]
            recovered = mine["recovered"] - l1["recovered"]
            measured = f"{points(accuracy)}, {recovered:+.1f} recovered"
            label = f"{METHODS[key].label} minus l1-LR, tau = {tau:g}"
            if tau == 0.0:
                rule = f": accuracies within {100 * CLOSE:g} point"
                yield Check(label + rule, measured, abs(accuracy) <= CLOSE, key)
            else:
                rule = ": more accurate and more recovered"
                yield Check(label + rule, measured, accuracy > 0 and recovered > 0, key)


# ---------------------------------------------------------------------------------- Figs. 3 and 4


def synthetic(name: str, beyond: bool) -> Callable[[Row], Iterator[Check]]:
    """Accuracy and recovery against l1-LR, at all numbers of features or beyond the true one."""

    def check(file: Row) -> Iterator[Check]:
        runs = [row for row in file["runs"] if row["set"] == name]
        informative = file["shapes"][name][2]
        least = float(informative) - 1 if beyond else 0.0
        forms = {"accuracy": points, "recovered": lambda x: f"{x:+.1f}"}
        for key, other in product(present(runs, MSLR_KEYS), L1):
            for value, form in forms.items():
                found = differences(runs, name, key, other, value, least)
                if not found:
                    continue
                better = sum(x >= 0 for x in found.values())
                # "best with more than 300": everywhere; "generally": at most sizes.
                rule = "at all" if beyond else "at more than half"
                yield Check(
                    f"{METHODS[key].label}, {value} at least that of {METHODS[other].label} {rule} "
                    f"numbers of features{f' from {informative}' if beyond else ''}",
                    f"{better} of {len(found)}; {spread(found, form)}",
                    better == len(found) if beyond else better > len(found) / 2,
                    key,
                )

    return check


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
                f"than the best up to {limit:.0f}",
                f"{points(fall)} at {k[-1]:.0f} features",
                fall < 0,
                key,
            )


def ratios(runs: list[Row], name: str, key: str, other: str) -> tuple[list[float], int]:
    """Return seconds of `other` / seconds of `key` at equal numbers of features.

    The second part is how many of them are lower bounds, where `other` was over the limit.
    """
    if METHODS[other].by_penalty:
        theirs = mslr.curve(runs, "seconds", set=name, method=other)
        mine = mslr.curve(runs, "seconds", set=name, method=key)
        pairs = [(float(s), mslr.at(theirs, float(k))) for k, s in zip(*mine, strict=True)]
        return [there / s for s, there in pairs if there is not None], 0
    found, bounds = [], 0
    for row in mslr.ok(runs, set=name, method=key):
        same = {"set": name, "method": other, "seed": row["seed"], "asked": row["asked"]}
        for there in runs:
            if any(there.get(k) != v for k, v in same.items()):
                continue
            if there.get("seconds") is not None:
                found.append(there["seconds"] / row["seconds"])
            elif there.get("error", "").startswith("over"):
                found.append(there["limit"] / row["seconds"])
                bounds += 1
    return found, bounds


def describe(found: list[float], bounds: int = 0) -> str:
    """Return the median and the range of some ratios."""
    middle = mslr.common.median(found)
    text = f"median {middle:.3g}, {min(found):.3g} to {max(found):.3g}"
    return text + (f", {bounds} of {len(found)} lower bounds (over the limit)" if bounds else "")


def faster_synthetic(file: Row) -> Iterator[Check]:
    """Figs. 3(c), 4(c): MSLR is faster than l1-LR."""
    for name in names(file["runs"]):
        for key in present(file["runs"], MSLR_KEYS):
            for other in L1:
                found, bounds = ratios(file["runs"], name, key, other)
                if found:
                    yield Check(
                        f"{name}: median of seconds of {METHODS[other].label} / "
                        f"{METHODS[key].label} above 1",
                        describe(found, bounds),
                        mslr.common.median(found) > 1,
                        key,
                    )


# --------------------------------------------------------------------------------------- Fig. 5


def convergence(file: Row) -> Iterator[Check]:
    """Fig. 5: the relative change falls below 1e-2 within ten iterations."""
    for row in mslr.ok(file["runs"]):
        if "change" not in row:
            continue
        label = f"{row['set']}, {METHODS[row['method']].label}"
        change = np.array(row["change"])
        small = np.flatnonzero(change < 1e-2)
        last = min(10, len(change))
        if not small.size and last < 10 and row["status"] == "MAX_BLOCKS":
            continue  # too short a run to tell
        first = f"first at t = {small[0] + 1}" if small.size else "never"
        gap = row["outer_gap"][last - 1]
        above = row["above_optimum"][last - 1]
        yield Check(
            f"{label}: relative change below 1e-2 within ten iterations",
            f"{first}; at t = {last}: {above:.1e} above f*, certified outer gap {gap:.1e}",
            bool(small.size) and int(small[0]) < 10,
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


def real_accuracy(file: Row) -> Iterator[Check]:
    """Fig. 6: better than l1-LR at most numbers of features."""
    for name in names(file["runs"]):
        for key, other in product(present(file["runs"], MSLR_KEYS), L1):
            found = differences(file["runs"], name, key, other, "accuracy")
            if found:
                better = sum(x >= 0 for x in found.values())
                yield Check(
                    f"{name}, {METHODS[key].label}: at least as accurate as "
                    f"{METHODS[other].label} at more than half the numbers of features",
                    f"{better} of {len(found)}; {spread(found, points)}",
                    better > len(found) / 2,
                    key,
                )


def real_time(file: Row) -> Iterator[Check]:
    """Fig. 7: l1-LR is faster on very sparse data, MSLR on dense data."""
    for name in names(file["runs"]):
        sparse = file["sets"][name]["sparse"]
        for key in present(file["runs"], MSLR_KEYS):
            found, _ = ratios(file["runs"], name, key, "l1")
            if found:
                middle = mslr.common.median(found)
                yield Check(
                    f"{name} ({'sparse: below' if sparse else 'dense: above'} 1): median of "
                    f"seconds of l1-LR / {METHODS[key].label}",
                    describe(found),
                    middle < 1 if sparse else middle > 1,
                    key,
                )


def against_fgm(file: Row) -> Iterator[Check]:
    """MSLR is 10 to 500 times faster than both FGM, with close accuracy."""
    for name in names(file["runs"]):
        for key in present(file["runs"], MSLR_KEYS):
            for other in FGM:
                found, bounds = ratios(file["runs"], name, key, other)
                if found:
                    yield Check(
                        f"{name}: median of seconds of {METHODS[other].label} / "
                        f"{METHODS[key].label} at least 10",
                        describe(found, bounds),
                        mslr.common.median(found) >= 10,
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
                        f"{100 * size:.2f} points; {spread(found, points)}",
                        size <= CLOSE,
                        key,
                    )


def growth(runs: list[Row], name: str, key: str) -> float | None:
    """Return the exponent g of seconds ~ k^g between the smallest and the largest k."""
    k, seconds = mslr.curve(runs, "seconds", set=name, method=key)
    if k.size < 2 or not seconds.min() > 0:
        return None
    return math.log(seconds[-1] / seconds[0]) / math.log(k[-1] / k[0])


def growth_in_r(file: Row) -> Iterator[Check]:
    """Check that the time of MSLR depends less on r than that of FGM."""
    for name in names(file["runs"]):
        for key in present(file["runs"], MSLR_KEYS):
            mine = growth(file["runs"], name, key)
            for other in FGM:
                theirs = growth(file["runs"], name, other)
                if mine is not None and theirs is not None:
                    yield Check(
                        f"{name}: seconds ~ k^g, g of {METHODS[key].label} below g of "
                        f"{METHODS[other].label}",
                        f"{mine:.2f} and {theirs:.2f}",
                        mine < theirs,
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


def tables(file: Row) -> Iterator[Check]:
    """MSLR is significantly better than l1-LR at every number of features."""
    for test in file["tests"]:
        if "l1" not in test:
            continue
        gain = test["mslr"][0] - test["l1"][0]
        least = max(file["least_p"].values())
        if least >= 0.05:
            continue  # so few splits can show nothing
        yield Check(
            f"{test['set']}, # = {test['n_features']:.0f}, {METHODS[test['method']].label} against "
            f"{METHODS[test['base']].label}: "
            "better, p < 0.05 in both tests",
            f"{points(gain)}; signed-rank p {test['signed_rank']:.3g}, rank-sum p "
            f"{test['rank_sum']:.3g}",
            gain > 0 and max(test["signed_rank"], test["rank_sum"]) < 0.05,
            test["method"],
        )


def printed_p(file: Row) -> Iterator[Check]:
    """Check that the printed p-values are those of the paired test."""
    least = file["least_p"]
    if file["options"]["seeds"] == 10:
        yield Check(
            "p = 1.83E-4 can come from the signed-rank test of ten pairs (the test for accuracies "
            "on the same splits)",
            f"its least p is {least['signed_rank']:.3g}; that of the rank-sum test of ten against "
            f"ten is {least['rank_sum']:.3g}",
            least["signed_rank"] <= 1.83e-4,
        )


# ------------------------------------------------------------------------------------- smoothing


def smoothing(key: str) -> Callable[[Row], Iterator[Check]]:
    """Every inner problem reaches its certified gap of 1e-3."""

    def check(file: Row) -> Iterator[Check]:
        for name in names(file["runs"]):
            tried = [row for row in file["runs"] if (row["set"], row["method"]) == (name, key)]
            lost = [row["error"] for row in tried if "over" in row.get("error", "")]
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
          synthetic("fig3", beyond=True)),
    Claim("MSLR generally outperforms its competitors where there are more rows", "Fig. 4(a), (b)",
          "synthetic", synthetic("fig4", beyond=False)),
    Claim("All methods, GroundTruth too, lose accuracy with more than 400 features (300 true)",
          "Fig. 3(a)", "synthetic", decline),
    Claim("MSLR trains faster than l1-LR on dense synthetic data", "Figs. 3(c), 4(c)", "synthetic",
          faster_synthetic),
    Claim("The outer objective converges within several iterations", "Fig. 5", "convergence",
          convergence),
    Claim("100 % on Leukemia with eight features", "Fig. 6(a)", "real", eight_genes),
    Claim("On real data MSLR is in general more accurate than l1-LR with the same number of "
          "features", "Fig. 6", "real", real_accuracy),
    Claim("l1-LR is the fastest on very sparse data, MSLR on dense data", "Fig. 7", "real",
          real_time),
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
    Claim("MSLR significantly outperforms l1-LR with the same number of features", "Tables II, III",
          "tables", tables),
    Claim("The p-values of the tables (1.81E-4 to 1.83E-4) are of the Wilcoxon test",
          "Tables II, III", "tables", printed_p),
    Claim("The smoothing coordinate descent with q0 = 1/100 and beta = 5/3 solves the inner "
          "problem (real data)", "section III", "real", smoothing("published")),
    Claim("The same on synthetic data", "section III", "synthetic", smoothing("published")),
    Claim("Smoothing coordinate descent with a schedule of q that follows the gap (ours) solves "
          "the inner problem (real data)", "section III", "real", smoothing("smoothing")),
)  # fmt: skip


def main() -> None:
    """Write mslr.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=mslr.common.RESULTS / "papers")
    folder = parser.parse_args().results
    files: dict[str, Row] = {}
    for script in SCRIPTS:
        path = folder / f"mslr_{script}.json"
        if path.exists():
            files[script] = json.loads(path.read_text())
    if not files:
        sys.exit(f"{folder} has no mslr_*.json: run the other scripts of this folder first.")
    summary: list[list[Any]] = []
    details: list[str] = []
    for number, claim in enumerate(CLAIMS, start=1):
        answer, checks = claim.judge(files)
        by_variant = [
            verdict([check.holds for check in checks if check.method == key]) for key in MSLR_KEYS
        ]
        summary.append([number, claim.words, claim.where, f"**{answer}**", *by_variant])
        details.append(f"## {number}. {claim.words}\n\n{claim.where}; `mslr_{claim.script}.py`: "
                       f"**{answer}**.")  # fmt: skip
        if checks:
            rows = [[c.what, c.measured, "yes" if c.holds else "**no**"] for c in checks]
            details.append(mslr.common.table(["check", "measured", "holds"], rows))
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
        mslr.common.table(
            ["", "the paper says", "where", "verdict", *(METHODS[key].label for key in MSLR_KEYS)],
            summary,
        ),
        *details,
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mslr.md").write_text("\n\n".join(text) + "\n")
    print(f"wrote {folder / 'mslr.md'}", file=sys.stderr)


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
    return mslr.common.table(header, rows)


if __name__ == "__main__":
    sys.exit(main())
