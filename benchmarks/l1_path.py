"""Paths of l1-regularised logistic regression: seconds of 100 values of C, package by package.

    python benchmarks/l1_path.py
    python benchmarks/l1_path.py --sets s1,mice --repeats 3

    min_w ||w||_1 + C sum_i log(1 + exp(-y_i x_i'w)),    no intercept

100 values in geometric progression, from the C below which w = 0 to the C of `l1.py` for the wanted
number of features. What counts is the largest relative gap of all points, (f - f*) / f(0), computed
here in float64, with f* the best of all contestants and of zeronorm at 1e-8: the seconds are those
at the loosest tolerance with all points within 1e-4. Seconds hold the whole call on the user's X,
conversions included. Two more lines have the seconds to a model of 300 features, whose C nobody
knows: `L1Classifier(n_features=300)`, and adelie's path of 100 values of its own
(C from the smallest to 100 times that), stopped when it has 300.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import l1

GOAL = 1e-4
GRID = l1.decades(0, 9)
PROBLEMS = {"s1": 300, "news20ng": 300, "d3": 300, "d3f": 300, "d4f": 300, "mice": 300}
UNTIL = {"d4f": 300, "s1": 300}
METHODS = (("zeronorm", 1), ("zeronorm", 2), ("adelie", 1), ("adelie", 2), ("glmnet", 1))
TRUSTED = 1e-6  # adelie's tolerance in the lines of a given size


class Path100:
    """One path: the values of C, and the best objectives found."""

    def __init__(self, name: str, k: int, data: Path) -> None:
        self.X, self.y = l1.SETS[name].read(data)
        self.name, self.k = name, k
        self.least = 1 / float(np.abs(self.X.T @ (0.5 * self.y).astype(self.X.dtype)).max())
        self.C = np.geomspace(self.least, l1.SETS[name].C[k], 100)
        self.best = np.full(100, np.inf)

    def objectives(self, coef: Any) -> np.ndarray:
        """Return f of every point."""
        used = np.unique(coef.indices)
        part = self.X[:, used]
        part = part.tocsc().astype(float) if sp.issparse(part) else part.astype(np.float64)
        z = np.asarray(part @ coef[:, used].T.toarray())
        loss = np.logaddexp(0.0, -self.y[:, None] * z).sum(axis=0)
        return np.asarray(np.abs(coef).sum(axis=1)).ravel() + self.C * loss

    def gap(self, f: np.ndarray) -> float:
        """Return the largest relative gap of all points."""
        return float(((f - self.best) / (self.C * len(self.y) * np.log(2.0))).max())


def measure(path: Path100, contestants: list[l1.Contestant], options: Any) -> dict[str, Any]:
    """Time the whole grid of tolerances of everybody, then the loosest that reaches the goal."""
    found: dict[str, dict[float, dict[str, Any]]] = {}
    errors: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        common.save_problem(folder, path.X, path.y)
        np.save(folder / "p.npy", path.X.shape[1])
        out = folder / "coef.npz"

        def fit(one: l1.Contestant, tol: float) -> dict[str, Any]:
            request = {"op": "along", "C": path.C.tolist(), "tol": tol, "out": str(out)}
            reply = one.ask(options.limit, **request)
            reply["f"] = path.objectives(sp.load_npz(out))
            path.best = np.minimum(path.best, reply["f"])
            return reply

        contestants[0].load(folder, path.X)
        fit(contestants[0], 1e-8)
        contestants[0].ask(120.0, op="drop")
        for one in contestants:
            runs = found.setdefault(one.name, {})
            try:
                one.load(folder, path.X)
                for tol in GRID:
                    reply = fit(one, tol)
                    runs[tol] = {**reply, "all": [reply["seconds"]]}
                    if path.gap(reply["f"]) <= 0.3 * GOAL:
                        break
                one.ask(120.0, op="drop")
            except common.PeerError as error:
                errors[one.name] = str(error)
        for _ in range(options.repeats - 1):
            for one in contestants:
                tol = _loosest(path, found[one.name])
                if tol is None or found[one.name][tol]["seconds"] > options.limit / 4:
                    continue
                one.load(folder, path.X)
                found[one.name][tol]["all"].append(fit(one, tol)["seconds"])
                one.ask(120.0, op="drop")
        until = _until(path, contestants, folder, options) if path.name in UNTIL else []
    rows = []
    for one in contestants:
        tol = _loosest(path, found[one.name])
        row = {"name": one.name, "version": one.version, "error": errors.get(one.name, "")}
        if tol is not None:
            run = found[one.name][tol]
            row |= {
                "tol": tol,
                "seconds": common.median(run["all"]),
                "runs": len(run["all"]),
                "cpu": run["cpu"],
                "peak_mb": run["peak_mb"],
                "gap": path.gap(run["f"]),
            }
        rows.append(row)
    return {"set": path.name, "wanted": path.k, "rows": rows, "until": until}


def _loosest(path: Path100, runs: dict[float, dict[str, Any]]) -> float | None:
    return next((tol for tol in sorted(runs)[::-1] if path.gap(runs[tol]["f"]) <= GOAL), None)


def _until(
    path: Path100, contestants: list[l1.Contestant], folder: Path, options: Any
) -> list[dict[str, Any]]:
    """Return the seconds to UNTIL features, of those that can stop there."""
    rows = []
    for one in contestants:
        if one.method == "glmnet":
            continue
        one.load(folder, path.X)
        wide = np.geomspace(path.least, 100 * path.least, 100).tolist()
        request = {"op": "until", "C": wide, "tol": TRUSTED, "most": UNTIL[path.name]}
        replies = [one.ask(options.limit, **request) for _ in range(options.repeats)]
        one.ask(120.0, op="drop")
        rows.append(
            {
                "name": one.name,
                "seconds": common.median([reply["seconds"] for reply in replies]),
                "cpu": common.median([reply["cpu"] for reply in replies]),
                "features": replies[0]["features"],
            }
        )
    return rows


def report(records: list[dict[str, Any]], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far."""
    bars, body, sized = [], [], []
    for record in records:
        ours = {r["name"]: r["seconds"] for r in record["rows"] if "seconds" in r}
        peers = {n: s for n, s in ours.items() if not n.startswith("zeronorm")}
        mine = [s for n, s in ours.items() if n.startswith("zeronorm")]
        if peers and mine:
            name = min(peers, key=lambda one: peers[one])
            ratio = peers[name] / min(mine)
            bars.append(
                common.bar(
                    f"{record['set']}: the better of adelie and glmnet / zeronorm",
                    "at least 2", f"{ratio:.2f} ({name})", ratio >= 2,
                )
            )  # fmt: skip
        for row in record["rows"]:
            cells = ["-"] * 5
            if "seconds" in row:
                cells = [
                    f"{row['seconds']:.3f}", f"{row['cpu']:.3f}", f"{row['peak_mb']:.0f}",
                    f"{row['gap']:.0e}", f"{row['tol']:.0e}",
                ]  # fmt: skip
            body.append([record["set"], row["name"], row["version"], *cells, row["error"]])
        for row in record["until"]:
            cells = [f"{row['seconds']:.3f}", f"{row['cpu']:.3f}", row["features"]]
            sized.append([record["set"], row["name"], *cells])
        times = {row["name"]: row["seconds"] for row in record["until"]}
        if times:
            mine = min(s for n, s in times.items() if n.startswith("zeronorm"))
            theirs = min(s for n, s in times.items() if not n.startswith("zeronorm"))
            bars.append(
                common.bar(
                    f"{record['set']}: 300 features, adelie's path / zeronorm", "above 1",
                    f"{theirs / mine:.2f}", theirs > mine,
                )
            )  # fmt: skip
    header = ["set", "package", "version", "s", "CPU s", "MB above the data", "gap", "tol", "note"]
    text = [
        "# Paths of l1-regularised logistic regression",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "## Asked beside measured",
        common.bars_table(bars),
        "## 100 values of C, all within 1e-4",
        f"Medians of {options.repeats} turns (one, where a path takes more than a quarter of the "
        f"limit of {options.limit:.0f} CPU seconds); CPU, memory and gap are of the first.",
        common.table(header, body),
        "## To a model of 300 features",
        common.table(["set", "package", "s", "CPU s", "features"], sized),
    ]
    figures = {"machine": about, "bars": bars, "records": records}
    common.write(options.results, "l1_path", figures, "\n\n".join(text))


def main() -> None:
    """Measure and write l1_path.json and .md."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds for one path")
    parser.add_argument(
        "--keep", action="store_true", help="keep the other sets that the result file has"
    )
    options = parser.parse_args()
    folder = common.peer_folder(options.peers)
    contestants = [l1.Contestant(method, threads, folder) for method, threads in METHODS]
    about = common.machine()
    records = common.kept(options.results, "l1_path") if options.keep else []
    for name in options.sets.split(","):
        with common.log(f"{name}, 100 values of C"):
            path = Path100(name, PROBLEMS[name], common.data_folder(options.data))
            record = measure(path, contestants, options)
        records = [one for one in records if one["set"] != name] + [record]
        records.sort(key=lambda one: list(PROBLEMS).index(one["set"]))
        report(records, about, options)
    for one in contestants:
        one.close()


if __name__ == "__main__":
    main()
