"""Convergence of ISTA, ISTA-L, FISTA and FISTA-C: Fig. 4 of Xiang, Yang and Ye (KDD 2014).

The paper: random A (n x p) and y, groups of 100 features, s2 = 10 % and 20 % of the groups, s1 = 5
s2 features; the objective 1/2 ||Ax - y||^2 by iteration, to 100, and the seconds of each variant.
It shows one draw of each of four sizes, and says that the start of the step by Barzilai and Borwein
pays, and that ISTA-L and FISTA are best, "particularly for large data sets and large number of
selected groups/features". Its Table 1, restored: ISTA is BB with the criterion of sufficient
decrease, ISTA-L is BB with the Lipschitz criterion, FISTA the same with acceleration, FISTA-C that
with a constant first step.

Here: A and y standard normal (y ten times that), the same draws for all variants, ten of them (four
at 20,000 features, two at 50,000); no intercept, no ridge. Runs end where the objective falls by
less than 1e-6 of itself three times in a row, at most at iteration 300. Of accelerated runs the
best objective so far counts. The floor of the step is a share of the mean curvature, not 1. Seconds
are CPU seconds of one thread, A in column order in memory. "default" is `BilevelRegressor` with its
default solver, a search in pools of candidates, which has no steps to compare.

    python benchmarks/papers/bilevel_convergence.py              # the sizes of the paper
    python benchmarks/papers/bilevel_convergence.py --tiny       # seconds: does the script run
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from _mslr import Curve, Panel, common, draw
from zeronorm.core.groups import Groups
from zeronorm.data.gathered import as_columns
from zeronorm.losses import LeastSquares
from zeronorm.published import BilevelRegressor
from zeronorm.solvers import Risk
from zeronorm.solvers.bilevel_budget import BilevelBudget
from zeronorm.solvers.l0 import VARIANTS, Objective, Thresholding

Row = dict[str, Any]
SIZES = ((100, 2000), (100, 5000), (1000, 20_000), (1000, 50_000))
TINY = ((50, 500),)
FEWER = {20_000: 4, 50_000: 2}  # draws at most, which take minutes
SHARES = (0.1, 0.2)  # of the groups
GROUP = 100
SHOWN = 100  # iterations of the figure
MAX_ITER = 300
TOL = 1e-6
SAME = 1e-3  # relative difference of objectives that are the same
COLOURS = {
    "ista": ("ISTA", "tab:red"),
    "ista-l": ("ISTA-L", "tab:blue"),
    "fista": ("FISTA", "black"),
    "fista-c": ("FISTA-C", "tab:green"),
}


def problem(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A in F order and y."""
    rng = np.random.default_rng(seed)
    return np.asfortranarray(rng.standard_normal((p, n)).T), 10.0 * rng.standard_normal(n)


def converge(A: np.ndarray, y: np.ndarray, budget: BilevelBudget, variant: str) -> Row:
    """Return the objective of the best point and the seconds after every iteration."""
    objective = Objective(Risk(y, np.ones(y.size), LeastSquares(), intercept=False), 0.0)
    begin, columns = time.process_time(), as_columns(A)
    state = Thresholding(objective, budget.support, VARIANTS[variant], TOL)
    values, seconds = [state.best.objective], [0.0]
    for _ in range(MAX_ITER):
        more = state.step(A.T @ state.vector, columns.take)
        values.append(state.best.objective)
        seconds.append(time.process_time() - begin)
        if not more:
            break
    return {"objective": values, "seconds": seconds, "converged": len(values) <= MAX_ITER}


def default(A: np.ndarray, y: np.ndarray, k: int, g: int, codes: np.ndarray) -> Row:
    """Return where the default solver ends."""
    begin = time.process_time()
    model = BilevelRegressor(
        k, g, feature_groups=codes, fit_intercept=False, standardize=False, n_threads=1
    ).fit(A, y)
    seconds = time.process_time() - begin
    value = 0.5 * float(np.sum((y - A @ model.coef_) ** 2))
    return {"objective": [value], "seconds": [seconds], "converged": True}


def runs(sizes: Sequence[tuple[int, int]], seeds: int) -> list[Row]:
    """Return a row for every run."""
    rows: list[Row] = []
    for n, p in sizes:
        codes = np.arange(p) // GROUP
        for seed in range(min(seeds, FEWER.get(p, seeds))):
            A, y = problem(n, p, seed)
            for share in SHARES:
                g = max(1, round(share * p / GROUP))
                budget = BilevelBudget(5 * g, g, Groups.of(codes, p))
                with common.log(f"({n}, {p}), {share:g}, seed {seed}"):
                    for variant in VARIANTS:
                        row = converge(A, y, budget, variant)
                        rows.append(
                            {"size": [n, p], "share": share, "seed": seed, "run": variant, **row}
                        )
                    row = default(A, y, 5 * g, g, codes)
                    rows.append(
                        {"size": [n, p], "share": share, "seed": seed, "run": "default", **row}
                    )
    return rows


