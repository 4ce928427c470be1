"""Whether a change of the code has changed a result: fits of 51 models, compared to the last bit.

    python benchmarks/unchanged.py --write benchmarks/unchanged.json     before a change
    python benchmarks/unchanged.py                                       after it

A problem is a fit on the leukaemia data, on synthetic data or on a real set; what is kept of it are
supports, coefficients, intercepts, certified gaps and bounds. The bits depend on the BLAS, so that
they are to be compared on one machine. `--tol 1e-9` lists only larger relative differences.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import zeronorm as zn
from baselines import SVMRFE
from zeronorm import published

Outcome = dict[str, Any]
PROBLEMS: dict[str, Callable[[Path], Outcome]] = {}
FILE = common.HERE / "unchanged.json"


def real(folder: Path, name: str) -> dict[str, Any]:
    """Return the arrays of a real data set."""
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
        arrays: dict[str, Any] = {key: file[key] for key in file.files}
    if (folder / name / "X.npz").exists():
        arrays["X"] = sp.load_npz(folder / name / "X.npz")
    return arrays


def golub(folder: Path) -> tuple[Any, Any]:
    """Return the leukaemia data among the examples."""
    return common.golub()


def simulated(n: int = 200, p: int = 500, seed: int = 0, target: str = "classes") -> Any:
    """Return data with six informative features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    coef = np.zeros(p)
    coef[:6] = [2.0, -1.5, 1.0, 1.0, -0.8, 0.5]
    z = X @ coef
    if target == "classes":
        return X, (z + rng.standard_normal(n) > 0).astype(int)
    if target == "three":
        return X, np.digitize(z + rng.standard_normal(n), [-1.0, 1.5])
    return X, z + rng.standard_normal(n)


def kept(model: Any) -> Outcome:
    """Return what must not change of a fitted estimator."""
    out: Outcome = {"support": np.asarray(model.support_).tolist()}
    coef = model.coef_
    coef = coef.toarray() if sp.issparse(coef) else np.atleast_2d(coef)
    out["coef"] = coef[:, model.support_].tolist()
    out["intercept"] = np.atleast_1d(model.intercept_).tolist()
    certificates = getattr(model, "certificate_", None)
    if certificates is not None:
        many = certificates if isinstance(certificates, tuple) else [certificates]
        out["bounds"] = [[c.objective, c.bound, c.fixed_in, c.candidates] for c in many]
    if hasattr(model, "gap_"):
        out["gap_"] = np.atleast_1d(model.gap_).tolist()
    paths = getattr(model, "path_", None)
    if isinstance(paths, zn_path()):
        out["path"] = [paths[k].support.tolist() for k in paths]
    return out


def zn_path() -> type:
    """Return the class of the paths of selections."""
    from zeronorm.core.results import Path as SelectionPath

    return SelectionPath


def problem(name: str, data: Callable[[Path], Any], make: Callable[[], Any], **fit: Any) -> None:
    """Add a problem: fit what `make` returns on (X, y) of `data`."""

    def outcome(folder: Path) -> Outcome:
        X, y = data(folder)
        return kept(make().fit(X, y, **fit))

    PROBLEMS[name] = outcome


def named(name: str, target: str = "y", rows: int | None = None) -> Callable[[Path], Any]:
    """Return a reader of a real set."""

    def read(folder: Path) -> tuple[Any, Any]:
        arrays = real(folder, name)
        return arrays["X"][:rows], arrays[target][:rows]

    return read


def grouped(n_groups: int = 100) -> np.ndarray:
    """Return groups of five columns for the simulated data."""
    return np.repeat(np.arange(n_groups), 5)


problem("budget golub 8", golub, lambda: zn.BudgetClassifier(8))
problem("budget golub sizes", golub, lambda: zn.BudgetClassifier([3, 8, 20], calibrate=False))
problem("budget simulated", lambda f: simulated(), lambda: zn.BudgetClassifier(6))
problem("budget no intercept", lambda f: simulated(), lambda: zn.BudgetClassifier(
    6, fit_intercept=False, standardize=False, refit_C=1.0))  # fmt: skip
