"""Proofs of the logistic loss with and without its curvature in the ridge.

    python benchmarks/curvature.py

    min_{u, b}  1/2 ||u||^2 + C sum_i log(1 + exp(-y_i (x_i'u + b)))   subject to  ||u||_0 <= k

on standardised columns, drawn with correlations 0.5^|i - j|, eight of them with the same effect on
the log odds of the classes: weak, where classes overlap (0.2), or strong (0.5). Each is searched
twice for a proof, for the same time: as `zeronorm.prove` does, which takes the curvature that the
loss has where the margins of better models can be, if that closes two fifths of the gap, and
without. Every certificate is recomputed by `zeronorm.verify`. Threads: all that there are. When
the method is used was chosen on other draws of such designs.
"""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np

import _common as common
import zeronorm
from zeronorm.published import L0LogisticRegression
from zeronorm.solvers import curvature

NAME = "curvature"
DESIGNS = ((2500, 300, 0.2), (4000, 200, 0.2), (3000, 400, 0.5))
K, CS, CAUSES, SEED = 10, (0.1, 1.0), 8, 7

Row = dict[str, Any]


def drawn(n: int, p: int, effect: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns and the classes of a design."""
    rng = np.random.default_rng([n, p, SEED])
    X = np.asfortranarray(rng.standard_normal((n, p)))
    for j in range(1, p):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    score = effect * X[:, :: p // CAUSES][:, :CAUSES].sum(axis=1)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def searched(model: Any, X: np.ndarray, y: np.ndarray, limit: float) -> Row:
    """Return how far a search for a proof comes."""
    wall, _, proof = common.clock(lambda: zeronorm.prove(model, X, y, gap=0, time_limit=limit))
    certificate = proof.certificate
    verify, _, _ = common.clock(lambda: zeronorm.verify(certificate, X, y))
    return {
        "seconds": wall,
        "root": proof.history[0].bound,
        "nodes": proof.history[-1].n_nodes,
        "objective": certificate.objective,
        "gap": certificate.gap,
        "proven": certificate.proven,
        "taken": bool(certificate.tree is not None and certificate.tree.minorants),
        "verify": verify,
    }


def measure(n: int, p: int, effect: float, C: float, k: int, limit: float) -> Row:
    """Return the figures of a problem."""
    X, y = drawn(n, p, effect)
    model = L0LogisticRegression(n_features=k, C=C, calibrate=False).fit(X, y)
    with mock.patch.object(curvature, "COSTLY", np.inf):
        without = searched(model, X, y, limit)
    row = {"n": n, "p": p, "effect": effect, "C": C, "k": k}
    return row | {"without": without, "found": searched(model, X, y, limit)}


def report(rows: list[Row]) -> str:
    """Return the table."""

    def ended(found: Row) -> str:
        gap = f"{100 * found['gap']:.2f} %"
        return f"**proven** in {found['seconds']:.1f} s" if found["proven"] else gap

    lines = []
    for row in rows:
        without, found = row["without"], row["found"]
        certify = 100 * (1.0 - without["root"] / without["objective"])
        lines.append(
            [f"{row['n']} x {row['p']}", f"{row['effect']:g}", f"{row['C']:g}", row["k"],
             f"{certify:.2f} %", f"{ended(without)}, {without['nodes']}",
             f"{ended(found)}, {found['nodes']}", "yes" if found["taken"] else "no",
             f"{without['verify']:.1f}, {found['verify']:.1f}"]
        )  # fmt: skip
    header = [
        "n x p", "effect", "C", "k", "certify", "without: gap at the end, nodes",
        "prove: gap at the end, nodes", "took curvature", "verify, s",
    ]  # fmt: skip
    text = ["# Curvature of the logistic loss", (__doc__ or "").split("\n\n", 2)[2].strip()]
    return "\n\n".join([*text, common.table(header, lines)])


def main() -> None:
    """Measure, and write curvature.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--time-limit", type=float, default=30.0)
    options = parser.parse_args()
    about, rows = common.machine(), []
    for n, p, effect in DESIGNS:
        for C in CS:
            with common.log(f"{n} x {p}, effect {effect}, C = {C}"):
                rows.append(measure(n, p, effect, C, K, options.time_limit))
    markdown = report(rows)
    print(markdown)
    data = {"machine": about, "time_limit": options.time_limit, "bars": [], "records": rows}
    common.write(options.results, NAME, data, markdown)


if __name__ == "__main__":
    main()
