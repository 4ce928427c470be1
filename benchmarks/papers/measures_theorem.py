"""Theorems 1 and 2 of Mao and Tsang (TPAMI 2013): how many iterations both layers take.

The paper: with c = C / n, Delta the largest loss of a labelling and R the largest length of
sum_i (y_i - y'_i) x_i over the blocks at hand and all labellings y',

    Theorem 1: Algorithm 1 (the inner layer) is within epsilon <= 4 R^2 c after at most
               ceil(log2(Delta / (4 R^2 c))) + ceil(16 R^2 c / epsilon) iterations
    Theorem 2: Algorithm 2 (blocks) stops after finitely many, within epsilon of the optimum of
               problem (6), over all features; "within tens of iterations" (section 5.1)

Here: the published algorithm, without an intercept, columns as they are; epsilon is a share of the
objective without features. Blocks are added until the problem over all features is certified to be
solved to epsilon (the inner problems to epsilon / 2, for which the bound is taken), at most MOST of
them. R is the largest over the labellings that the run met and the new features of its blocks
alone: at most that of the theorem, so that the bound here is at most its own, which grows with R.

    python benchmarks/papers/measures_theorem.py             # three minutes
    python benchmarks/papers/measures_theorem.py --tiny      # seconds: does the script run
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from _mslr import common, protocol
from zeronorm.measures import PRBEP, Cut, FBeta, Hamming, Measure
from zeronorm.published import TwoLayerClassifier

Row = dict[str, Any]
WEIGHTS = (0.001, 0.01, 0.1)  # c
SHARES = (0.1, 0.01)  # epsilon over the objective without features
BLOCK = 10
MOST = 30
TENS = 100  # iterations that are still tens
KINDS: dict[str, type[Measure]] = {"hamming": Hamming, "f1": FBeta, "prbep": PRBEP}


def recording(kind: type[Measure], cuts: list[np.ndarray]) -> Measure:
    """Return a measure that keeps y - y' of all labellings that it is asked for."""

    class Recording(kind):  # type: ignore[misc,valid-type]
        def cut(self, z: Any, y: Any, weight: Any = None) -> Cut:
            found: Cut = super().cut(z, y, weight)
            cuts.append(np.asarray(found.beta, float))
            return found

    return Recording()


