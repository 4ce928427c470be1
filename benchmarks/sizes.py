"""How long it takes to choose the number of features.

    ZERONORM_DATA=DIR python benchmarks/sizes.py [--sets leukemia_golub_split,news20ng] [--turns N]

`BudgetCV` with ten folds over all sizes from 1 to 100: a hundred models in each fold, and the fit
of all hundred on all rows, with certificates and, below 1000 rows, calibration by five more folds.
Leukemia: 72 rows, 7129 genes. news20ng: 19466 rows, 1,625,866 words and pairs of words, present or
not, rows of unit norm. CPU is of all threads; wall and CPU together say how busy the machine was.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
from zeronorm import BudgetClassifier, BudgetCV

ASKED = {"leukemia_golub_split": 2.0, "news20ng": 60.0}
SIZES, FOLDS = range(1, 101), 10


def rows_of(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    """Return X and y of a data set."""
    with np.load(folder / name / "arrays.npz") as arrays:
        y = arrays["y"]
        if "X" in arrays:
            return arrays["X"], y
    X = sp.load_npz(folder / name / "X.npz").tocsr()
    X.data = np.ones(X.nnz, dtype=np.float32)
    length = np.sqrt(np.diff(X.indptr)).astype(np.float32)
    X.data /= np.repeat(length, np.diff(X.indptr))
    return X, y


def measure(X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return the seconds of one choice, and what was chosen."""
    wall, cpu, search = common.clock(
        lambda: BudgetCV(BudgetClassifier(), SIZES, cv=FOLDS).fit(X, y)
    )
    k, found = search.n_features_, search.validation_
    return {
        "wall": wall,
        "cpu": cpu,
        "fit": search.best_estimator_.seconds_["total"],
        "k": int(k),
        "score": float(found.mean[found.sizes.index(k)]),
        "best": float(found.mean.max()),
    }


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(ASKED))
    parser.add_argument("--turns", type=int, default=5, help="of the small set; of news20ng 1")
    options = parser.parse_args()
    folder, about = common.data_folder(options.data), common.machine()
    records, bars, lines = [], [], []
    chosen = options.sets.split(",")
    for name in chosen:
        X, y = rows_of(folder, name)
        turns = options.turns if X.shape[0] < 1000 else 1
        runs = [measure(X, y) for _ in range(turns)]
        records.append({"set": name, "runs": runs})
        wall, cpu, fit = (
            common.median([run[what] for run in runs]) for what in ("wall", "cpu", "fit")
        )
        asked = f"under {ASKED[name]:g} s"
        bars.append(common.bar(name, asked, f"{wall:.1f} s", wall < ASKED[name]))
        last = runs[-1]
        lines.append(
            [name, turns, f"{wall:.1f}", f"{min(run['wall'] for run in runs):.1f}", f"{cpu:.1f}",
             f"{fit:.1f}", last["k"], f"{last['score']:.3f}", f"{last['best']:.3f}"]
        )  # fmt: skip
        print(lines[-1], file=sys.stderr)
    bars += [
        common.bar(name, f"under {ASKED[name]:g} s", "", None)
        for name in ASKED
        if name not in chosen
    ]
    header = ["set", "turns", "wall s", "least", "CPU s", "of it the fit", "k", "accuracy", "best"]
    text = [
        "# Choosing the number of features",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.bars_table(bars),
        common.table(header, lines),
        "Medians over the turns, and the least wall seconds; of these the fit on all rows. "
        "Accuracy of the chosen size and of the best one, over the ten folds.",
    ]
    data = {"machine": about, "bars": bars, "records": records}
    common.write(options.results, "sizes", data, "\n\n".join(text))


if __name__ == "__main__":
    main()
