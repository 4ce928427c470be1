"""How weak the ridge of a final fit may get: beyond the grid of C, on new rows.

    python benchmarks/refit.py
    python benchmarks/refit.py --sets wine,tecator --splits 2

The final fit chooses C from {.003, .03, .3, 5, 50} / v, v the mean variance of the selected
columns, by approximate leave-one-out (times: by folds). Where columns differ in variance, or are
nearly collinear, 50 / v is a strong ridge for what matters. Five arms, with the same supports:

grid          no value beyond 50 / v
variance      where the last value is the best, on by factors of 10 while the loss falls, up to
              50 / min_j v_j
rest          the same, up to 50 / min_j v_j (1 - R_j^2), R_j^2 what the other columns explain of
              column j
standardised  a ridge on the coefficients of standardised columns, and `rest`
spread        that where deviations of the selected columns differ by more than 100 times, else
              `rest` alone

All else is as the estimators do it by default, calibration of the probabilities of two classes
included; those of several classes are not calibrated, which would cost six times the time.

What was written down before any of the CONFIRMATION sets was fitted with another arm than grid
------------------------------------------------------------------------------------------------
`variance`, `rest` and `standardised` were compared on the SELECTION sets. `standardised` was the
best wherever units differ, and as good as `rest` elsewhere. So the candidate is `spread`, which is
`rest` on columns of like variances, whose results it leaves as they are to the last bit where C
lies within the grid. On the CONFIRMATION sets as they are and with columns times random powers of
ten (10^-3 to 10^3), with 5 and 20 features (half the columns, where there are no 40), on 2 random
splits, 70 % train:

*Figures.* The score: the share of rows in their own class, R^2, the share of the deviance, or
Harrell's C; less than -1 counts as -1. Of classes also the log-loss. The figure of a set is the
mean over k and splits of the difference candidate minus grid; means and standard errors are over
sets.

*Rule.* The candidate is taken if

1. on the sets as they are neither the mean score of all sets, nor that of classes alone, nor that
   of the other targets alone is lower, nor the mean log-loss higher, by more than one standard
   error of the difference;
2. on the sets with columns in other units the mean score is higher by two standard errors or more,
   and the log-loss not higher by one;
3. all its fits together take at most 5 % more CPU time than those of grid on the sets as they are.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.metrics import log_loss

import _common as common
import _protocol as protocol
import probabilities
import targets
import zeronorm.solvers.final_fits as final
from targets import Problem
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis

SIZES = (5, 20)
SPLITS = 2
CAP = 3000  # columns, evenly spaced among those of a set
LEAST = -1.0
UNITS = 3  # powers of ten to either side
CANDIDATE = "spread"

Row = dict[str, Any]
Reader = Callable[[Path], Problem]


# ---------------------------------------------------------------------------------------- sets


def _simulated(family: str, n: int, p: int, alike: float) -> Reader:
    """Return data with ten informative features of very different scales."""

    def read(_: Path) -> Problem:
        rng = np.random.default_rng(p)
        Z = rng.standard_normal((n, p))
        for j in range(1, p):
            Z[:, j] = alike * Z[:, j - 1] + np.sqrt(1.0 - alike**2) * Z[:, j]
        z = Z[:, rng.choice(p, 10, replace=False)] @ rng.choice([-1.0, 1.0], 10)
        X = Z * 10.0 ** rng.uniform(-2.0, 2.0, p)
        noisy = z + rng.standard_normal(n)
        return Problem(family, X, (noisy > 0).astype(int) if family == "multinomial" else noisy)

    return read


def _sklearn(family: str, load: Callable[..., Any]) -> Reader:
    return lambda _: Problem(family, *load(return_X_y=True))


def _binary(name: str) -> Reader:
    """Return what reads a task of `probabilities.py`."""

    def read(folder: Path) -> Problem:
        X, y = probabilities.read(folder, name)
        one = probabilities.SETS[name]
        if one.text:
            X = protocol.unit_rows(sp.csr_matrix(X))
        elif one.missing is not None:
            X = np.where(one.missing != X, X, 0.0)  # an unknown genotype is the frequent one
        return Problem("multinomial", X, (y > 0).astype(int))

    return read


def _microarray(name: str) -> Reader:
    def read(folder: Path) -> Problem:
        X, y = protocol.SETS[name].read(folder)
        return Problem("multinomial", X, (y > 0).astype(int))

    return read


def _numbers(name: str, key: str, target: str, column: int | None = None) -> Reader:
    def read(folder: Path) -> Problem:
        data = protocol.arrays(folder, name)
        y = np.asarray(data[target] if column is None else data[target][:, column], float)
        known = np.isfinite(y)
        return Problem("gaussian", data[key][known], y[known])

    return read


def _claims(folder: Path) -> Problem:
    data = protocol.arrays(folder, "insurance_mass")
    return Problem("poisson", data["X"], data["y"] * 1.0, np.log(data["exposure"]))


def _costs(folder: Path) -> Problem:
    data = protocol.arrays(folder, "datacar")
    rows = np.flatnonzero(data["claim_cost"] > 0)[:2000]
    return Problem("gamma", data["X"][rows], data["claim_cost"][rows] / 1e3)


def _lifetimes(folder: Path) -> Problem:
    data = protocol.arrays(folder, "flchain")
    rows = np.random.default_rng(0).permutation(len(data["time"]))[:2000]
    y = np.column_stack([data["time"], data["event"]]).astype(float)
    return Problem("cox", data["X"][rows], y[rows])


SELECTION: dict[str, Reader] = {
    "wine": _sklearn("multinomial", load_wine),
    "breast cancer": _sklearn("multinomial", load_breast_cancer),
    "tecator": targets.SETS["tecator"],
    "cookie": targets.SETS["cookie"],
    "simulated classes": _simulated("multinomial", 120, 500, 0.3),
    "simulated numbers": _simulated("gaussian", 150, 100, 0.9),
}
CONFIRMATION: dict[str, Reader] = {
    **{f"{name} (2)": _binary(name) for name in probabilities.SETS
       if name not in ("cookie:fat", "tecator:fat", "flchain:10y")},
    **{name: _microarray(name) for name in (
        "leukemia_golub_split", "colon_alon", "prostate_ge", "ma_gordon", "ma_pomeroy", "ma_west",
        "ma_borovecki")},
    **{name: targets.SETS[name] for name in (
        "srbct", "lymphoma3", "glioma", "breast_tcga", "h5ad_example",
        "riboflavin", "gasoline", "trim32", "yeast_18", "communities_rates", "poisson_example",
        "chop", "nki70", "metastasis_gse7390", "cox_example")},
    "qsar_hepatic": targets.classes("qsar_hepatic"),
    "boston": _numbers("boston", "X_cubic", "y"),
    "birthwt": _numbers("birthwt", "X", "bwt"),
    "bardet": _numbers("bardet", "X", "y"),
    "multidrug:755": _numbers("multidrug", "X", "y", 3),
    "diabetes": _sklearn("gaussian", load_diabetes),
    "insurance": _claims,
    "datacar": _costs,
    "flchain": _lifetimes,
}  # fmt: skip
SETS = SELECTION | CONFIRMATION


def read(folder: Path, name: str) -> Problem:
    """Return a set, with at most CAP columns."""
    problem = SETS[name](folder)
    X = sp.csc_matrix(problem.X) if sp.issparse(problem.X) else np.asarray(problem.X, float)
    if not sp.issparse(X):
        X = X[:, np.isfinite(X).all(axis=0)]
    if X.shape[1] > CAP:
        X = X[:, np.linspace(0, X.shape[1] - 1, CAP).astype(int)]
    return Problem(problem.family, X, problem.y, problem.offset)


# ---------------------------------------------------------------------------------------- arms


def least_variance(Z: Any, std: np.ndarray, risk: Any, _: np.ndarray) -> float:
    """Return the largest C of the arm `variance`."""
    v = final.variances(Z, std, risk.weight)
    return float(final.LOO_GRID[-1] / (risk.loss.outputs * v.min()))


ARMS: dict[str, dict[str, Any]] = {
    "grid": {"weakest_ridge": lambda *_: 0.0, "SPREAD": np.inf},
    "variance": {"weakest_ridge": least_variance, "SPREAD": np.inf},
    "rest": {"SPREAD": np.inf},
    "standardised": {"SPREAD": 1.0},
    "spread": {},
}


def patched(arm: str) -> ExitStack:
    """Return a context in which the estimators refit as an arm does."""
    stack = ExitStack()
    for name, instead in ARMS[arm].items():
        stack.enter_context(mock.patch.object(final, name, instead))
    return stack


def model_of(problem: Problem, k: int) -> Any:
    """Return the estimator of a target."""
    if problem.family == "multinomial":
        calibrate: Any = "auto" if len(np.unique(problem.y)) == 2 else False
        return BudgetClassifier(k, calibrate=calibrate, n_threads=1)
    if problem.family == "cox":
        return BudgetSurvivalAnalysis(k, n_threads=1)
    squares = problem.family in ("gaussian", "multigaussian")
    return BudgetRegressor(k, loss="least_squares" if squares else problem.family, n_threads=1)


def measure(folder: Path, name: str, arms: tuple[str, ...], splits: int) -> list[Row]:
    """Return a row for every scale of the columns, split, k and arm."""
    problem = read(folder, name)
    n, p = problem.X.shape
    rows: list[Row] = []
    for units in ("as they are", "other units"):
        for seed in range(splits):
            rng = np.random.default_rng(seed)
            train, test = _split(problem, rng)
            X = problem.X
            if units == "other units":
                factors = 10.0 ** rng.integers(-UNITS, UNITS + 1, p)
                X = X @ sp.diags(factors).tocsc() if sp.issparse(X) else X * factors
            scaled = Problem(problem.family, X.tocsr() if sp.issparse(X) else X,
                             problem.y, problem.offset)  # fmt: skip
            few, new = scaled.rows(train), scaled.rows(test)
            for k in sorted({min(k, max(p // 2, 1)) for k in SIZES}):
                for arm in arms:
                    row = {"set": name, "family": problem.family, "n": n, "p": p}
                    row |= {"units": units, "seed": seed, "k": k, "arm": arm}
                    rows.append(row | fitted(few, new, k, arm))
    return rows


def _split(problem: Problem, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return 70 % of the rows and the others, of classes in their proportions."""
    strata = problem.y if problem.family == "multinomial" else np.zeros(len(problem.y))
    test = []
    for value in np.unique(strata):
        own = rng.permutation(np.flatnonzero(strata == value))
        test.append(own[: max(1, round(0.3 * own.size))])
    held_out = np.sort(np.concatenate(test))
    return np.setdiff1d(np.arange(len(problem.y)), held_out), held_out