problem("budget three classes", lambda f: simulated(target="three"),
        lambda: zn.BudgetClassifier(5, multi_class="ovr"))  # fmt: skip
problem("budget srbct", named("srbct"), lambda: zn.BudgetClassifier(10, multi_class="ovr"))
problem("budget pcmac sparse", lambda f: (sp.csr_array(real(f, "pcmac")["X"]),
        real(f, "pcmac")["y"]), lambda: zn.BudgetClassifier(30))  # fmt: skip
problem("budget rcv1 sparse", named("rcv1_small"), lambda: zn.BudgetClassifier(50))
problem("budget colon weights", named("colon_alon"), lambda: zn.BudgetClassifier(
    10, class_weight="balanced", forced_features=[7, 100]))  # fmt: skip
for method in ("l1", "reweighted-l1", "greedy", "l0"):
    problem(f"budget colon {method}", named("colon_alon"),
            lambda method=method: zn.BudgetClassifier(8, method=method))  # fmt: skip
problem("minimax golub", golub, lambda: published.MinimaxLogisticRegression([5, 10]))
problem(
    "minimax colon C=1",
    named("colon_alon"),
    lambda: published.MinimaxLogisticRegression(8, C=1.0),
)
problem("minimax groups", lambda f: simulated(), lambda: published.MinimaxLogisticRegression(
    feature_groups=grouped(), n_groups=3))  # fmt: skip
for inner in ("fista", "simplemkl", "smoothing", "smoothing-published"):
    problem(f"minimax {inner}", lambda f: simulated(), lambda inner=inner:
            published.MinimaxLogisticRegression(9, solver=inner, fit_intercept=False))  # fmt: skip
problem("minimax published", named("colon_alon"),
        lambda: published.MinimaxLogisticRegression.as_published(10))  # fmt: skip
problem("fgm golub", golub, lambda: published.FeatureGeneratingMachine(10))
problem("fgm published", lambda f: simulated(),
        lambda: published.FeatureGeneratingMachine.as_published(10))  # fmt: skip
problem("greedy golub", golub, lambda: published.GreedyLogisticRegression([2, 6]))
problem("greedy groups", lambda f: simulated(), lambda: published.GreedyLogisticRegression(
    feature_groups=grouped(), n_groups=[1, 3]))  # fmt: skip
for solver in ("auto", "splicing", "iht", "salm", "asalm"):
    problem(f"l0 {solver}", lambda f: simulated(), lambda solver=solver:
            published.L0LogisticRegression(6, solver=solver))  # fmt: skip
problem(
    "l0 gap 0", lambda f: simulated(100, 60), lambda: published.L0LogisticRegression(4, gap=0.0)
)
problem("l0 criterion", lambda f: simulated(), lambda: published.L0LogisticRegression(
    10, criterion="bic"))  # fmt: skip
for solver in ("auto", "newglmnet", "glmnet", "cdn"):
    problem(f"l1 {solver}", lambda f: simulated(), lambda solver=solver:
            zn.published.L1LogisticRegression(0.05, solver=solver))  # fmt: skip
problem("l1 squared hinge", named("colon_alon"), lambda: zn.L1Classifier(
    0.1, loss="squared_hinge", standardize=True))  # fmt: skip
problem("l1 elastic sparse", named("rcv1_small"), lambda: zn.L1Classifier(
    5.0, l1_ratio=0.5))  # fmt: skip
problem("l1 size", named("colon_alon"), lambda: zn.L1Classifier(
    n_features=10, standardize=True))  # fmt: skip
