"""How long it takes to choose the number of features.

    ZERONORM_DATA=DIR python benchmarks/sizes.py [--sets leukemia_golub_split,news20ng] [--turns N]
        [--old CHECKOUT]

With --old another working tree of this project, which has its package in `.venv`, takes turns: what
it costs there, and whether both choose the same features and have the same scores.

`BudgetCV` with ten folds over all sizes from 1 to 100: a hundred models in each fold, and the fit
of all hundred on all rows, with certificates and, below 1000 rows, calibration by five more folds.
Leukemia: 72 rows, 7129 genes. news20ng: 19466 rows, 1,625,866 words and pairs of words, present or
not, rows of unit norm. CPU is of all threads; wall and CPU together say how busy the machine was.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common

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
    from zeronorm import BudgetClassifier, BudgetCV

    wall, cpu, search = common.clock(
        lambda: BudgetCV(BudgetClassifier(), SIZES, cv=FOLDS).fit(X, y)
    )
    k, found = search.n_features_, search.validation_
    path = search.best_estimator_.path_
    supports = np.concatenate([path[size].support for size in SIZES])
    scores = np.round(found.scores, 10)
    return {
        "digest": hashlib.sha256(supports.tobytes() + scores.tobytes()).hexdigest(),
        "wall": wall,
        "cpu": cpu,
        "fit": search.best_estimator_.seconds_["total"],
        "k": int(k),
        "score": float(found.mean[found.sizes.index(k)]),
        "best": float(found.mean.max()),
    }


class Worker(common.PeerWorker):
    """A build of zeronorm, in a process of its own."""

    environment = "zeronorm"

    def __init__(self, method: str, threads: int) -> None:
        pass

    def measure(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what `measure` does of a data set."""
        return measure(*rows_of(Path(request["data"]), request["name"]))


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(ASKED))
    parser.add_argument("--turns", type=int, default=5, help="of the small set; of news20ng 1")
    parser.add_argument("--old", type=Path, help="the checkout to compare with")
    options = parser.parse_args()
    pythons = {"new": sys.executable}
    if options.old is not None:
        pythons["old"] = str(options.old.resolve() / ".venv/bin/python")
    builds = {key: common.Peer(key, one, None, "sizes.py") for key, one in pythons.items()}
    folder, about = common.data_folder(options.data), common.machine()
    records, bars, lines = [], [], []
    chosen = options.sets.split(",")
    for name in chosen:
        turns = options.turns if name != "news20ng" else 1
        runs: dict[str, list[dict[str, Any]]] = {key: [] for key in builds}
        for _ in range(turns):
            for key, build in builds.items():
                runs[key].append(build.ask(op="measure", data=str(folder), name=name))
                print(name, key, runs[key][-1], file=sys.stderr)
        records.append({"set": name, "runs": runs["new"], "old": runs.get("old", [])})
        new = {what: [run[what] for run in runs["new"]] for what in ("wall", "cpu", "fit")}
        wall, cpu, fit = (common.median(seconds) for seconds in new.values())
        asked = f"under {ASKED[name]:g} s"
        bars.append(common.bar(name, asked, f"{wall:.1f} s", wall < ASKED[name]))
        last, beside = runs["new"][-1], ["", "", ""]
        if "old" in runs:
            before = common.median([run["cpu"] for run in runs["old"]])
            pairs = zip(runs["new"], runs["old"], strict=True)
            same = all(one["digest"] == other["digest"] for one, other in pairs)
            beside = [f"{before:.1f}", f"{cpu / before:.2f}", "yes" if same else "no"]
        lines.append(
            [name, turns, f"{wall:.1f}", f"{min(new['wall']):.1f}", f"{cpu:.1f}", f"{fit:.1f}",
             *beside, last["k"], f"{last['score']:.3f}", f"{last['best']:.3f}"]
        )  # fmt: skip
    for build in builds.values():
        build.close()
    bars += [
        common.bar(name, f"under {ASKED[name]:g} s", "", None)
        for name in ASKED
        if name not in chosen
    ]
    header = [
        "set", "turns", "wall s", "least", "CPU s", "of it the fit", "CPU before", "ratio",
        "same", "k", "accuracy", "best",
    ]  # fmt: skip
    text = [
        "# Choosing the number of features",
        (__doc__ or "").split("\n\n", 3)[3].strip(),
        common.bars_table(bars),
        common.table(header, lines),
        "Medians over the turns, and the least wall seconds; of these the fit on all rows. Beside "
        "them the CPU seconds of the build before, which took turns, what share of them is left, "
        "and whether all supports and the scores of all folds are the same. "
        "Accuracy of the chosen size and of the best one, over the ten folds.",
    ]
    data = {"machine": about, "bars": bars, "records": records}
    common.write(options.results, "sizes", data, "\n\n".join(text))


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] in ("new", "old"):
        common.serve(Worker)
    else:
        main()