# ------------------------------------------------------------------------------------- tables


def of(rows: Sequence[Row], size: Sequence[int], share: float, run: str) -> list[Row]:
    """Return the runs of one setting, a row for each seed."""
    return [
        row for row in rows
        if row["size"] == list(size) and row["share"] == share and row["run"] == run
    ]  # fmt: skip


def last(row: Row, iteration: int | None = None) -> float:
    """Return the objective at an iteration (where the run had ended, its last)."""
    values = row["objective"]
    return float(values[-1] if iteration is None else values[min(iteration, len(values) - 1)])


def median(rows: Sequence[Row], value: Any) -> float:
    """Return the median over the draws."""
    return float(np.median([value(row) for row in rows]))


def within(row: Row, level: float, what: str) -> float:
    """Return the iteration, or the seconds, from which the objective is at most the level."""
    below = np.flatnonzero(np.array(row["objective"]) <= level)
    if not below.size:
        return math.inf
    return float(below[0] if what == "iterations" else row["seconds"][below[0]])


def settings(rows: Sequence[Row]) -> list[tuple[tuple[int, ...], float]]:
    """Return (size, share) of all settings, in order."""
    return list(dict.fromkeys((tuple(row["size"]), row["share"]) for row in rows))


def setting_table(rows: Sequence[Row], size: Sequence[int], share: float) -> str:
    """Return the table of one setting."""
    body = []
    found = {run: of(rows, size, share, run) for run in (*VARIANTS, "default")}
    wins = [min(VARIANTS, key=lambda v: last(found[v][i])) for i in range(len(found["ista"]))]
    for run, mine in found.items():
        name = COLOURS[run][0] if run in COLOURS else "default"
        plain = run in COLOURS
        body.append(
            [
                name,
                f"{median(mine, lambda r: last(r, SHOWN)):.5g}" if plain else "-",
                f"{median(mine, last):.5g}",
                f"{median(mine, lambda r: len(r['objective']) - 1):.0f}" if plain else "-",
                f"{sum(row['converged'] for row in mine)} of {len(mine)}",
                f"{median(mine, lambda r: r['seconds'][-1]):.3f}",
                wins.count(run) if plain else "-",
            ]
        )
    header = ["variant", f"objective at {SHOWN}", "last objective", "iterations", "converged",
              "CPU s", "lowest of the four in draws"]  # fmt: skip
    return common.table(header, body)


def claims(rows: Sequence[Row]) -> list[Row]:
    """Return what the paper says, with the settings where it is seen."""
    found: list[Row] = []
    places = settings(rows)

    def medians(value: Any) -> list[dict[str, float]]:
        return [{v: median(of(rows, *place, v), value) for v in VARIANTS} for place in places]

    def add(claim: str, holds: list[bool], measured: list[str]) -> None:
        found.append({"claim": claim, "holds": sum(holds), "of": len(holds),
                      "measured": "; ".join(measured)})  # fmt: skip

    ends = medians(lambda r: last(r, SHOWN))
    iterations = medians(lambda r: len(r["objective"]) - 1)
    seconds = medians(lambda r: r["seconds"][-1])
    add(
        f"BB pays: FISTA is at iteration {SHOWN} lower than FISTA-C",
        [e["fista"] < e["fista-c"] * (1 - SAME) for e in ends],
        [f"{e['fista']:.4g} against {e['fista-c']:.4g}" for e in ends],
    )
    add(
        "BB pays: FISTA needs fewer iterations than FISTA-C",
        [e["fista"] < e["fista-c"] for e in iterations],
        [f"{e['fista']:.0f} against {e['fista-c']:.0f}" for e in iterations],
    )
    add(
        "BB pays: FISTA needs less time than FISTA-C",
        [e["fista"] < 0.95 * e["fista-c"] for e in seconds],
        [f"{e['fista']:.3f} against {e['fista-c']:.3f} s" for e in seconds],
    )
    for variant in ("ista-l", "fista"):
        name = COLOURS[variant][0]
        add(
            f"{name} is as low as any variant at iteration {SHOWN} (to {SAME:.1%})",
            [e[variant] <= min(e.values()) * (1 + SAME) for e in ends],
            [f"{e[variant] / min(e.values()) - 1:+.1%}" for e in ends],
        )
    for variant, other in (("ista-l", "ista"), ("fista", "ista")):
        add(
            f"{COLOURS[variant][0]} is lower than ISTA at iteration {SHOWN}",
            [e[variant] < e[other] * (1 - SAME) for e in ends],
            [f"{e[variant] / e[other] - 1:+.1%}" for e in ends],
        )
    return found


