"""What the refit of `L1Classifier(n_features=k)` is worth on new rows.

    python benchmarks/l1_refit.py

The same k features with the coefficients of the l1 solution (`refit_C=None`) and of the refit (the
default, "loo"). Four sets of `_protocol.py`, prepared as there: expression, text, genotypes and web
pages with 36, 50, 9 and 3 % positives. Four splits each, 70 % train, k = 5, 20 and 50.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss

import _common as common
import _protocol as protocol
from zeronorm import L1Classifier

SETS = ("colon_alon", "basehock", "mice:albino", "w8a")
SIZES = (5, 20, 50)
REPEATS = 4
ARMS = {"l1": None, "refit": "loo"}
OUTCOMES = ("accuracy", "balanced accuracy", "log-loss")


def measure(problem: protocol.Problem, k: int) -> dict[str, dict[str, float]]:
    """Return the outcomes of both arms on one split."""
    found = {}
    for arm, refit_C in ARMS.items():
        model = L1Classifier(n_features=k, refit_C=refit_C, n_threads=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(problem.user, problem.y)
        predicted = model.predict(problem.test)
        found[arm] = {
            "accuracy": float(np.mean(predicted == problem.y_test)),
            "balanced accuracy": float(balanced_accuracy_score(problem.y_test, predicted)),
            "log-loss": float(log_loss(problem.y_test, model.predict_proba(problem.test))),
        }
    return found


def main() -> None:
    """Run the splits and write the report."""
    options = common.parser(__doc__).parse_args()
    folder = common.data_folder(options.data)
    rows: list[dict[str, Any]] = []
    for name in SETS:
        for seed in range(protocol.FIRST_SEED, protocol.FIRST_SEED + REPEATS):
            problem = protocol.problem(folder, name, seed)
            with common.log(f"{name} {seed}"):
                rows += [{"set": name, "seed": seed, "k": k, **measure(problem, k)} for k in SIZES]
    lines = []
    for name in SETS:
        some = [row for row in rows if row["set"] == name]
        cells = [
            f"{np.mean([row['l1'][o] for row in some]):.3f} -> "
            f"{np.mean([row['refit'][o] for row in some]):.3f}"
            for o in OUTCOMES
        ]
        lines.append([name, *cells])
    text = [
        "# The refit of l1 with k features",
        __doc__.split("\n\n", 2)[2].strip(),
        "Means over k and splits, of the l1 solution -> of its refit:",
        common.table(["set", *OUTCOMES], lines),
    ]
    data = {"machine": common.machine(), "rows": rows}
    common.write(options.results, "l1_refit", data, "\n\n".join(text))


if __name__ == "__main__":
    common.one_thread()
    main()
