"""Fig. 5: how fast the outer iterations of MSLR converge.

The paper: the relative change |f_(t+1) - f_t| / |f*| of the outer objective against outer
iterations, on Leukemia and news20, with C = 10; f* is the global value. r is not said.

Here: Leukemia, news20ng for news20, and pcmac as a small text. r = 10. f_t is the value of the
problem over the blocks of the first t iterations, f_0 that of the model without features, f* the
smallest value of a long run of newton with inner problems to 1e-6 (it ends at a certified outer gap
of 1e-6, at a repeated block or at the largest number of blocks). Beside the change stands what the
paper does not have: the certified outer gap, (f_t - lower bound of the problem over all features) /
f_0; the bound comes with the scan of the next iteration. The paper's f drops the constant
n C log C, ours does not. The methods themselves run at the tolerance 1e-3 of the other experiments.

    python benchmarks/papers/mslr_convergence.py                # small: leukemia, pcmac
    python benchmarks/papers/mslr_convergence.py --full         # and news20ng
"""

from __future__ import annotations

import math
import sys
from itertools import pairwise
from typing import Any

import numpy as np

import _mslr as mslr
from _mslr import SETS, Curve, Data, Panel, Row
from zeronorm.data import as_design
from zeronorm.published.solvers import INNER_SOLVERS
from zeronorm.solvers import CuttingPlane, Task, cutting_plane, run

DEFAULT = "newton,published,smoothing"
SOLVERS = {"newton": "newton", "published": "smoothing-published", "smoothing": "smoothing"}
BY_SIZE = {"tiny": "leukemia", "small": "leukemia,pcmac", "full": "leukemia,pcmac,news20ng"}
BLOCK, C = 10, 10.0
ITERATIONS = {"tiny": (4, 6), "small": (20, 40), "full": (20, 60)}  # shown, and of the long run


def solve(data: Data, solver: str, n_blocks: int, tol: float) -> Row:
    """Run the cutting plane for (P), whatever the number of features; return its iterations."""
    task = Task.of(as_design(data.X, n_threads=1), data.y, intercept=False)
    options = CuttingPlane(BLOCK, n_blocks, INNER_SOLVERS[solver], inner_tol=tol, tol=tol)
    result = run(cutting_plane(task, None, options, C=C), n_threads=1).result
    return {
        "steps": mslr.steps(result),
        "outer_bound": result.bounds["outer"],
        "status": result.status.name,
    }


def sequences(answer: Row, optimum: float, scale: float) -> Row:
    """Return the relative changes f_0 -> f_1 -> ..., and the certified outer gaps of f_1, ..."""
    values = [scale] + [step["objective"] for step in answer["steps"]]
    # The bound that a step holds was found before it: it belongs to the value before.
    bounds = [step["outer_bound"] for step in answer["steps"][1:]] + [answer["outer_bound"]]
    best = np.maximum.accumulate(bounds)
    return {
        "change": [abs(b - a) / abs(optimum) for a, b in pairwise(values)],
        "outer_gap": [(f - b) / scale for f, b in zip(values[1:], best, strict=True)],
        "above_optimum": [(f - optimum) / abs(optimum) for f in values[1:]],
    }


def main() -> None:
    """Measure and write mslr_convergence.json, .md and .png."""
    chosen = mslr.options(__doc__, DEFAULT, seeds=1, limit=300.0)
    names = mslr.pick("--sets", chosen.sets or BY_SIZE[chosen.size], SETS)
    folder = mslr.folder_of(chosen.data, names)
    keys = mslr.pick("--methods", ",".join(chosen.keys), SOLVERS)
    shown, long = ITERATIONS[chosen.size]
    rows: list[Row] = []
    text, panels = [mslr.introduction(__doc__, chosen)], []
    for name in names:
        data = SETS[name].load(name, folder, mslr.FIRST_SEED)
        scale = C * len(data.y) * math.log(2.0)
        with mslr.common.log(f"{name}, long run"):
            reference = _run(data, "newton", long, 1e-6, chosen.limit)
        if "error" in reference:
            text += [f"## {name}\n\nThe long run for f*: {reference['error']}."]
            rows.append({"set": name, "method": "long run", **reference})
            continue
        answers = {}
        for key in keys:
            with mslr.common.log(f"{name}, {key}"):
                answers[key] = _run(data, SOLVERS[key], shown, 1e-3, chosen.limit)
        optimum = min(
            step["objective"]
            for answer in (reference, *answers.values())
            for step in answer.get("steps", [])
        )
        rows.append({"set": name, "method": "long run", "f_star": optimum, **reference})
        lines, table = [], []
        for key, answer in answers.items():
            label = mslr.METHODS[key].label
            if "error" in answer:
                table.append([label, answer["error"], "-", "-", "-", "-"])
                rows.append({"set": name, "method": key, **answer})
                continue
            found = sequences(answer, optimum, scale)
            rows.append({"set": name, "method": key, "f_star": optimum, **answer, **found})
            lines += _lines(key, found)
            table += [
                [label, t + 1, f"{found['change'][t]:.1e}", f"{found['above_optimum'][t]:.1e}",
                 f"{found['outer_gap'][t]:.1e}", step["status"]]
                for t, step in enumerate(answer["steps"])
            ]  # fmt: skip
        header = ["method", "t", "change from t - 1", "above f*", "certified outer gap", "inner"]
        text += [
            f"## {name}, {data.X.shape[0]} x {data.X.shape[1]}",
            f"f* = {optimum:.6g}; the long run ended after {len(reference['steps'])} iterations "
            f"({reference['status']}).",
            mslr.common.table(header, table),
        ]
        panels.append(
            Panel(
                f"{name} (for {SETS[name].stands_for})", "outer iteration", "relative", lines, True
            )
        )
    if panels and mslr.draw(
        chosen.results / "mslr_convergence.png", "Fig. 5: convergence of the outer iterations",
        panels, columns=len(panels),
    ):  # fmt: skip
        text.insert(1, "![Fig. 5](mslr_convergence.png)")
    figures = mslr.record(chosen, block_size=BLOCK, C=C, runs=rows)
    mslr.common.write(chosen.results, "mslr_convergence", figures, "\n\n".join(text))


def _run(data: Data, solver: str, n_blocks: int, tol: float, limit: float) -> Row:
    answer, error = mslr.limited(lambda: solve(data, solver, n_blocks, tol), limit)
    return {"error": error} if error else answer


def _lines(key: str, found: dict[str, Any]) -> list[Curve]:
    method = mslr.METHODS[key]
    t = np.arange(1, len(found["change"]) + 1)
    floor = 1e-12  # a change of exactly zero has no place on a logarithmic axis
    return [
        Curve(f"{method.label}: {label}", t, np.maximum(found[name], floor), method.colour,
              method.marker, dashed)
        for name, label, dashed in (
            ("change", "relative change", False),
            ("outer_gap", "certified outer gap", True),
        )
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
