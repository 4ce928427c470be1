"""l1 of counts, survival times and several classes at one C: seconds to a gap, by package.

    python benchmarks/l1_losses.py --peers FOLDER
    python benchmarks/l1_losses.py --only cox

FOLDER has an environment for each package, of its name, or is one for all of them.

    min ||w||_1 + C sum_i f_i,    columns standardised, C = R times that of the first feature

with f half the deviance of a count, minus the logarithm of Cox's partial likelihood, or the
multinomial log-loss. Every package follows its tolerances until its objective is within GAP of
the best possible one, as a share of that without features; the seconds are those at the loosest
such tolerance. The objective is computed here, in float64, with the best intercepts, and the best
possible is the certified bound of zeronorm at 1e-9. Packages take turns in processes of their own
with one thread; first calls are not counted, and a package has BUDGET seconds for all tolerances
of a problem. `_l1_loss_peers.py` says what each of them is asked.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
from zeronorm import L1Classifier, L1Regressor, L1SurvivalAnalysis
from zeronorm.losses import Cox, Multinomial, Poisson, fit_intercept

GAPS = (1e-4, 1e-6)
RATIOS = (3.0, 10.0)  # R
TOLERANCES = tuple(10.0**-e for e in range(2, 11))
FAMILIES = {
    "zeronorm": ("poisson", "cox", "multinomial"),
    "skglm": ("poisson", "cox"),
    "sksurv": ("cox",),
    "sklearn": ("multinomial",),
}
FIRST, BUDGET = 60.0, 20.0  # seconds of CPU of a first call, and of all fits of one problem


class Problem:
    """One data set, its loss, and the objective."""

    def __init__(self, family: str, X: np.ndarray, y: np.ndarray) -> None:
        X = X[:, X.std(axis=0) > 0].astype(np.float64)
        self.family, self.y = family, y
        self.X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
        n = len(X)
        self.classes = np.unique(y) if family == "multinomial" else None
        self.weight = np.ones(n if self.classes is None else n * self.classes.size)
        if family == "cox":
            self.loss: Any = Cox()
            self.target = np.column_stack([y, np.zeros(n)])
        elif self.classes is not None:
            self.loss = Multinomial(self.classes.size)
            self.target = (self.classes[:, None] == y).astype(np.float64).ravel()
        else:
            self.loss, self.target = Poisson(), y.astype(np.float64)
        gradient = self._least(np.zeros(self.weight.size))[1]
        self.null = self._least(np.zeros(self.weight.size))[0]
        self.first = 1.0 / float(np.abs(gradient.reshape(-1, n) @ self.X).max())

    def _least(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss at the best intercepts, and its gradient."""
        if self.family == "poisson":
            return fit_intercept(self.loss, z, self.target, self.weight)[1:]
        found: tuple[float, np.ndarray] = self.loss.value_gradient(z, self.target, self.weight)
        return found

    def objective(self, w: np.ndarray, C: float) -> float:
        """Return the objective of coefficients."""
        z = (self.X @ np.atleast_2d(w).T).T.ravel()
        return float(np.abs(w).sum()) + C * self._least(z)[0]

    def bound(self, C: float) -> tuple[float, int]:
        """Return a certified lower bound of the objective, and the number of features."""
        y: Any = self.y
        model: Any = L1Regressor(C, loss="poisson", tol=1e-9)
        if self.family == "cox":
            model = L1SurvivalAnalysis(C, tol=1e-9)
            y = np.rec.fromarrays([y[:, 1] > 0, y[:, 0]], names="event,time")
        elif self.family == "multinomial":
            model = L1Classifier(C, multi_class="multinomial", tol=1e-9)
        model.fit(self.X, y)
        return model.objective_ - model.gap_ * C * self.null, model.support_.size


def problems(folder: Path) -> dict[str, Problem]:
    """Return a problem of each family."""

    def real(name: str) -> Any:
        return np.load(folder / name / "arrays.npz", allow_pickle=False)

    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3000))
    counts = rng.poisson(np.exp(X[:, :8] @ np.full(8, 0.25)))
    chop, srbct = real("chop"), real("srbct")
    times = np.column_stack([chop["time"], chop["event"]]).astype(np.float64)
    times[:, 0] += 1e-6 * np.arange(len(times))  # packages differ in how they count ties
    return {
        "counts, 500 x 3000, drawn": Problem("poisson", X, counts.astype(np.float64)),
        "chop, survival": Problem("cox", chop["X"], times),
        "srbct, classes": Problem("multinomial", srbct["X"], srbct["y"]),
    }


