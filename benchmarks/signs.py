"""Exactly k features with coefficients that are not negative: objectives, proofs, new rows.

    python benchmarks/signs.py

    min_{u, b}  1/2 ||u||^2 + C sum_i f(y_i, x_i'u + b)  subject to  ||u||_0 <= k,  u >= 0

on standardised columns, C = 0.1: octane numbers by near-infrared spectra, fat by spectra of meat,
and two classes of tissue by expressions. Three ways to k features: "signs", a search with the
signs; "signs afterwards", a search without them whose features are refitted with them; and "l1",
the first k features of a path with the signs (that of `L1Regressor`, `L1Classifier`: their
features, refitted). All are judged by the same refit, by a bounded quasi-Newton method of SciPy. On
new rows: the share of the deviance explained, or the accuracy, mean of ten folds, of what `fit`
returns.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import _common as common
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    L1Classifier,
    L1Regressor,
    cross_validate,
    prove,
)

C = 0.1
SETS = ("gasoline", "tecator", "colon_alon")
SIZES = (3, 5, 10)
SECONDS = 20.0  # of a proof
HEADER = (
    "set", "k", "used", "objective", "signs afterwards", "l1", "gap", "nodes", "s, fit",
    "s, proof", "new rows, signs", "new rows, without",
)  # fmt: skip


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and target of a set."""
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    return X, y[:, 0] if y.ndim == 2 else y


def objective(X: np.ndarray, y: np.ndarray, support: np.ndarray) -> float:
    """Return the least objective on a support, coefficients not negative."""
    Z = X[:, support]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    classes = np.unique(y)
    labels = np.where(y == classes[-1], 1.0, -1.0) if classes.size == 2 else y - y.mean()

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = Z @ w[:-1] + w[-1]
        if classes.size == 2:
            loss = np.logaddexp(0.0, -labels * z)
            slope = -labels * np.exp(-np.logaddexp(0.0, labels * z))
        else:
            loss, slope = 0.5 * (labels - z) ** 2, z - labels
        gradient = np.append(w[:-1] + C * Z.T @ slope, C * slope.sum())
        return 0.5 * w[:-1] @ w[:-1] + C * loss.sum(), gradient

    bounds = [(0.0, None)] * support.size + [(None, None)]
    start = np.zeros(support.size + 1)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000}
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.fun)


def measure(X: np.ndarray, y: np.ndarray, k: int) -> dict[str, Any]:
    """Return what the three ways give."""
    two = np.unique(y).size == 2
    budget: Any = BudgetClassifier if two else BudgetRegressor
    options: dict[str, Any] = {"calibrate": False} if two else {}
    lasso: Any = L1Classifier if two else L1Regressor
    begin = time.perf_counter()
    signed = budget(k, signs=1, method="l0", **options).fit(X, y)
    seconds = time.perf_counter() - begin
    unsigned = budget(k, method="l0", **options).fit(X, y)
    l1 = lasso(n_features=k, signs=1, standardize=True, refit_C=None).fit(X, y)
    proof = prove(signed, X, y, gap=0.0, time_limit=SECONDS)
    supports = {
        "signs": proof.support, "signs afterwards": unsigned.support_, "l1": l1.support_
    }  # fmt: skip
    models = {"signs": signed, "without signs": unsigned}
    scores = {
        name: float(cross_validate(model, X, y, cv=10).mean[0]) for name, model in models.items()
    }
    return {
        "objectives": {name: objective(X, y, support) for name, support in supports.items()},
        "gap": proof.certificate.gap,
        "nodes": proof.history[-1].n_nodes,
        "seconds": seconds,
        "proof_seconds": proof.history[-1].seconds,
        "used": int(np.count_nonzero(signed.coef_)),
        "scores": scores,
    }


def _row(row: dict[str, Any]) -> list[Any]:
    """Return a row of the table."""
    objectives, scores = row["objectives"], row["scores"]
    own = objectives["signs"]
    above = [max(0.0, objectives[name] / own - 1.0) for name in ("signs afterwards", "l1")]
    gap = "proven" if row["gap"] <= 1e-9 else f"{row['gap']:.2%}"
    seconds = [f"{row[name]:.2f}" for name in ("seconds", "proof_seconds")]
    of_rows = [f"{scores[name]:.3f}" for name in ("signs", "without signs")]
    others = [f"+{one:.2%}" for one in above]
    return [row["set"], row["k"], row["used"], f"{own:.5g}", *others, gap, row["nodes"],
            *seconds, *of_rows]  # fmt: skip


def main() -> None:
    """Measure and write the report."""
    options = common.parser(__doc__).parse_args()
    folder = common.data_folder(options.data)
    rows: list[dict[str, Any]] = []
    for name in SETS:
        X, y = read(folder, name)
        for k in SIZES:
            with common.log(f"{name} {k}"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows.append({"set": name, "k": k, **measure(X, y, k)})
    text_rows = [_row(row) for row in rows]
    text = [
        "# Coefficients that are not negative",
        __doc__.split("\n\n", 2)[2].strip(),
        common.table(HEADER, text_rows),
        "used: coefficients of the final fit that are not 0. Objectives of the other two ways are "
        "those above that of the first.",
    ]
    data = {"machine": common.machine(), "rows": rows}
    common.write(options.results, "signs", data, "\n\n".join(text))


if __name__ == "__main__":
    common.one_thread()
    main()
