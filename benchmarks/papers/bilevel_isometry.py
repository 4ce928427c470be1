"""Theorem 1 and Fig. 2 of Xiang, Yang and Ye (KDD 2014): how near hard thresholding comes.

The paper: x* is a global optimum, e* = y - Ax*, x_k the k-th iterate of Algorithm 1 with L = 1.
With delta_s the restricted isometry constant of A for s features, and of A for s groups,

    c1 = min(delta_(3 s1), delta_(3 s2 groups)) < 1/2:
        |x_k - x*| <= (2 c1)^k |x_0 - x*| + 2 sqrt(1 + c2) / (1 - 2 c1) |e*|
    c2 = min(delta_(2 s1), delta_(2 s2 groups)) < 1/4:
        |x_k - x*| <= (4 c2)^k |x_0 - x*| + 2 sqrt(1 + c2) / (1 - 4 c2) |e*|

Fig. 2 is a sketch of it: the error falls linearly until x_k is in a ball around x*.

Here: normal A with variance 1/n, 24 columns in 8 groups of 3, s1 and s2 small enough for all
submatrices to be looked at, so that the constants are exact, and x* is found among all supports.
Rows from few (where the premises fail and the theorem says nothing) to many. y = A w + noise, w in
the budgets. Ratios are the largest of error / bound over the iterates after x_0 = 0, up to 1e-13 of
the first error: the theorem says at most 1. The ball has the radius that is left of the first
bound; the error beyond it is to fall by 2 c1 in every iteration.

    python benchmarks/papers/bilevel_isometry.py             # four minutes
    python benchmarks/papers/bilevel_isometry.py --tiny      # seconds: does the script run
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from _mslr import Curve, Panel, common, draw
from zeronorm.published import project_bilevel

Row = dict[str, Any]
P, GROUP = 24, 3
BUDGETS = ((1, 1), (2, 1), (2, 2))  # s1, s2
ROWS = (60, 250, 1000, 4000)
NOISE = (0.0, 0.05, 0.5)
ITERATIONS = 60
CODES = np.arange(P) // GROUP
COLOURS = ("tab:blue", "tab:red", "tab:green")


def constant(gram: np.ndarray, supports: Iterable[Sequence[int]]) -> float:
    """Return the largest |eigenvalue - 1| of the submatrices of supports of one size."""
    index = np.array(list(supports))
    worst = 0.0
    for some in np.array_split(index, len(index) // 20_000 + 1):
        values = np.linalg.eigvalsh(gram[some[:, :, None], some[:, None, :]])
        worst = max(worst, float(np.abs(values[:, [0, -1]] - 1.0).max()))
    return worst


def constants(A: np.ndarray, s1: int, s2: int) -> tuple[float, float]:
    """Return c1 and c2 of the theorem, by enumeration."""
    gram = A.T @ A

    def least(times: int) -> float:
        features = constant(gram, combinations(range(P), min(times * s1, P)))
        groups = combinations(range(P // GROUP), min(times * s2, P // GROUP))
        columns = [np.flatnonzero(np.isin(CODES, some)) for some in groups]
        return min(features, constant(gram, columns))

    return least(3), least(2)


def optimum(A: np.ndarray, y: np.ndarray, s1: int, s2: int) -> np.ndarray:
    """Return the best x of at most s1 features in at most s2 groups, by enumeration."""
    best, found = np.inf, np.zeros(P)
    for size in range(1, s1 + 1):
        for support in map(list, combinations(range(P), size)):
            if np.unique(CODES[support]).size <= s2:
                coef = np.linalg.lstsq(A[:, support], y, rcond=None)[0]
                value = float(np.sum((y - A[:, support] @ coef) ** 2))
                if value < best:
                    best, found = value, np.zeros(P)
                    found[support] = coef
    return found


def iterates(A: np.ndarray, y: np.ndarray, s1: int, s2: int) -> list[np.ndarray]:
    """Return x_0 = 0, x_1, ... of Algorithm 1 with L = 1."""
    points = [np.zeros(P)]
    for _ in range(ITERATIONS):
        x = points[-1]
        points.append(project_bilevel(x + A.T @ (y - A @ x), s1, s2, CODES))
    return points


def bounds(c1: float, c2: float, first: float, rest: float) -> dict[str, np.ndarray]:
    """Return the right sides of the theorem by iteration, where their premises hold."""
    k = np.arange(ITERATIONS + 1)
    radius = 2.0 * np.sqrt(1.0 + c2) * rest
    rates = {"first": (2.0 * c1, c1 < 0.5), "second": (4.0 * c2, c2 < 0.25)}
    return {name: rate**k * first + radius / (1.0 - rate)
            for name, (rate, holds) in rates.items() if holds}  # fmt: skip


def draws(rows: Sequence[int], seeds: int) -> list[Row]:
    """Return a row for every design, budget and noise."""
    found: list[Row] = []
    for s1, s2 in BUDGETS:
        for n in rows:
            for seed in range(seeds):
                rng = np.random.default_rng([seed, n, s1, s2])
                A = rng.standard_normal((n, P)) / np.sqrt(n)
                w = project_bilevel(rng.standard_normal(P) * 2.0, s1, s2, CODES)
                c1, c2 = constants(A, s1, s2)
                for noise in NOISE:
                    y = A @ w + noise * rng.standard_normal(n) / np.sqrt(n)
                    best = optimum(A, y, s1, s2)
                    errors = np.array([np.linalg.norm(x - best) for x in iterates(A, y, s1, s2)])
                    rest = float(np.linalg.norm(y - A @ best))
                    right = bounds(c1, c2, errors[0], rest)
                    radius = 2.0 * np.sqrt(1.0 + c2) * rest / max(1.0 - 2.0 * c1, 1e-300)
                    beyond = np.maximum(errors - radius, 0.0)
                    slower = beyond[1:] > 2.0 * c1 * beyond[:-1] + 1e-13 * errors[0]
                    ratio = {
                        name: float((errors / (one + 1e-13 * errors[0]))[1:].max())
                        for name, one in right.items()
                    }
                    found.append({
                        "s1": s1, "s2": s2, "n": n, "seed": seed, "noise": noise,
                        "c1": c1, "c2": c2, "ratio": ratio, "linear": not slower.any(),
                        "radius": float(radius), "last": float(errors[-1]),
                        "errors": errors.tolist(),
                        "bound": {name: one.tolist() for name, one in right.items()},
                    })  # fmt: skip
    return found


def settings_table(rows: Sequence[Row]) -> str:
    """Return a line for every budget and number of rows."""
    lines = []
    for s1, s2 in BUDGETS:
        for n in sorted({row["n"] for row in rows}):
            some = [row for row in rows if (row["s1"], row["s2"], row["n"]) == (s1, s2, n)]
            cells: list[Any] = [s1, s2, n, f"{np.median([row['c1'] for row in some]):.2f}",
                                f"{np.median([row['c2'] for row in some]):.2f}"]  # fmt: skip
            for name in ("first", "second"):
                ratios = [row["ratio"][name] for row in some if name in row["ratio"]]
                cells += [f"{len(ratios)} of {len(some)}", f"{max(ratios):.2f}" if ratios else "-"]
            cells.append(f"{sum(row['last'] <= 1e-6 for row in some)} of {len(some)}")
            lines.append(cells)
    return common.table(
        ["s1", "s2", "rows", "c1", "c2", "c1 < 1/2", "largest ratio", "c2 < 1/4", "largest ratio",
         "x_k ends at x*"], lines)  # fmt: skip


def claims(rows: Sequence[Row]) -> list[Row]:
    """Return what the theorem says, over the draws where its premises hold."""
    found = []
    for name, text in (("first", "c1 < 1/2"), ("second", "c2 < 1/4")):
        ratios = [row["ratio"][name] for row in rows if name in row["ratio"]]
        found.append({"claim": f"Theorem 1, {text}: the error of every iterate is below the bound",
                      "measured": f"error / bound at most {max(ratios, default=np.nan):.2f}",
                      "holds": sum(r <= 1 + 1e-9 for r in ratios), "of": len(ratios)})  # fmt: skip
    inside = [row for row in rows if "first" in row["ratio"]]
    found.append({"claim": "Fig. 2: the error beyond the ball falls by 2 c1 in every iteration",
                  "measured": f"in {sum(row['linear'] for row in inside)} of {len(inside)} draws",
                  "holds": sum(row["linear"] for row in inside), "of": len(inside)})  # fmt: skip
    exact = [row for row in inside if row["noise"] == 0]
    last = max(row["last"] for row in exact)
    found.append({
        "claim": "without noise the iterates converge to x*",
        "measured": f"largest last error {last:.0e}",
        "holds": sum(row["last"] <= 1e-9 for row in exact), "of": len(exact),
    })  # fmt: skip
    return found


def main() -> None:
    """Measure and write bilevel_isometry.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--seeds", type=int, default=10, help="draws of every setting")
    chosen = parser.parse_args()
    common.one_thread()
    machine = common.machine()
    with common.log("theorem 1"):
        rows = draws(ROWS[-1:] if chosen.tiny else ROWS, 1 if chosen.tiny else chosen.seeds)
    found = claims(rows)
    title, _, about = (__doc__ or "").strip().partition("\n")
    lines = [[one["claim"], one["measured"],
              f"**{'yes' if one['holds'] == one['of'] else 'in part' if one['holds'] else 'no'}** "
              f"({one['holds']} of {one['of']})"] for one in found]  # fmt: skip
    text = [f"# {title.rstrip('.')}", about.strip(), "## What the paper says",
            common.table(["what", "measured", "holds"], lines),
            f"## By budget and rows, {chosen.seeds} draws, noise {', '.join(map(str, NOISE))}",
            'The medians of the constants; "x_k ends at x*": within 1e-6.',
            settings_table(rows)]  # fmt: skip
    panels = []
    for s1, s2 in BUDGETS:
        curves = []
        for noise, colour in zip(NOISE, COLOURS, strict=True):
            shown = (s1, s2, ROWS[-1], noise, 0)
            row = next(
                one
                for one in rows
                if tuple(one[key] for key in ("s1", "s2", "n", "noise", "seed")) == shown
            )
            k = np.arange(16)
            curves.append(
                Curve(
                    f"error, noise {noise}", k, np.maximum(row["errors"], 1e-12)[:16], colour, "o"
                )
            )
            if "first" in row["bound"]:
                right = np.maximum(row["bound"]["first"], 1e-12)[:16]
                curves.append(Curve(f"bound, noise {noise}", k, right, colour, "", dashed=True))
        panels.append(Panel(f"s1 = {s1}, s2 = {s2}", "iteration", "|x_k - x*|", curves, log=True))
    if draw(chosen.results / "bilevel_isometry.png", f"Fig. 2, measured: {ROWS[-1]} rows", panels):
        text.append("![Fig. 2](bilevel_isometry.png)")
    kept = [
        {key: value for key, value in row.items() if key not in ("errors", "bound")} for row in rows
    ]
    common.write(chosen.results, "bilevel_isometry",
                 {"machine": machine, "options": {"seeds": chosen.seeds}, "claims": found,
                  "runs": kept}, "\n\n".join(text))  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
