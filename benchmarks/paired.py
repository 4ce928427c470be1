"""The seconds of two builds of zeronorm beside each other, fit by fit, in turn.

    python benchmarks/paired.py --old CHECKOUT
    python benchmarks/paired.py --old CHECKOUT --only budget,fgm --turns 12

CHECKOUT is another working tree of this project with its package in `.venv`. Both builds have a
process of their own and take turns, the first one alternating, with one thread. Fits are those of
the `unchanged.py` of each tree, by their names, and those of `LARGE` below, whose parameters both
builds know. What counts is the CPU time of the fit, after one fit that is not counted; reading the
data is no part of it. The ratio is the median over turns of new / old, with its quartiles: a row is
slower where the lower quartile is above 1.05.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import _common as common

SLOWER = 1.05
QUICK = 0.2  # seconds; shorter fits are repeated within a turn


def large() -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return sets and estimators by name; both builds have these names and parameters."""
    import zeronorm as zn

    return {
        "pool, news20ng, 100": ("news20ng", lambda: zn.BudgetClassifier(100)),
        "pool, relathe, 20": ("relathe", lambda: zn.BudgetClassifier(20)),
        "pool, mnist10k, 50": ("mnist10k", lambda: zn.BudgetClassifier(50)),
        "pool, folds, relathe, 20": ("relathe", lambda: zn.BudgetClassifier(20, calibrate=True)),
        "l0, madelon, 10": ("madelon", lambda: zn.BudgetClassifier(10, method="l0")),
        "greedy, relathe, 20": ("relathe", lambda: zn.BudgetClassifier(20, method="greedy")),
        "l1, news20ng, 50": ("news20ng", lambda: zn.BudgetClassifier(50, method="l1")),
        "F1, relathe, 20": ("relathe", lambda: zn.MeasureClassifier("f1", n_features=20)),
    }


def read(folder: Path, name: str) -> tuple[Any, np.ndarray]:
    """Return a set with labels of two classes."""
    import unchanged

    data = unchanged.real(folder, name)
    return data["X"], data["y"]


class Worker(common.PeerWorker):
    """A build: its fits, by name."""

    environment = "zeronorm"

    def __init__(self, method: str, threads: int) -> None:
        import unchanged

        self.unchanged = unchanged

    def names(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the names of all fits."""
        return {"names": [*self.unchanged.PROBLEMS, *large()]}

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the CPU seconds of a fit, which is made several times where it is quick."""
        name, folder = request["name"], Path(request["data"])
        if name in self.unchanged.PROBLEMS:
            outcome = self.unchanged.PROBLEMS[name]
            call = lambda: outcome(folder)  # noqa: E731
        else:
            which, make = large()[name]
            X, y = self._kept(folder, which)
            call = lambda: make().fit(X, y)  # noqa: E731
        seconds: list[float] = []
        while len(seconds) < request["repeats"] and sum(seconds) < QUICK:
            begin = time.process_time()
            call()
            seconds.append(time.process_time() - begin)
        return {"seconds": min(seconds)}

    def _kept(self, folder: Path, name: str) -> tuple[Any, np.ndarray]:
        if self.X is None or self.X[0] != name:
            self.X = (name, *read(folder, name))
        return self.X[1], self.X[2]


def main() -> None:
    """Run."""
    parser = common.parser(__doc__)
    parser.add_argument("--old", required=True, type=Path, help="the checkout to compare with")
    parser.add_argument("--only", default="", help="fits whose names begin with one of these")
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    folder, about = common.data_folder(options.data), common.machine()
    trees = {"old": options.old.resolve(), "new": common.HERE.parent}
    builds = {
        key: common.Peer(str(tree / "benchmarks"), str(tree / ".venv/bin/python"), 1, "paired.py")
        for key, tree in trees.items()
    }
    known = [build.ask(300.0, op="names")["names"] for build in builds.values()]
    wanted = tuple(options.only.split(","))
    names = [name for name in known[1] if name in known[0] and name.startswith(wanted)]
    records = []
    for name in names:
        seconds: dict[str, list[float]] = {key: [] for key in builds}
        with common.log(name):
            for turn in range(options.turns + 1):
                for key in sorted(builds, reverse=turn % 2 == 0):
                    asked = {"name": name, "data": str(folder), "repeats": 5 if turn else 1}
                    spent = builds[key].ask(600.0, op="fit", **asked)["seconds"]
                    if turn:
                        seconds[key].append(spent)
        ratios = np.array(seconds["new"]) / np.array(seconds["old"])
        low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
        records.append({"name": name, "low": low, "ratio": middle, "high": high, **seconds})
    for build in builds.values():
        build.close()
    slower = [one["name"] for one in records if one["low"] > SLOWER]
    rows = [
        [
            one["name"], f"{common.median(one['old']):.4g}", f"{common.median(one['new']):.4g}",
            f"{one['ratio']:.3f}", f"{one['low']:.3f} to {one['high']:.3f}",
        ]
        for one in records
    ]  # fmt: skip
    overall = float(np.exp(np.mean([np.log(one["ratio"]) for one in records])))
    text = [
        "# Two builds of zeronorm beside each other",
        "",
        f"CPU seconds of fits, new / old: {overall:.3f} in the geometric mean of {len(records)}. "
        f"Slower than 5 %: {', '.join(slower) or 'none'}.",
        "",
        common.table(["fit", "old, s", "new, s", "new / old", "quartiles"], rows),
    ]
    data = {"machine": about, "records": records}
    common.write(options.results, "paired", data, "\n".join(text))


if __name__ == "__main__":
    if len(sys.argv) == 3 and not sys.argv[1].startswith("-"):
        # The fits of the tree whose interpreter this is.
        sys.path.insert(0, sys.argv[1])
        common.serve(Worker)
    else:
        main()
