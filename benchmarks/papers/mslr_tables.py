"""Tables II and III: l1-LR against MSLR over ten random splits, with a Wilcoxon test.

The paper: RCV1 (both parts merged) and real-sim, ten random 70/30 splits. l1-LR at several C gives
numbers of features #, MSLR gets r = # / T_m. Mean and standard deviation of the test accuracy, and
the p-value of "the Wilcoxon test", about 1.83E-4 in every column.

Here: rcv1_small merged (1500 rows) for RCV1; pcmac, and with `--full` news20ng merged, for
real-sim. C of l1-LR: fixed multiples of the smallest useful C of the first split. On every split
the other methods (MSLR, and WLR, which the paper has in its figures) select exactly as many
features as l1-LR did there. GLR, which needs a scan and a fit for each of up to 500 features, takes
most of an hour more: `--methods l1,l1-tight,glr,glr-ridge`. Both tests that bear the name are
computed: signed-rank (exact, for paired samples, as accuracies on the same splits are) and rank-sum
(normal approximation with continuity correction, for independent samples). Ten pairs allow a
signed-rank p of 0.00195 at the least; 1.83E-4 is the least of the rank-sum test with ten against
ten.

    python benchmarks/papers/mslr_tables.py            # small
    python benchmarks/papers/mslr_tables.py --full
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import _mslr as mslr
from _mslr import METHODS, Curve, Panel, Parts, Row, Set

DEFAULT = "l1,l1-tight,newton,published,wlr"


@dataclass(frozen=True)
class Table:
    """A table: which set, and the C of l1-LR as multiples of the smallest useful one."""

    stands_for: str
    read: Callable[[Path, int], Parts]
    multiples: tuple[float, ...]


TABLES = {
    "rcv1_small": Table("RCV1", mslr.random_split("rcv1_small", 0.7), (9, 14, 20, 30, 45, 70)),
    "pcmac": Table("real-sim", mslr.random_split("pcmac", 0.7), (30, 50, 80, 120, 200, 350)),
    "news20ng": Table("real-sim", mslr.random_split("news20ng", 0.7), (12, 18, 25, 35, 50, 70)),
}
BY_SIZE = {"tiny": "pcmac", "small": "rcv1_small,pcmac", "full": "rcv1_small,pcmac,news20ng"}


def main() -> None:
    """Measure and write mslr_tables.json, .md and .png."""
    chosen = mslr.options(__doc__, DEFAULT, seeds=10, limit=60.0)
    names = mslr.pick("--sets", chosen.sets or BY_SIZE[chosen.size], TABLES)
    folder = mslr.folder_of(chosen.data, names)
    bases = [key for key in chosen.keys if METHODS[key].by_penalty]
    others = [key for key in chosen.keys if key not in bases]
    if not bases or not others:
        sys.exit("--methods: give l1 or l1-tight, and at least one method to compare with it.")
    if chosen.seeds < 2:
        sys.exit("--seeds: give at least 2, as the tests compare the splits.")
    rows: list[Row] = []
    for name in names:
        rows += _measure(name, TABLES[name], folder, bases, others, chosen)
    tests = [
        compare(rows, name, base, key, multiple)
        for name in names
        for base in bases
        for key in others
        for multiple in sorted({row["multiple"] for row in rows if row["set"] == name})
    ]
    floors = least_p(chosen.seeds)
    text = [mslr.introduction(__doc__, chosen)]
    for name in names:
        for base in bases:
            text += [
                f"## {name} (for {TABLES[name].stands_for}), {METHODS[base].label}",
                _table(tests, name, base),
            ]
    text += [
        f"With {chosen.seeds} splits the smallest possible p is {floors['signed_rank']:.3g} "
        f"(signed-rank, exact) and {floors['rank_sum']:.3g} (rank-sum).",
    ]
    panels = [
        Panel(f"{name} (for {TABLES[name].stands_for}), sizes of {METHODS[base].label}",
              "# selected features", "test accuracy (%)", _lines(tests, name, base, others))
        for name in names for base in bases
    ]  # fmt: skip
    title = "Tables II and III: mean accuracy over random splits"
    if mslr.draw(chosen.results / "mslr_tables.png", title, panels, columns=max(len(bases), 1)):
        text.insert(1, "![Tables II and III](mslr_tables.png)")
    figures = mslr.record(chosen, runs=rows, tests=tests, least_p=floors)
    mslr.common.write(chosen.results, "mslr_tables", figures, "\n\n".join(text))
    chosen.kept.close()


def _measure(
    name: str, table: Table, folder: Path, bases: list[str], others: list[str], chosen: Any
) -> list[Row]:
    one = Set(table.stands_for, "", table.read, (), sparse=True)
    multiples = table.multiples if chosen.size != "tiny" else table.multiples[:2]
    rows: list[Row] = []
    smallest = None
    for seed in range(mslr.FIRST_SEED, mslr.FIRST_SEED + chosen.seeds):
        data = one.load(name, folder, seed)
        smallest = smallest or mslr.smallest_C(data)
        for base, multiple in product(bases, multiples):
            tags = {"seed": seed, "multiple": multiple, "base": base}
            C = multiple * smallest
            baseline = mslr.one(base, METHODS[base], data, C, chosen.limit, **tags)
            rows.append(baseline)
            if not baseline.get("n_features"):
                continue
            for key in others:
                rows += mslr.measure(data, [key], (baseline["n_features"],), chosen, **tags)
    return rows


def compare(rows: list[Row], name: str, base: str, key: str, multiple: float) -> Row:
    """Compare a method with l1-LR (`base`) on the splits where both have an answer."""
    where = {"set": name, "base": base, "multiple": multiple}
    here = [row for row in rows if all(row[k] == v for k, v in where.items())]
    pairs = [
        (theirs["accuracy"], mine["accuracy"], theirs["n_features"])
        for theirs in mslr.ok(here, method=base)
        for mine in mslr.ok(here, method=key, seed=theirs["seed"])
    ]
    errors = sorted(
        {row["error"] for row in here if "error" in row and row["method"] in (base, key)}
    )
    result: Row = {**where, "method": key, "splits": len(pairs)}
    if errors:
        result["error"] = errors[0]
    if len(pairs) < 2:
        return result
    l1, mine, count = (np.array(column) for column in zip(*pairs, strict=True))
    return result | {
        "n_features": count.mean(),
        "l1": [l1.mean(), l1.std(ddof=1)],
        "mslr": [mine.mean(), mine.std(ddof=1)],
        **p_values(l1, mine),
    }


def p_values(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """Return the two-sided p of both tests that are called Wilcoxon's; ties are approximated."""
    signed = 1.0 if np.array_equal(a, b) else float(stats.wilcoxon(a, b).pvalue)
    ranked = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=True)
    return {"signed_rank": signed, "rank_sum": float(ranked.pvalue)}


