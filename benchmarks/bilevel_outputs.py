"""What few groups cost where classes or responses share features: held-out scores on real data.

    python benchmarks/bilevel_outputs.py        two minutes

Eight features at most, in so many groups, beside eight free ones by exchanges (`method="l0"`);
C = 1 and the same final fit, the same five folds, R2 or the log-loss of held-out rows. `cookie_4`
and `tecator_3`: contents of dough and meat by the slopes of spectra, in intervals of wavelengths.
`yeast_18`: expression of genes at 18 times by 106 transcription factors, `srbct`: four kinds of
tumours by 2308 genes, both in clusters (Ward's) of columns that are much alike.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering

import _common as common
import _protocol as protocol
from zeronorm import BudgetClassifier, BudgetRegressor, cross_validate

K, N_GROUPS = 8, (1, 2, 3, 5)
INTERVAL = {"cookie": 20, "tecator": 10}  # wavelengths in one
CLUSTERS = {"yeast_cellcycle": 20, "srbct": 100}
SETS = {
    "cookie_4": "cookie",
    "tecator_3": "tecator",
    "yeast_18": "yeast_cellcycle",
    "srbct": "srbct",
}


def problem(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, the target and the group of every column."""
    arrays = protocol.arrays(folder, name)
    X, y = arrays["X"].astype(float), arrays.get("Y", arrays["y"])
    if name in INTERVAL:
        X = np.diff(X, axis=1)
        return X, y / y.std(axis=0), np.arange(X.shape[1]) // INTERVAL[name]
    X = np.log(X) if name == "srbct" else X
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y, AgglomerativeClustering(CLUSTERS[name]).fit_predict(Z.T)


def measured(model: Any, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> list[Any]:
    """Return features, groups, held-out score and seconds of CPU of a fit."""
    begin = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - begin
    scoring = "neg_log_loss" if isinstance(model, BudgetClassifier) else None
    found = cross_validate(model, X, y, scoring=scoring)
    score = f"{abs(found.mean[0]):.3f} ± {found.standard_error[0]:.2g}"
    return [model.support_.size, np.unique(groups[model.support_]).size, score, f"{seconds:.2f}"]


def main() -> int:
    """Measure, and write the tables."""
    parser = common.parser(__doc__)
    chosen = parser.parse_args()
    folder, machine = common.data_folder(chosen.data), common.machine()
    title, text = __doc__.split("\n\n", 1)
    report = [f"# {title.rstrip('.')}", text.split("\n\n", 1)[1].strip()]
    data: dict[str, Any] = {}
    for name, source in SETS.items():
        X, y, groups = problem(folder, source)
        classes = source == "srbct"
        estimator: Any = BudgetClassifier if classes else BudgetRegressor
        options = {"C": 1.0, "refit_C": "loo", **({"calibrate": False} if classes else {})}
        rows = [
            [g, *measured(estimator(K, n_groups=g, feature_groups=groups, **options), X, y, groups)]
            for g in N_GROUPS
        ]
        rows.append(["any", *measured(estimator(K, method="l0", **options), X, y, groups)])
        what = "held-out log-loss" if classes else "held-out R2"
        head = ["groups at most", "features", "groups", what, "CPU seconds"]
        shape = f"{X.shape[0]} x {X.shape[1]}, {np.unique(groups).size} groups"
        report += [f"## {name}: {shape}", common.table(head, rows)]
        data[name] = rows
    common.write(
        chosen.results, "bilevel_outputs", {"machine": machine, **data}, "\n\n".join(report)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
