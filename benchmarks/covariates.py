"""What covariates cost a fit to survival times.

    python benchmarks/covariates.py [--repeats N]

Drawn data: standard normal covariates and features, hazards of exp(.3 a'1 + .6 x'(1, -1, .7, -.7,
.5)) with the first five features, independent censoring of exponential times with mean 2.
`BudgetSurvivalAnalysis` takes ten features, with the covariates as covariates and with these left
out of the model (they are features then): CPU seconds of one thread, medians of fits that
alternate, after one of each that is not counted.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import _common as common
from zeronorm import BudgetSurvivalAnalysis

SHAPES = ((100, 5000), (200, 500), (300, 2000), (1000, 20_000), (5000, 2000), (5000, 20_000))
COVARIATES, FEATURES = 3, 10
STRENGTHS: tuple[float | str, ...] = ("auto", 0.1, 1.0)
SLOPES = 0.6 * np.array([1.0, -1.0, 0.7, -0.7, 0.5])
ASKED = 1.5


def drawn(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X, whose first columns are the covariates, and the target."""
    rng = np.random.default_rng(0)
    A, X = rng.standard_normal((n, COVARIATES)), rng.standard_normal((n, p))
    hazard = np.exp(X[:, : SLOPES.size] @ SLOPES + 0.3 * A.sum(axis=1))
    time_, censored = rng.exponential(1.0 / hazard), rng.exponential(2.0, n)
    y = np.empty(n, dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = time_ <= censored, np.minimum(time_, censored)
    return np.asfortranarray(np.column_stack([A, X])), y


def measure(n: int, p: int, C: float | str, repeats: int) -> dict[str, Any]:
    """Return the seconds of fits without and with covariates."""
    X, y = drawn(n, p)
    seconds: dict[str, list[float]] = {"without": [], "with": []}
    for turn in range(repeats + 1):
        for name, covariates in (("without", None), ("with", list(range(COVARIATES)))):
            model = BudgetSurvivalAnalysis(FEATURES, C=C, covariates=covariates)
            start = time.process_time()
            model.fit(X, y)
            if turn:
                seconds[name].append(time.process_time() - start)
    return {"n": n, "p": p, "C": C, **seconds}


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="default: 5")
    options = parser.parse_args()
    common.one_thread()
    machine = common.machine()
    found = [measure(n, p, C, options.repeats) for C in STRENGTHS for n, p in SHAPES]
    rows = []
    for one in found:
        without, beside = common.median(one["without"]), common.median(one["with"])
        shape = f"{one['n']} x {one['p']}"
        rows.append([shape, one["C"], f"{without:.3g}", f"{beside:.3g}", f"{beside / without:.2f}"])
    header = ["rows x features", "C", "without, s", "with, s", f"ratio (asked: {ASKED})"]
    about = (__doc__ or "").split("\n\n", 2)[2].strip()
    text = "\n\n".join(
        ["# Survival times beside three covariates", about, common.table(header, rows)]
    )
    common.write(options.results, "covariates", {"machine": machine, "fits": found}, text)


if __name__ == "__main__":
    main()