def least_p(n: int) -> dict[str, float]:
    """Return the smallest p that n splits can give: every value of one sample above the other."""
    low = np.arange(1.0, n + 1.0)
    return p_values(low, low * 1.5 + 2.0 * n)


def _table(tests: list[Row], name: str, base: str) -> str:
    lines = []
    for test in tests:
        if (test["set"], test["base"]) != (name, base):
            continue
        label = METHODS[test["method"]].label
        if "l1" not in test:
            lines.append([label, "-", "-", "-", "-", "-", test.get("error", "too few splits")])
            continue
        lines.append(
            [
                label,
                f"{test['n_features']:.0f}",
                *(f"{100 * test[k][0]:.2f} ± {100 * test[k][1]:.2f}" for k in ("l1", "mslr")),
                f"{test['signed_rank']:.3g}",
                f"{test['rank_sum']:.3g}",
                f"{test['splits']}" + (f"; {test['error']}" if "error" in test else ""),
            ]
        )
    header = ["method", "#", "l1-LR (%)", "the method (%)", "signed-rank p", "rank-sum p", "splits"]
    return mslr.common.table(header, lines)


def _lines(tests: list[Row], name: str, base: str, others: list[str]) -> list[Curve]:
    lines = []
    for key in (base, *others):
        shown = others[0] if key == base else key  # every test has the values of the base
        mine = [
            test
            for test in tests
            if (test["set"], test["base"], test["method"]) == (name, base, shown) and "l1" in test
        ]
        x = [test["n_features"] for test in mine]
        y = [100 * test["l1" if key == base else "mslr"][0] for test in mine]
        method = METHODS[key]
        lines.append(Curve(method.label, x, y, method.colour, method.marker))
    return lines


if __name__ == "__main__":
    sys.exit(main())
