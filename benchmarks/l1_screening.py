"""What gap-safe screening could save the working-set solver: shares of features, scan by scan.

    python benchmarks/l1_screening.py
    python benchmarks/l1_screening.py --sets mice,s1

At every scan of a fit to a gap of 1e-6: the share of the features that the gap-safe sphere proves
to be zero at the solution,

    |x_j'(a * y)| + ||x_j|| sqrt(C (f - D(a)) / 2) < 1,

a the feasible dual point of the scan (Ndiaye, Fercoq, Gramfort and Salmon, Gap safe screening rules
for sparsity enforcing penalties, JMLR 18, 2017). Working sets look at few features between scans
anyway; what screening could save is the later scans. It needs the norms of all columns, one more
pass over X.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import l1
from zeronorm.data import as_design
from zeronorm.losses import Logistic
from zeronorm.solvers import L1Problem, Risk, run
from zeronorm.solvers.l1.problem import Penalty
from zeronorm.solvers.l1.solvers import Run, solve_over

TOL, SHARE = 1e-6, 0.1
DEFAULT = "mice,leukemia_golub_split,arcene,s1,news20ng"


def norms(X: Any) -> np.ndarray:
    """Return ||x_j||."""
    if sp.issparse(X):
        return np.sqrt(np.asarray(X.multiply(X).sum(axis=0)).ravel())
    return np.sqrt(np.einsum("ij,ij->j", X, X))


def screened(problem: L1Problem, length: np.ndarray) -> list[tuple[float, float]]:
    """Solve; return (relative gap, share of the features that is screened) of every scan."""
    found = []

    def solver() -> Any:
        state = Run(problem, TOL, 100)
        yield from state.begin()
        while True:
            scale = 1.0 / max(1.0, float(state.pull.max()))
            dual = scale * state.candidate.dual
            bound = -problem.risk.conjugate(dual)
            point = state.point
            objective = point.value + float(np.abs(point.u).sum())
            radius = np.sqrt(problem.risk.weight.max() * (objective - bound) / 2.0)
            share = np.mean(scale * state.pull + length * radius < 1.0)
            found.append(((objective - bound) / state.scale, float(share)))
            if state.status is not None:
                return
            goal = max(SHARE * min(state.gap, 1.0), 0.3 * TOL)
            point, counts = solve_over(state, state.choose(), goal)
            yield from state.certify(point, counts)

    run(solver())
    return found


def main() -> None:
    """Measure and write l1_screening.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=DEFAULT)
    options = parser.parse_args()
    records, body = [], []
    for name in options.sets.split(","):
        X, y = l1.SETS[name].read(common.data_folder(options.data))
        m, design, length = X.shape[1], as_design(X).arranged(), norms(X)
        everything = np.full(m, np.inf)
        penalty = Penalty(np.ones(m), np.zeros(m), -everything, everything)
        for k, C in l1.SETS[name].C.items():
            risk = Risk(y, np.full(len(y), C), Logistic(), intercept=False)
            problem = L1Problem(design, risk, penalty, float(len(y)))
            with common.log(f"{name}, {k} features"):
                found = screened(problem, length)
            records.append({"set": name, "wanted": k, "scans": found})
            cells = ", ".join(f"{share:.0%} at {gap:.0e}" for gap, share in found)
            body.append([name, k, cells])
    text = [
        "# Gap-safe screening: what it could save",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.table(["set", "features", "screened at the gap of each scan"], body),
    ]
    figures = {"machine": common.machine(), "records": records}
    common.write(options.results, "l1_screening", figures, "\n\n".join(text))


if __name__ == "__main__":
    main()