def sets(folder: Path | None, tiny: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Return names, X and labels of +-1, a fifth of the drawn ones positive."""
    rng = np.random.default_rng(0)
    n, m = (100, 50) if tiny else (500, 500)
    X = rng.standard_normal((n, m))
    score = X[:, :10] @ rng.uniform(0.5, 1.5, 10) + rng.standard_normal(n)
    yield "drawn", X, np.where(score > np.quantile(score, 0.8), 1.0, -1.0)
    if folder is None:
        return
    for name in ("colon_alon", "pcmac"):
        data = protocol.arrays(folder, name)
        X, y = data["X"], np.asarray(data["y"])
        X = sp.csr_matrix(protocol.unit_rows(X, float)) if sp.issparse(X) else np.asarray(X, float)
        yield name, X, np.where(y == np.unique(y)[-1], 1.0, -1.0)


def fit(name: str, X: Any, y: np.ndarray, key: str, c: float, share: float) -> Row:
    """Return the iterations of one run beside their bounds."""
    cuts: list[np.ndarray] = []
    model = TwoLayerClassifier(
        recording(KINDS[key], cuts), block_size=BLOCK, max_blocks=MOST, refit=False, C=c, tol=share,
        fit_intercept=False, standardize=False, n_threads=1,
    )  # fmt: skip
    with common.log(f"{name}, {key}, c = {c:g}, epsilon = {share:g}"):
        _, cpu, _ = common.clock(lambda: model.fit(X, y))
    history, gap = list(model.history_), model.path_.gap
    epsilon = 0.5 * share * history[0].extra["without_features"]
    largest = 2.0 * y.size if key == "hamming" else 100.0
    betas = np.array(cuts)
    square, bounds = 0.0, []
    for step in history:
        if step.entered.size:
            products = np.asarray(X[:, step.entered].T @ betas.T)
            square = max(square, float((products**2).sum(axis=0).max()))
        first = max(0, math.ceil(math.log2(largest / (4.0 * square * c))))
        bounds.append(first + math.ceil(16.0 * square * c / epsilon))
    rounds = [1 + int(step.extra["inner_iterations"]) for step in history]  # the first cut is one
    return {
        "set": name, "measure": key, "c": c, "share": share, "cpu": cpu, "blocks": len(history),
        "features": int(model.support_.size), "gap": gap, "rounds": rounds, "bounds": bounds,
        "ratio": max(r / b for r, b in zip(rounds, bounds, strict=True)),
        "inside": bool(epsilon <= 4.0 * square * c), "ended": model.path_.status.name,
    }  # fmt: skip


def claims(rows: Sequence[Row]) -> list[list[str]]:
    """Return what the theorems say, and what is so here."""
    inside = [row for row in rows if row["inside"]]
    within = sum(row["ratio"] <= 1.0 for row in inside)
    ended = [row for row in rows if row["gap"] <= row["share"]]
    few = sum(row["blocks"] < TENS for row in ended)
    rounds = [count for row in inside for count in row["rounds"]]
    bounds = [bound for row in inside for bound in row["bounds"]]

    def line(claim: str, measured: str, holds: int, of: int, *, least: str = "no") -> list[str]:
        word = "yes" if holds == of else least
        return [claim, measured, f"**{word}** ({holds} of {of})"]

    return [
        line(
            "Theorem 1: Algorithm 1 ends within the bound on its iterations",
            f"at most {max(rounds)} iterations, bounds from {min(bounds):,}; iterations / bound at "
            f"most {max(row['ratio'] for row in inside):.1e}",
            within, len(inside),
        ),
        line(
            "Theorem 2: Algorithm 2 ends within epsilon of the optimum over all features",
            f"certified after {min(row['blocks'] for row in ended)} to "
            f"{max(row['blocks'] for row in ended)} blocks; the others were ended after {MOST}",
            len(ended), len(rows), least="-",
        ),
        line(
            "section 5.1: that takes tens of iterations, where it ends",
            f"blocks: {', '.join(str(row['blocks']) for row in ended)}",
            few, len(ended), least="in part",
        ),
    ]  # fmt: skip


def main() -> None:
    """Measure and write measures_theorem.json and .md."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    options = parser.parse_args()
    common.one_thread()
    warnings.simplefilter("ignore")
    about = common.machine()
    folder = None if options.tiny else common.data_folder(options.data)
    weights, shares = (WEIGHTS[:2], SHARES[:1]) if options.tiny else (WEIGHTS, SHARES)
    rows = [
        fit(name, X, y, key, c, share)
        for name, X, y in sets(folder, options.tiny)
        for key in KINDS
        for c in weights
        for share in shares
    ]
    title, _, rest = (__doc__ or "").strip().partition("\n")
    found = claims(rows)
    body = [
        [row["set"], row["measure"], f"{row['c']:g}", f"{row['share']:g}", row["blocks"],
         row["features"], f"{row['gap']:.1e}", f"{np.median(row['rounds']):.0f}",
         max(row["rounds"]), f"{min(row['bounds']):,}", f"{row['cpu']:.1f}"]
        for row in rows
    ]  # fmt: skip
    text = [
        f"# {title.rstrip('.')}",
        rest.split("\n\n    python")[0].strip().replace("MOST", str(MOST)),
        "## What the paper says",
        common.table(["what", "measured", "holds"], found),
        "## By run",
        "Iterations are those of Algorithm 1 for one set of blocks: the median and the largest of "
        "all sets; the bound is the least of these.",
        common.table(
            ["set", "measure", "c", "epsilon", "blocks", "features", "gap at last", "iterations",
             "largest", "bound", "CPU s"],
            body,
        ),
    ]  # fmt: skip
    figures = {"machine": about, "options": {"tiny": options.tiny}, "claims": found, "runs": rows}
    common.write(options.results, "measures_theorem", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