def measure(problem: Problem, C: float, pythons: dict[str, str], repeats: int) -> dict[str, Any]:
    """Return the figures of everybody that has the family, at one C."""
    bound, size = problem.bound(C)
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", problem.X)
        np.save(Path(folder) / "y.npy", problem.y)
        for method, python in pythons.items():
            if problem.family not in FAMILIES[method]:
                continue
            rows[method] = row = {"error": "" if python else "not installed"}
            if not python:
                continue
            peer = common.Peer(method, python, 1, "_l1_loss_peers.py")
            try:
                follow(peer, problem, C, bound, Path(folder), repeats, row)
            except common.PeerError as error:
                over = str(error).startswith("over")
                row["error"] = f"over {BUDGET:.0f} s in all" if over else str(error)
            if peer.alive:
                peer.close()
    return {"C": C, "features": size, "rows": rows}


def follow(
    peer: Any, problem: Problem, C: float, bound: float, folder: Path, repeats: int,
    row: dict[str, Any],
) -> None:  # fmt: skip
    """Follow the tolerances of a package until its gaps are reached, or its time is over."""
    out, left = str(folder / "w.npy"), BUDGET
    row["version"] = peer.ask(FIRST, op="version")["version"]
    peer.ask(FIRST, op="warm", family=problem.family)
    peer.ask(FIRST, op="load", path=str(folder))
    for tol in TOLERANCES:
        request = {"family": problem.family, "C": C, "tol": tol, "out": out}
        reply = peer.ask(left, op="fit", repeats=repeats, **request)
        left -= sum(reply["cpu"])
        gap = (problem.objective(np.load(out), C) - bound) / (C * problem.null)
        for goal in GAPS:
            if gap <= goal and f"{goal:g}" not in row:
                row[f"{goal:g}"] = {
                    "tol": tol, "gap": gap, "cpu": common.median(reply["cpu"]),
                    "seconds": common.median(reply["seconds"]),
                }  # fmt: skip
        if gap <= min(GAPS):
            return
        if left <= 0.0:
            raise common.PeerError("over")


def interpreters(argument: str | None) -> dict[str, str]:
    """Return the interpreter of every package, "" where there is none."""
    folder, found = common.peer_folder(argument), {"zeronorm": sys.executable}
    for method in [one for one in FAMILIES if one != "zeronorm"]:
        own = [folder / method, folder] if folder else []
        paths = [str(one / "bin" / "python") for one in own]
        found[method] = next((path for path in paths if Path(path).exists()), "")
    return found


def report(records: list[dict[str, Any]], about: dict[str, Any], options: Any) -> None:
    """Write the results."""
    body = []
    for record in records:
        for method, row in record["rows"].items():
            cells = []
            for goal in GAPS:
                one = row.get(f"{goal:g}")
                cells.append("-" if one is None else f"{1000 * one['cpu']:.1f}")
            head = [record["set"], f"{record['ratio']:g}", record["features"], method]
            body.append([*head, *cells, row["error"]])
    header = ["set", "R", "features", "package", *(f"ms to {goal:g}" for goal in GAPS), "note"]
    text = [
        "# l1 of counts, survival times and several classes",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        "Milliseconds of CPU, the median of some calls. -: not within its tolerances.",
        common.table(header, body),
    ]
    figures = {"machine": about, "records": records}
    common.write(options.results, "l1_losses", figures, "\n\n".join(text))


def main() -> None:
    """Measure all problems."""
    parser = common.parser(__doc__)
    parser.add_argument("--only", default="", help="sets whose name contains this")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    about, pythons = common.machine(), interpreters(options.peers)
    chosen = {
        name: problem
        for name, problem in problems(common.data_folder(options.data)).items()
        if options.only in name or options.only == problem.family
    }
    fits = len(RATIOS) * sum(
        problem.family in FAMILIES[method] and bool(python)
        for problem in chosen.values()
        for method, python in pythons.items()
    )
    most = fits * (FIRST / 2 + BUDGET) / 60
    print(f"{fits} rows, at most some {most:.0f} minutes, mostly a few", file=sys.stderr)
    records = []
    for name, problem in chosen.items():
        for ratio in RATIOS:
            found = measure(problem, ratio * problem.first, pythons, options.repeats)
            records.append({"set": name, "ratio": ratio, **found})
            print(name, ratio, found["features"], file=sys.stderr)
            report(records, about, options)


if __name__ == "__main__":
    main()
