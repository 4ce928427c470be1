"""All models within 1 % of the best one: how many there are, and what it takes to know.

    python benchmarks/near_optimal.py
    python benchmarks/near_optimal.py --sets golub --C 0.1,1

Of each gene expression set, standardised, with the logistic loss: every support of k = 5 genes with
an objective within 1 % of the optimum, by `zeronorm.inspection.near_optimal` in at most a minute,
the fit that it begins with among the seconds; then the substitutes of each gene of the best
support, by `zeronorm.inspection.substitutes`. Where the search does not end, the table says within
which share of the best objective found the list is complete all the same. One thread, seconds of
the wall.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import _common as common
import certificates
from zeronorm.inspection.alternatives import NearOptimal, near_optimal
from zeronorm.inspection.replacements import substitutes

NAME = "near_optimal"
SETS = ("golub", "leukemia_golub_split", "colon_alon", "prostate_ge", "ma_gordon")
K, WITHIN, SECONDS = 5, 0.01, 60.0
MOST = 100_000  # supports that are kept

Row = dict[str, Any]


def measure(X: np.ndarray, y: np.ndarray, C: float) -> Row:
    """Return the figures of one set at one C."""

    def search() -> Any:
        return near_optimal(
            X, y, K, within=WITHIN, limit=MOST, time_limit=SECONDS, C=C, n_threads=1
        )

    seconds, cpu_seconds, near = common.clock(search)
    assert isinstance(near, NearOptimal)
    best = near.supports[0]
    spent, _, each = common.clock(lambda: substitutes(best, X, y, C=C, n_threads=1))
    return {
        "n": X.shape[0],
        "p": X.shape[1],
        "C": C,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "status": near.status.name,
        "nodes": near.history[-1].n_nodes,
        "supports": len(near),
        "objective": near.objectives[0],
        "complete_within": near.complete_within,
        "candidates": near.candidates.size,
        "in_all": near.in_all.size,
        "in_some": near.in_some.size,
        "substitutes_seconds": spent,
        "proven": all(one.proven for one in each),
        "without": [one.without for one in each],
        "best_costs": [one.costs[0] for one in each],
        "exchangeable": [one.exchangeable.size - 1 for one in each],
    }


def report(rows: list[Row]) -> str:
    """Return the tables."""
    lists = [
        [row["set"], f"{row['n']} x {row['p']}", row["C"], row["status"], row["supports"],
         f"{row['complete_within']:.2%}", row["candidates"], row["in_all"], row["in_some"],
         row["nodes"], f"{row['seconds']:.1f}",
         f"{row['cpu_seconds']:.1f}"]
        for row in rows
    ]  # fmt: skip
    one_by_one = [
        [row["set"], row["C"], ", ".join(f"{cost:.1%}" for cost in row["without"]),
         ", ".join(f"{cost:.2%}" for cost in row["best_costs"]),
         ", ".join(str(number) for number in row["exchangeable"]),
         "yes" if row["proven"] else "no", f"{row['substitutes_seconds']:.2f}"]
        for row in rows
    ]  # fmt: skip
    return "\n\n".join(
        [
            "# All near-best models, and substitutes",
            (__doc__ or "").split("\n\n", 2)[2].strip(),
            common.table(
                ["set", "rows x genes", "C", "status", "supports", "complete within", "candidates",
                 "genes in all", "in some", "nodes", "seconds", "CPU s"], lists,
            ),
            "The genes of the best support found, one by one: what the objective loses without the "
            "gene, what it loses with the best other gene in its place, how many genes can take "
            "its place for 1 % at most, whether that is proven for all, and the seconds for all "
            "five.",
            common.table(
                ["set", "C", "without", "best substitute", "within 1 %", "proven", "seconds"],
                one_by_one,
            ),
        ]
    )  # fmt: skip


def main() -> None:
    """Measure, and write near_optimal.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--C", default="0.1")
    options = parser.parse_args()
    common.one_thread()
    folder, rows = common.data_folder(options.data), []
    about = common.machine()
    for name in options.sets.split(","):
        X, y = certificates.read(folder, name)
        for C in map(float, options.C.split(",")):
            with common.log(f"{name}, C = {C:g}"):
                rows.append({"set": name, **measure(X, y, C)})
    markdown = report(rows)
    print(markdown)
    common.write(options.results, NAME, {"machine": about, "records": rows}, markdown)


if __name__ == "__main__":
    sys.exit(main())