def fitted(few: Problem, new: Problem, k: int, arm: str) -> Row:
    """Return the figures of one arm on new rows."""
    options = {} if few.offset is None else {"offset": few.offset}
    beside = {} if new.offset is None else {"offset": new.offset}
    with patched(arm), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model = model_of(few, k).fit(few.X, targets.target(few), **options)
        cpu = time.process_time() - begin
    score = max(LEAST, float(model.score(new.X, targets.target(new), **beside)))
    row: Row = {"score": score, "cpu": cpu}
    if few.family == "multinomial":
        proba = model.predict_proba(new.X)
        row["log_loss"] = float(log_loss(new.y, proba, labels=model.classes_))
    part = model.path_ if not isinstance(model.path_, tuple) else model.path_[0]
    row["C"] = float(part[k].refit_C)
    return row


# ------------------------------------------------------------------------------------- reports


@dataclass(frozen=True)
class Difference:
    """The mean over sets of an arm minus grid, and its standard error."""

    mean: float
    error: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f} ({self.n})"


def difference(rows: list[Row], arm: str, figure: str) -> Difference:
    """Return how an arm differs from grid."""
    of_sets: dict[str, list[float]] = {}
    key = ("set", "units", "seed", "k")
    before = {tuple(r[c] for c in key): r for r in rows if r["arm"] == "grid"}
    for row in rows:
        if row["arm"] == arm and figure in row:
            old = before[tuple(row[c] for c in key)]
            of_sets.setdefault(row["set"], []).append(row[figure] - old[figure])
    means = np.array([np.mean(found) for found in of_sets.values()])
    error = float(means.std(ddof=1) / np.sqrt(means.size)) if means.size > 1 else 0.0
    return Difference(float(means.mean()) if means.size else 0.0, error, means.size)


