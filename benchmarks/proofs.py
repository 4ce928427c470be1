"""Why proofs of some sets end far from a gap of 1 %: what the relaxation cannot see.

    python benchmarks/proofs.py
    python benchmarks/proofs.py --sets riboflavin --k 5 --nodes 400

The problems are those of `targets.py`. Two questions, of the best model of k features that a search
of so many nodes has found:

- how much of the gap of the relaxation is left if r of its features, the first by index, are known
  to be in (`zeronorm.certify` of a model with these features forced): a search has to force
  features until the gap is the wanted one, and r of them can be any r of those that come in
  question;
- how far the bound of the search rises with its nodes, and what these cost (CPU seconds, one
  thread).

Every certificate is recomputed by `zeronorm.verify`.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import _common as common
import targets
import zeronorm
from zeronorm import BudgetRegressor, BudgetSurvivalAnalysis

NAME = "proofs"
SETS = ("nki70", "chop", "riboflavin")
WANTED = 0.01

Row = dict[str, Any]


def fitted(problem: targets.Problem, k: int, forced: np.ndarray) -> Any:
    """Return a model of k features with some of them forced."""
    y = targets.target(problem)
    options = {"forced_features": forced.tolist(), "C": targets.C, "n_threads": 1}
    if problem.family == "cox":
        return BudgetSurvivalAnalysis(k, **options).fit(problem.X, y)
    loss = "poisson" if problem.family == "poisson" else "least_squares"
    return BudgetRegressor(k, loss=loss, **options).fit(problem.X, y, offset=problem.offset)


def measure(problem: targets.Problem, k: int, n_nodes: int) -> Row:
    """Return the course of a search, and the gaps of relaxations with features forced in."""
    X, y, offset = problem.X, targets.target(problem), problem.offset
    model = fitted(problem, k, np.empty(0, np.int64))
    seen: list[list[float]] = []
    began = time.process_time()

    def note(step: Any) -> None:
        seen.append([step.n_nodes, time.process_time() - began, step.objective, step.bound])

    proof = zeronorm.prove(
        model, X, y, gap=WANTED, time_limit=3600.0, max_nodes=n_nodes, callback=note, n_threads=1,
        offset=offset,
    )  # fmt: skip
    seconds, best = time.process_time() - began, proof.certificate
    zeronorm.verify(best, X, y, offset=offset)
    gaps = []
    for r in range(k):
        forced = fitted(problem, k, best.support[:r])
        bound = zeronorm.certify(forced, X, y, n_threads=1, offset=offset).bound
        gaps.append(1.0 - bound / best.objective)
    end = proof.history[-1].n_nodes
    return {
        "k": k,
        "fit": model.certificate_.objective,
        "objective": best.objective,
        "gap": best.gap,
        "status": proof.status.name,
        "nodes": end,
        "seconds": seconds,
        "history": seen,
        "forced": gaps,
    }


def at_nodes(row: Row, n_nodes: int) -> str:
    """Return the gap of the first report after so many nodes, of the best objective."""
    found = [step for step in row["history"] if step[0] >= n_nodes]
    return f"{100 * (1 - found[0][3] / row['objective']):.2f} %" if found else "-"


def report(rows: list[Row], most: int) -> str:
    """Return the tables."""
    counts = [n for n in (25, 50, 100, 200, 400, 800, 1600, 3200) if n <= most]
    tree = [
        [row["set"], row["k"], f"{100 * (row['fit'] / row['objective'] - 1):.2f} %", row["status"],
         row["nodes"], f"{row['seconds']:.1f}", f"{1e3 * row['seconds'] / row['nodes']:.1f}",
         *(at_nodes(row, n) for n in counts), f"{100 * row['gap']:.2f} %"]
        for row in rows
    ]  # fmt: skip
    widest = max(row["k"] for row in rows)
    forced = [
        [row["set"], row["k"], *(f"{100 * gap:.2f} %" for gap in row["forced"])]
        + ["-"] * (widest - row["k"])
        for row in rows
    ]
    return "\n\n".join(
        [
            "# Proofs",
            (__doc__ or "").split("\n\n", 2)[2].strip(),
            "The gap of the relaxation with r of the best features forced in.",
            common.table(["set", "k", *(f"r = {r}" for r in range(widest))], forced),
            "The gap of the search after so many nodes, of the best objective at its end; how far "
            "the objective of the fit is above that.",
            common.table(
                ["set", "k", "fit", "status", "nodes", "CPU s", "ms a node",
                 *(f"{n}" for n in counts), "end"], tree,
            ),
        ]
    )  # fmt: skip


def main() -> None:
    """Measure, and write proofs.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--k", default="5,10")
    parser.add_argument("--nodes", type=int, default=1600)
    options = parser.parse_args()
    common.one_thread()
    folder, rows = common.data_folder(options.data), []
    about = common.machine()
    for name in options.sets.split(","):
        problem = targets.SETS[name](folder)
        for k in map(int, options.k.split(",")):
            with common.log(f"{name}, k = {k}"):
                rows.append({"set": name, **measure(problem, k, options.nodes)})
    markdown = report(rows, options.nodes)
    print(markdown)
    common.write(options.results, NAME, {"machine": about, "records": rows}, markdown)


if __name__ == "__main__":
    sys.exit(main())