problem("l1 cv", lambda f: simulated(), lambda: zn.L1ClassifierCV(20, cv=3))
problem("reweighted", lambda f: simulated(), lambda: published.ReweightedL1LogisticRegression(0.1))
problem("bilevel classifier", lambda f: simulated(), lambda: published.BilevelClassifier(
    6, 3, feature_groups=grouped()))  # fmt: skip
problem("bilevel regressor", lambda f: simulated(target="number"),
        lambda: published.BilevelRegressor(6, 3, feature_groups=grouped()))  # fmt: skip
problem("bilevel ista", lambda f: simulated(target="number"), lambda: published.BilevelRegressor(
    [4, 6], 3, feature_groups=grouped(), solver="ista"))  # fmt: skip
problem("bilevel riboflavin", named("riboflavin"), lambda: published.BilevelRegressor(10, C=1.0))
for measure in ("f1", "auc", "prbep"):
    problem(f"measure {measure}", lambda f: simulated(), lambda measure=measure:
            zn.MeasureClassifier(measure, 8))  # fmt: skip
problem("measure two-layer", lambda f: simulated(), lambda: published.TwoLayerClassifier(
    "f1", 8))  # fmt: skip
problem("svm-rfe", golub, lambda: SVMRFE(8))


def proofs(folder: Path) -> Outcome:
    """Certify and prove a support of simulated data."""
    X, y = simulated(80, 40, seed=3)
    model = zn.BudgetClassifier(4, calibrate=False).fit(X, y)
    certificate = zn.certify(model, X, y)
    proof = zn.prove(model, X, y, gap=0.0)
    zn.verify(proof.certificate, X, y)
    tree = proof.certificate.tree
    return {
        "support": proof.support.tolist(),
        "bounds": [certificate.objective, certificate.bound, proof.certificate.bound],
        "candidates": [certificate.candidates, proof.certificate.candidates],
        "nodes": 0 if tree is None else int(tree.parent.size),
    }


PROBLEMS["certify and prove"] = proofs


def differences(old: Any, new: Any, tol: float) -> str:
    """Return how two outcomes differ, "" where they do not."""
    if isinstance(old, dict):
        found = [f"{key}: {text}" for key in sorted({*old, *new})
                 if (text := differences(old.get(key), new.get(key), tol))]  # fmt: skip
        return "; ".join(found)
    if old == new:
        return ""
    try:
        a, b = np.asarray(old, dtype=float), np.asarray(new, dtype=float)
    except (TypeError, ValueError):
        return "differs in form"
    if a.shape != b.shape:
        return f"shape {a.shape} -> {b.shape}"
    if np.array_equal(a, b, equal_nan=True):
        return ""
    with np.errstate(invalid="ignore"):
        largest = float(np.nanmax(np.abs(a - b)) / max(float(np.nanmax(np.abs(a))), 1e-300))
    return "" if largest <= tol else f"relative difference {largest:.2g}"


def main() -> int:
    """Fit all problems; write them, or compare with those that were written."""
    parser = common.parser(__doc__)
    parser.add_argument("--write", type=Path, default=None, help="write the outcomes to this file")
    parser.add_argument("--file", type=Path, default=FILE, help="the outcomes to compare with")
    parser.add_argument("--tol", type=float, default=0.0, help="relative difference to be listed")
    parser.add_argument("--only", default="", help="problems whose name contains this")
    options: argparse.Namespace = parser.parse_args()
    folder = common.data_folder(options.data)
    outcomes = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in PROBLEMS.items():
            if options.only in name:
                outcomes[name] = json.loads(json.dumps(run(folder)))
    if options.write is not None:
        options.write.write_text(json.dumps(outcomes, indent=None) + "\n")
        print(f"{len(outcomes)} problems written to {options.write}")
        return 0
    wanted = json.loads(options.file.read_text())
    changed = 0
    for name, outcome in outcomes.items():
        text = differences(wanted.get(name, {}), outcome, options.tol)
        if text:
            changed += 1
            print(f"{name}: {text}")
    print(f"{len(outcomes)} problems, {changed} changed")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