def ruling(rows: list[Row]) -> tuple[list[list[str]], bool]:
    """Return a table of what the rule asks, and whether all of it holds."""
    plain = [row for row in rows if row["units"] == "as they are"]
    other = [row for row in rows if row["units"] == "other units"]
    classes = [row for row in plain if row["family"] == "multinomial"]
    others = [row for row in plain if row["family"] != "multinomial"]
    lines, held = [], True
    asked = [
        ("score, as they are, all sets", plain, "score", -1.0),
        ("score, as they are, classes", classes, "score", -1.0),
        ("score, as they are, other targets", others, "score", -1.0),
        ("log-loss, as they are", plain, "log_loss", 1.0),
        ("score, other units", other, "score", 2.0),
        ("log-loss, other units", other, "log_loss", 1.0),
    ]
    for what, part, figure, bar in asked:
        found = difference(part, CANDIDATE, figure)
        limit = bar * found.error
        good = found.mean <= limit if figure == "log_loss" else found.mean >= limit
        sign = "at most" if figure == "log_loss" else "at least"
        lines.append([what, f"{sign} {bar:+.0f} SE", str(found), "yes" if good else "**no**"])
        held &= good
    cpu = {arm: sum(r["cpu"] for r in plain if r["arm"] == arm) for arm in ("grid", CANDIDATE)}
    more = cpu[CANDIDATE] / cpu["grid"] - 1.0
    lines.append(["CPU time, as they are", "at most +5 %", f"{100 * more:+.1f} %",
                  "yes" if more <= 0.05 else "**no**"])  # fmt: skip
    return lines, held and more <= 0.05


