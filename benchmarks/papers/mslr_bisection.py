"""Fig. 2 of Tan, Tsang and Wang (IEEE TNNLS 24(10), 2013): one coordinate of the smoothed dual.

The paper: two subfunctions h_t(z) = |w_t|^2/2 + b_t z + a_t z^2/2, smoothed by q,

    p(z) = 1/q log(sum_t exp(q h_t(z))) + (c1 + z) log(c1 + z) + (c2 - z) log(c2 - z)

with the numbers of its figure (a1 = 0.015, a2 = 0.040, b1 = -2.433, b2 = 1.380, |w_1|^2 = 2406.148,
|w_2|^2 = 2403.345, c1 = 0.09, c2 = 0.99). Its p'' changes sharply near the root where q is large:
Newton's method works well for q = 10 and cannot converge for q = 100, from z = 0.25 and 0.55, the
points of the tangents in its figure; Newton-Bisection (Algorithm 3) always does.

Here: Newton's method on p' = 0 from these points, at most 100 steps, failed where it leaves
(-c1, c2) or does not get |p'| below 1e-9; the compiled Newton-Bisection from z = 0, by its
evaluations of p'. The formula of p is read from the text, where the figure's legend is lost.

    python benchmarks/papers/mslr_bisection.py            # a second
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.optimize import brentq

from _mslr import Curve, Panel, common, draw
from zeronorm import _kernels

SQUARE = np.array([0.015, 0.040])
SLOPE = np.array([-2.433, 1.380])
LEVEL = 0.5 * np.array([2406.148, 2403.345])
C1, C2 = 0.09, 0.99
QS = (1.0, 10.0, 30.0, 100.0, 1000.0, 10_000.0)
STARTS = (0.25, 0.55)
ACCURACY, MOST = 1e-9, 100


def derivatives(z: float, q: float) -> tuple[float, float]:
    """Return p' and p''."""
    value = q * (LEVEL + SLOPE * z + 0.5 * SQUARE * z * z)
    share = np.exp(value - value.max())
    share /= share.sum()
    slope = SLOPE + SQUARE * z
    mean = float(share @ slope)
    bend = float(share @ SQUARE + q * (share @ (slope - mean) ** 2))
    return mean + np.log((C1 + z) / (C2 - z)), bend + 1.0 / (C1 + z) + 1.0 / (C2 - z)


def newton(z: float, q: float) -> int | None:
    """Return the steps of Newton's method to the root; None where it fails."""
    for step in range(MOST + 1):
        first, second = derivatives(z, q)
        if abs(first) <= ACCURACY:
            return step
        z -= first / second
        if not -C1 < z < C2:
            return None
    return None


def bisected(q: float) -> tuple[float, int]:
    """Return the root by the compiled Newton-Bisection, and its evaluations."""
    alpha, rest = np.array([C1]), np.array([C2])
    counts = np.zeros(1)
    level, slope, square = np.full((1, _kernels.LANES), -np.inf), *np.zeros((2, 1, _kernels.LANES))
    level[0, :2], slope[0, :2], square[0, :2] = LEVEL - LEVEL.max(), SLOPE, SQUARE
    _kernels.newton_bisections(
        level, slope, square, np.array([C1 + C2]), np.array([q]), ACCURACY,
        alpha, rest, np.zeros((1, 2)), counts,
    )  # fmt: skip
    return float(alpha[0]) - C1, int(counts[0])


def main() -> None:
    """Write mslr_bisection.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="fewer q")
    chosen = parser.parse_args()
    common.one_thread()
    rows: list[dict[str, Any]] = []
    for q in QS[:2] if chosen.tiny else QS:
        root = brentq(lambda z, q=q: derivatives(z, q)[0], -C1 + 1e-15, C2 - 1e-15, xtol=1e-15)
        z, evaluations = bisected(q)
        rows.append({"q": q, "root": root, "newton": [newton(start, q) for start in STARTS],
                     "error": abs(z - root), "evaluations": evaluations,
                     "bend": derivatives(root, q)[1]})  # fmt: skip

    def steps(row: dict[str, Any]) -> str:
        return ", ".join("fails" if one is None else f"{one} steps" for one in row["newton"])

    claims = []
    for text, some, good in (
        ("Newton's method converges for q = 10", [r for r in rows if r["q"] == 10],
         lambda row: None not in row["newton"]),
        ("it cannot converge for q = 100", [r for r in rows if r["q"] == 100],
         lambda row: row["newton"] == [None, None]),
        ("Newton-Bisection finds the root (to 1e-8), all q", rows, lambda row: row["error"] < 1e-8),
    ):  # fmt: skip
        holds = sum(map(good, some))
        word = "yes" if holds == len(some) else "in part" if holds else "no"
        said = "; ".join(steps(row) if len(some) == 1 else f"{row['error']:.0e}" for row in some)
        claims.append([f"Fig. 2: {text}", said, f"**{word}** ({holds} of {len(some)})"])
    title, _, about = (__doc__ or "").strip().partition("\n")
    lines = [[f"{row['q']:g}", f"{row['root']:.6f}", f"{row['bend']:.3g}", steps(row),
              row["evaluations"], f"{row['error']:.0e}"] for row in rows]  # fmt: skip
    text = [f"# {title.rstrip('.')}", about.strip(), "## What the paper says",
            common.table(["what", "measured", "holds"], claims),
            "## By q",
            common.table(["q", "root", "p'' there", f"Newton from {STARTS[0]}, {STARTS[1]}",
                          "Newton-Bisection, evaluations", "its error"], lines)]  # fmt: skip
    z = np.linspace(0.0, 0.9, 400)
    panels = [
        Panel(f"{name}(z)", "z", name, [
            Curve(f"q = {q:g}", z, [derivatives(one, q)[part] for one in z], colour, "")
            for q, colour in ((10.0, "tab:blue"), (100.0, "tab:red"))
        ], log=part == 1) for part, name in enumerate(("p'", "p''"))
    ]  # fmt: skip
    if draw(chosen.results / "mslr_bisection.png", "Fig. 2 (a), (b)", panels):
        text.append("![Fig. 2](mslr_bisection.png)")
    figures = {"machine": common.machine(), "claims": claims, "records": rows}
    common.write(chosen.results, "mslr_bisection", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
