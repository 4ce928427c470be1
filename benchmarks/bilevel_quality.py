"""What knowing the groups is worth: test error and recovery with cross-validated budgets.

    python benchmarks/bilevel_quality.py                      an hour
    python benchmarks/bilevel_quality.py --sets bardet,boston --seeds 3 --methods bilevel,omp

Drawn sets: weak signals spread within few groups, few rows, columns correlated within groups.
Within a group columns are an AR(1) process; coefficients are +-U(0.5, 1.5); the noise is such that
the variance of the signal is 3 or 5 times its own (column "ratio" of the table of sets). In
"scattered" the active features are drawn from all features: there groups tell nothing, and cost
something.

Real sets: `bardet` (expression of a gene; 20 genes of 5 spline bases each), `boston` (x, x^2 and
x^3 of 13 variables), `splice` (4 letters at 7 positions; a true splice site or not), `birthwt`
(polynomials and categories of 8 variables; low birth weight or not). Two thirds of the rows train.

Every procedure has its budgets or penalties chosen by the same code, five folds, the same for all,
the least mean squared error (log-loss) on left-out rows: numbers of features for those that select
features, of groups for those that select groups, both for those that select both; penalties and the
share of the l1 norm for the sparse group lasso. Models of least squares have at most half as many
features as rows, those of whole groups at most 0.7. "1se" in place of the least error takes the
smallest model within a standard error of it. Columns are standardised by the rows that train.

"error": of drawn sets the mean squared test error over that of least squares on the true features
(1 is the best there is); of real ones the mean squared error over the variance of the test rows, or
the share of test rows in the wrong class. "beside": the difference to zeronorm on the same draws,
with its standard error: positive where zeronorm is better. F1 of the selected features and groups.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
import _protocol as protocol
from _bilevel import (
    METHODS,
    Chosen,
    Drawn,
    Row,
    Setting,
    Task,
    choose,
    draw,
    folds_of,
    largest_penalty,
    least_squares,
    recovery,
    standardised,
)

FOLDS = 5
SEED = 90001
N_TEST = 2000
OURS = "bilevel"
METHODS_HERE = (
    "bilevel", "features", "abess", "abess_groups", "omp", "gomp", "sgl", "sgl_refit",
)  # fmt: skip
BY_FEATURES = ("features", "abess", "omp")
BY_GROUPS = ("abess_groups", "gomp")


# ----------------------------------------------------------------------------------------- sets


@dataclass(frozen=True)
class DrawnSet:
    """A kind of drawn data, and the budgets to choose from."""

    n: int
    p: int
    size: int
    active: int
    per_group: int
    rho: float
    ratio: float
    scattered: bool = False

    features: tuple[int, ...] = (5, 10, 20, 30, 40, 50)
    groups: tuple[int, ...] = (2, 3, 4, 5, 7, 10)

    def data(self, seed: int) -> Drawn:
        """Return a draw."""
        return draw(
            self.n, self.p, self.size, self.active, self.per_group, seed=seed, rho=self.rho,
            ratio=self.ratio, n_test=N_TEST, scattered=self.scattered,
        )  # fmt: skip


@dataclass(frozen=True)
class RealSet:
    """A set with groups, and the budgets to choose from."""

    logistic: bool
    features: tuple[int, ...]
    groups: tuple[int, ...]
    read: Callable[[dict[str, np.ndarray]], tuple[np.ndarray, np.ndarray]]

    def data(self, folder: Path, name: str, seed: int) -> tuple[np.ndarray, ...]:
        """Return X, y, X_test, y_test, groups of a split."""
        stored = protocol.arrays(folder, name)
        X, y = self.read(stored)
        order = np.random.default_rng(seed).permutation(y.size)
        train, test = np.sort(order[: 2 * y.size // 3]), np.sort(order[2 * y.size // 3 :])
        groups = np.unique(stored["group"], return_inverse=True)[1]
        sort = np.argsort(groups, kind="stable")
        X = X[:, sort]
        return X[train], y[train], X[test], y[test], groups[sort]


DRAWN = {
    "uncorrelated": DrawnSet(250, 3000, 20, 5, 8, 0.0, 3.0),
    "correlated": DrawnSet(250, 3000, 20, 5, 8, 0.7, 3.0),
    "few rows": DrawnSet(200, 5000, 50, 4, 8, 0.5, 5.0),
    "scattered": DrawnSet(250, 3000, 20, 5, 4, 0.5, 5.0, scattered=True),
}
REAL = {
    "bardet": RealSet(
        False, (1, 2, 3, 4, 6, 8, 12, 20), (1, 2, 3, 4, 6, 8),
        lambda stored: (stored["X"].astype(float), stored["y"].astype(float)),
    ),
    "boston": RealSet(
        False, (1, 2, 3, 4, 6, 8, 12, 16, 20, 25, 30), (1, 2, 3, 4, 6, 8, 10, 13),
        lambda stored: (stored["X_cubic"].astype(float), stored["y"].astype(float)),
    ),
    "splice": RealSet(
        True, (1, 2, 3, 4, 6, 8, 12, 16, 20), (1, 2, 3, 4, 5, 6, 7),
        lambda stored: (stored["X"].astype(float), np.where(stored["y"] > 0, 1.0, -1.0)),
    ),
    "birthwt": RealSet(
        True, (1, 2, 3, 4, 6, 8, 12), (1, 2, 3, 4, 6, 8),
        lambda stored: (stored["X"].astype(float), np.where(stored["y"] > 0, 1.0, -1.0)),
    ),
}  # fmt: skip


def grid(key: str, one: DrawnSet | RealSet) -> Callable[[Task], list[Setting]]:
    """Return the settings of a method on a set, the smallest models first."""

    def settings(task: Task) -> list[Setting]:
        p, n_groups = task.Z.shape[1], int(task.groups.max()) + 1
        # Least squares needs more rows than features, in every fold.
        features = [k for k in one.features if k <= min(p, 0.5 * task.y.size)]
        groups = [g for g in one.groups if g <= n_groups]
        if key in BY_FEATURES:
            return [(k,) for k in features]
        if key in BY_GROUPS:
            size = int(np.bincount(task.groups).max())
            return [(g,) for g in groups if g * size <= 0.7 * task.y.size]
        if key == "bilevel":
            return [(k, g) for g in groups for k in features if k >= g]
        return penalties(task)

    return settings


def penalties(task: Task) -> list[Setting]:
    """Return (penalty, share of the l1 norm) of the sparse group lasso."""
    found: list[Setting] = []
    for share in (0.05, 0.5, 0.95):
        top = largest_penalty(task.scores(), task.groups, share)
        found += [(top * 10 ** (-0.15 * step), share) for step in range(16)]
    return found


# ------------------------------------------------------------------------------------ measuring


class Elsewhere:
    """The processes of packages in other environments."""

    def __init__(self, options: Any) -> None:
        self._folder = common.peer_folder(options.peers)
        self._processes: dict[str, common.Peer] = {}

    def ask(self, method: str) -> Callable[..., dict[str, Any]] | None:
        """Return what sends requests to a method; None where it needs no process."""
        if not METHODS[method].peer:
            return None
        if method not in self._processes:
            python = common.interpreter(METHODS[method].peer, self._folder)
            if python is None:
                raise common.PeerError("not installed")
            self._processes[method] = common.Peer(method, python, 1, "_bilevel_peers.py")
        process = self._processes[method]
        return lambda **request: process.ask(600.0, **request)

    def close(self) -> None:
        """End them."""
        for process in self._processes.values():
            process.close()


def drawn_rows(name: str, seed: int, options: Any, elsewhere: Elsewhere) -> list[Row]:
    """Return the rows of one draw."""
    one = DRAWN[name]
    data = one.data(seed)
    Z, codes, _, mean, scale = standardised(data.X, data.groups)
    intercept, coef = least_squares(Task(Z, data.y, codes, False), np.flatnonzero(data.w))
    best = float(np.mean((data.y_test - ((data.X_test - mean) / scale) @ coef - intercept) ** 2))
    rows = []
    fold = folds_of(data.y.size, FOLDS, seed)
    for key in options.keys:
        for rule, model in picked(key, one, data.X, data.y, data.groups, fold, elsewhere):
            error = float(np.mean((data.y_test - model.decision(data.X_test)) ** 2)) / best
            about = recovery(data, np.flatnonzero(model.coef))
            rows.append(row_of(name, seed, key, rule, model, error) | about)
    return rows


def real_rows(name: str, seed: int, options: Any, elsewhere: Elsewhere) -> list[Row]:
    """Return the rows of one split."""
    one = REAL[name]
    X, y, X_test, y_test, groups = one.data(common.data_folder(options.data), name, seed)
    fold = folds_of(y.size, FOLDS, seed, y if one.logistic else None)
    rows = []
    for key in options.keys:
        for rule, model in picked(key, one, X, y, groups, fold, elsewhere):
            z = model.decision(X_test)
            if one.logistic:
                error = 1.0 - protocol.accuracy(z, y_test)
            else:
                error = float(np.mean((y_test - z) ** 2) / np.var(y_test))
            used = np.flatnonzero(model.coef)
            row = row_of(name, seed, key, rule, model, error)
            rows.append(
                row | {"features": int(used.size), "groups": int(np.unique(groups[used]).size)}
            )
    return rows


def picked(
    key: str, one: DrawnSet | RealSet, X: np.ndarray, y: np.ndarray, groups: np.ndarray,
    fold: np.ndarray, elsewhere: Elsewhere,
) -> list[tuple[str, Chosen]]:  # fmt: skip
    """Return the models of a method by rule; none where it is not installed."""
    logistic = isinstance(one, RealSet) and one.logistic
    if logistic and key == "sgl_refit":
        return []
    try:
        ask = elsewhere.ask(key)
        found = choose(METHODS[key], grid(key, one), X, y, groups, fold, logistic, ask)
    except common.PeerError as error:
        print(f"{key}: {error}", file=sys.stderr)
        return []
    return list(found.items())


def row_of(name: str, seed: int, key: str, rule: str, model: Chosen, error: float) -> Row:
    """Return what every row has."""
    return {
        "set": name, "seed": seed, "method": key, "rule": rule, "setting": list(model.setting),
        "error": error, "cpu": model.cpu,
    }  # fmt: skip


# -------------------------------------------------------------------------------------- reports


def mean_error(values: Sequence[float], digits: int) -> str:
    """Return mean +- standard error."""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def of(rows: Sequence[Row], **where: Any) -> list[Row]:
    """Return the rows with these values, by seed."""
    found = [row for row in rows if all(row[key] == value for key, value in where.items())]
    return sorted(found, key=lambda row: row["seed"])


def set_table(rows: Sequence[Row], name: str, rule: str) -> str:
    """Return the table of one set."""
    truth = "feature_f1" in of(rows, set=name)[0]
    ours = {row["seed"]: row["error"] for row in of(rows, set=name, method=OURS, rule=rule)}
    body = []
    for key in METHODS_HERE:
        mine = of(rows, set=name, method=key, rule=rule)
        if not mine:
            continue
        beside = [row["error"] - ours[row["seed"]] for row in mine if row["seed"] in ours]
        line = [
            METHODS[key].label,
            mean_error([row["error"] for row in mine], 3),
            "-" if key == OURS or not beside else mean_error(beside, 3),
        ]
        if truth:
            line += [mean_error([row[f"{kind}_f1"] for row in mine], 2) for kind in KINDS]
        line += [f"{np.mean([row[f'{kind}s'] for row in mine]):.1f}" for kind in KINDS]
        body.append([*line, f"{np.median([row['cpu'] for row in mine]):.2f}"])
    header = ["method", "error", "beside"]
    header += ["F1 features", "F1 groups"] if truth else []
    return common.table([*header, "features", "groups", "CPU s"], body)


KINDS = ("feature", "group")


def worth(rows: Sequence[Row]) -> str:
    """Return on how many sets zeronorm is better, by the difference on the same draws."""
    body = []
    for key in METHODS_HERE:
        if key == OURS:
            continue
        count = {"better": [], "no difference": [], "worse": []}  # type: dict[str, list[str]]
        for name in (*DRAWN, *REAL):
            ours = {
                row["seed"]: row["error"] for row in of(rows, set=name, method=OURS, rule="min")
            }
            mine = of(rows, set=name, method=key, rule="min")
            gap = [row["error"] - ours[row["seed"]] for row in mine if row["seed"] in ours]
            if len(gap) < 2:
                continue
            limit = 2.0 * np.std(gap, ddof=1) / np.sqrt(len(gap))
            mean = float(np.mean(gap))
            word = "better" if mean > limit else "worse" if mean < -limit else "no difference"
            count[word].append(name)
        body.append([METHODS[key].label, *(", ".join(names) or "-" for names in count.values())])
    return common.table(["beside", "zeronorm better", "no difference", "zeronorm worse"], body)


def figure(rows: Sequence[Row], path: Path) -> bool:
    """Draw test error and F1 on the drawn sets; False without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        print(f"no {path.name}: matplotlib is missing (pip install matplotlib)", file=sys.stderr)
        return False
    names = [name for name in DRAWN if of(rows, set=name)]
    keys = [key for key in METHODS_HERE if of(rows, method=key)]
    if not names:
        return False
    panels = (
        ("error", "test error over that of the true features"),
        ("feature_f1", "F1 of the features"),
        ("group_f1", "F1 of the groups"),
    )
    figure, axes = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    width = 0.8 / len(keys)
    for axis, (value, title) in zip(axes, panels, strict=True):
        for place, key in enumerate(keys):
            found = [[r[value] for r in of(rows, set=n, method=key, rule="min")] for n in names]
            axis.bar(
                np.arange(len(names)) + (place - (len(keys) - 1) / 2) * width,
                [np.mean(values) for values in found], width * 0.92,
                yerr=[np.std(values) / np.sqrt(len(values)) for values in found],
                color=METHODS[key].colour, label=METHODS[key].label,
                error_kw={"linewidth": 0.8},
            )  # fmt: skip
        axis.set_xticks(range(len(names)), names)
        axis.set_title(title, fontsize=10)
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    axes[0].set_ylim(bottom=0.9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def report(rows: list[Row], about: dict[str, Any], options: Any) -> None:
    """Write what there is so far."""
    title, _, rest = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", rest.split("\n\n", 1)[1].strip()]
    if figure(rows, options.results / "bilevel_quality.png"):
        text.append("![Test error and recovery on the drawn sets](bilevel_quality.png)")
    text += [
        "## Set by set",
        "Where the difference on the same draws is above two standard errors.",
        worth(rows),
        "## Drawn sets",
        common.table(
            ["set", "rows", "features", "groups of", "active groups", "active features", "AR(1)",
             "ratio"],
            [
                [name, one.n, one.p, one.size, "-" if one.scattered else one.active,
                 one.active * one.per_group, one.rho, one.ratio]
                for name, one in DRAWN.items()
            ],
        ),
    ]  # fmt: skip
    for name in (*DRAWN, *REAL):
        if found := of(rows, set=name):
            draws = len({row["seed"] for row in found})
            text += [f"### {name}, {draws} {'draws' if name in DRAWN else 'splits'}"]
            text += [set_table(rows, name, "min"), "The rule of one standard error:"]
            text += [set_table(rows, name, "1se")]
    figures = {"machine": about, "options": {"folds": FOLDS}, "records": rows}
    common.write(options.results, "bilevel_quality", figures, "\n\n".join(text))


def main() -> None:
    """Measure and write bilevel_quality.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", default=",".join((*DRAWN, *REAL)))
    parser.add_argument("--methods", default=",".join(METHODS_HERE))
    parser.add_argument("--seeds", type=int, default=10, help="draws of a drawn set")
    parser.add_argument("--splits", type=int, default=20, help="random splits of a real set")
    parser.add_argument("--keep", action="store_true", help="keep what else the result file has")
    options = parser.parse_args()
    common.one_thread()
    names, options.keys = options.sets.split(","), options.methods.split(",")
    for option, given, known in (
        ("sets", names, (*DRAWN, *REAL)),
        ("methods", options.keys, METHODS_HERE),
    ):
        if unknown := [one for one in given if one not in known]:
            sys.exit(f"--{option}: unknown {unknown[0]!r}; there are: {', '.join(known)}.")
    about = common.machine()
    rows = common.kept(options.results, "bilevel_quality") if options.keep else []
    rows = [row for row in rows if not (row["set"] in names and row["method"] in options.keys)]
    elsewhere = Elsewhere(options)
    for name in names:
        work, count = (drawn_rows, options.seeds) if name in DRAWN else (real_rows, options.splits)
        for seed in range(SEED, SEED + count):
            with common.log(f"{name}, {seed}"):
                rows += work(name, seed, options, elsewhere)
        report(rows, about, options)
    elsewhere.close()


if __name__ == "__main__":
    main()