def by_set(rows: list[Row], names: dict[str, Reader]) -> list[list[str]]:
    """Return a line for every set and units: what the arms reach."""
    lines = []
    for name in names:
        for units in ("as they are", "other units"):
            own = [row for row in rows if row["set"] == name and row["units"] == units]
            if not own:
                continue
            line = [name, own[0]["family"], f"{own[0]['n']} x {own[0]['p']}", units]
            for arm in ARMS:
                found = [row for row in own if row["arm"] == arm]
                text = "-"
                if found:
                    text = f"{np.mean([row['score'] for row in found]):.3f}"
                    if "log_loss" in found[0]:
                        text += f" ({np.mean([row['log_loss'] for row in found]):.3f})"
                line.append(text)
            lines.append(line)
    return lines


def report(rows: list[Row]) -> str:
    """Return the tables."""
    chosen = [row for row in rows if row["set"] in SELECTION]
    confirmed = [row for row in rows if row["set"] in CONFIRMATION]
    text = "# How weak the ridge of a final fit may get\n\n"
    head = ["set", "target", "size", "columns", *ARMS]
    if confirmed:
        lines, held = ruling(confirmed)
        text += f"Sets of confirmation: `{CANDIDATE}` minus `grid`, over sets (their number). "
        text += f"The rule {'holds' if held else 'does not hold'}.\n\n"
        text += common.table(["figure", "asked", "measured", "met"], lines) + "\n\n"
    note = "Score on new rows, in brackets the log-loss"
    if chosen:
        text += f"Sets of selection. {note}.\n\n"
        text += common.table(head, by_set(chosen, SELECTION)) + "\n\n"
    if confirmed:
        text += f"Sets of confirmation. {note}.\n\n"
        text += common.table(head, by_set(confirmed, CONFIRMATION)) + "\n"
    return text


def main() -> int:
    """Run, print, and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default="", help="names, separated by commas; default: all")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--name", default="refit", help="name of the result files")
    options = parser.parse_args()
    folder = common.data_folder(options.data)
    names = options.sets.split(",") if options.sets else list(SETS)
    rows: list[Row] = []
    for name in names:
        arms = tuple(ARMS) if name in SELECTION else ("grid", CANDIDATE)
        with common.log(name):
            rows += measure(folder, name, arms, options.splits)
    text = report(rows)
    print(text)
    common.write(options.results, options.name, {"machine": common.machine(), "rows": rows}, text)
    return 0


if __name__ == "__main__":
    common.one_thread()
    sys.exit(main())