def claims_table(found: Sequence[Row]) -> str:
    """Return the table of the claims."""
    lines = []
    for check in found:
        verdict = {0: "no", check["of"]: "yes"}.get(check["holds"], "in part")
        lines.append(
            [check["claim"], check["measured"],
             f"**{verdict}** ({check['holds']} of {check['of']})"]
        )  # fmt: skip
    return common.table(["what", "measured, by setting", "holds"], lines)


def ranking(rows: Sequence[Row]) -> str:
    """Return over all draws of a setting the mean rank and the mean excess of every variant."""
    body = []
    for size, share in settings(rows):
        found = [of(rows, size, share, variant) for variant in VARIANTS]
        values = np.array([[last(row) for row in mine] for mine in found])  # (4, draws)
        ranks = values.argsort(0).argsort(0) + 1
        excess = values / values.min(0) - 1.0
        best = [last(row) for row in of(rows, size, share, "default")]
        gain = float(np.median(np.array(best) / values.min(0) - 1.0))
        pairs = zip(ranks.mean(1), np.median(excess, 1), strict=True)
        cells = [f"{rank:.1f} ({100 * more:+.1f} %)" for rank, more in pairs]
        body.append([f"{size[0]} x {size[1]}, {share:.0%}", *cells, f"{100 * gain:+.1f} %"])
    header = ["setting", *(COLOURS[variant][0] for variant in VARIANTS), "default"]
    return common.table(header, body)


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Return the objective by iteration and by seconds, a row of panels for each setting."""
    result = []
    for size, share in settings(rows):
        title = f"{size[0]} x {size[1]}, {share:.0%} of the groups"
        curves, timed = [], []
        for variant, (name, colour) in COLOURS.items():
            mine = of(rows, size, share, variant)
            steps = np.arange(1, SHOWN + 1)
            middle = [median(mine, lambda r, i=i: last(r, i)) for i in steps]
            curves.append(Curve(name, steps, np.array(middle), colour, ""))
            row = sorted(mine, key=lambda r: last(r))[len(mine) // 2]
            spent = 1000.0 * np.array(row["seconds"][1:])
            timed.append(Curve(name, spent, row["objective"][1:], colour, ""))
        result.append(Panel(title, "iteration", "objective, median", curves, True))
        result.append(Panel(title, "CPU ms", "objective, middle draw", timed, True))
    return result


def main() -> None:
    """Measure and write bilevel_convergence.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument(
        "--seeds", type=int, default=10, help="draws of a size (fewer of the large)"
    )
    chosen = parser.parse_args()
    common.one_thread()
    sizes, seeds = (TINY, 2) if chosen.tiny else (SIZES, chosen.seeds)
    machine = common.machine()
    rows = runs(sizes, seeds)
    found = claims(rows)
    title, _, about = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", about.strip().partition("\n\n    python")[0]]
    if draw(
        chosen.results / "bilevel_convergence.png", "Fig. 4: objective by iteration and by time",
        panels(rows), columns=4,
    ):  # fmt: skip
        text.append("![Fig. 4](bilevel_convergence.png)")
    listed = ", ".join(f"{n} x {p} ({share:.0%})" for (n, p), share in settings(rows))
    text += [
        "## What the paper says",
        f"Measured values are medians over the draws, in the order of the settings: {listed}.",
        claims_table(found),
        "## Ranking",
        "Mean rank of the last objective over the draws (1 is the lowest of the four); in brackets "
        "the median excess over the lowest of the draw. The last column is the default solver "
        "beside the lowest of the four.",
        ranking(rows),
        "## Setting by setting",
    ]
    for size, share in settings(rows):
        draws = len(of(rows, size, share, "ista"))
        g = max(1, round(share * size[1] / GROUP))
        text += [
            f"### {size[0]} x {size[1]}, {5 * g} features of {g} groups, {draws} draws",
            setting_table(rows, size, share),
        ]
    kept = [
        row | {key: [float(f"{v:.6g}") for v in row[key][: SHOWN + 1]] + [row[key][-1]]
               for key in ("objective", "seconds")} | {"iterations": len(row["objective"]) - 1}
        for row in rows
    ]  # fmt: skip
    figures = {
        "machine": machine, "options": {"sizes": sizes, "seeds": seeds}, "claims": found,
        "runs": kept,
    }  # fmt: skip
    common.write(chosen.results, "bilevel_convergence", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
