"""Simulation with bi-level and group sparsity: Fig. 5 and Table 3 of Xiang, Yang and Ye (KDD 2014).

The paper: A is 100 x 200, standard normal as the noise; 20 groups of 10 features, of which the
first six are active, with the values 10, 8, 6, 4, 2, 1. Case 1: three features of each of them
(18), case 2: all ten (60). Five-fold cross-validation of every method's parameters, ten
replications; numbers of selected groups and features, false positives and negatives, seconds. How
many features are active in case 1 is only in a figure: three follows from the counts of its Table
3.

The grids of the paper: s2 of 2, 4, ..., 10 and s1 of 2, 4, ..., 10 times s2 for its method and the
DC approximation; 6, 12, ..., 60 features for OMP; 2, 4, ..., 10 groups for gOMP; five penalties of
[1e-8, 100] for the fractional models; nothing is said of the sparse group lasso, which has five
times five of the same penalties here. Sizes of more than 70 features are left out: a fold has 80
rows. The true 18 features in 6 groups are not on the grid of the paper's method. So there are two
protocols: "paper", and "fine", with finer grids for all.

Here: "zeronorm" is the default of `BilevelRegressor`, "ISTA" the paper's method alone, its
solver="ista". Least mean squared error on left-out rows chooses; ties go to the smaller model. An
intercept is free, columns are standardised by the rows that train. Test error: mean squared error
on 1000 rows, of which 1 is noise. Seconds: CPU, one thread, of the whole cross-validation and the
last fit.

    python benchmarks/papers/bilevel_simulation.py               # minutes
    python benchmarks/papers/bilevel_simulation.py --tiny        # seconds: does the script run
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common as common
from _bilevel import (
    METHODS,
    Drawn,
    Row,
    Setting,
    Task,
    choose,
    folds_of,
    largest_penalty,
    recovery,
)

KEYS = ("sgl", "frac12", "frac21", "omp", "gomp", "dc", "ista", "bilevel")
VALUES = (10.0, 8.0, 6.0, 4.0, 2.0, 1.0)
N, P, GROUP = 100, 200, 10
CASES = {1: 3, 2: 10}  # active features of an active group
N_TEST = 1000
FOLDS = 5
MOST = 70  # features of a model: a fold has 80 rows, and as many features would fit them exactly
# Groups: number, false positives, false negatives; features: the same; seconds.
PAPER = {
    1: {
        "sgl": (19.10, 13.10, 0.00, 93.30, 75.30, 0.00, 10.4),
        "frac12": (8.90, 2.90, 0.00, 59.70, 41.70, 0.00, 15.7),
        "frac21": (8.60, 2.80, 0.20, 86.00, 68.60, 0.60, 25.9),
        "omp": (8.40, 3.00, 0.60, 21.00, 5.90, 2.90, 1.6),
        "gomp": (3.80, 0.00, 2.20, 38.00, 26.60, 6.60, 0.85),
        "dc": (7.70, 2.00, 0.30, 33.20, 16.20, 1.00, 34.3),
        "ista": (5.20, 0.00, 0.80, 19.60, 4.20, 2.60, 17.4),
    },
    2: {
        "sgl": (16.70, 10.80, 0.10, 167.00, 108.00, 1.00, 12.2),
        "frac12": (8.30, 3.20, 0.90, 59.00, 19.90, 20.90, 29.9),
        "frac21": (7.50, 1.70, 0.20, 75.00, 17.00, 2.00, 19.8),
        "omp": (4.80, 1.80, 3.00, 7.20, 1.90, 54.70, 1.6),
        "gomp": (4.20, 0.00, 1.80, 42.00, 0.00, 18.00, 0.85),
        "dc": (5.60, 2.00, 2.40, 33.90, 7.00, 33.10, 35.6),
        "ista": (5.60, 1.50, 1.90, 51.60, 12.50, 20.90, 16.3),
    },
}
COLUMNS = ("groups", "group_fp", "group_fn", "features", "feature_fp", "feature_fn")


def sample(case: int, seed: int) -> Drawn:
    """Return a replication."""
    rng = np.random.default_rng([seed, case])
    w = np.zeros((P // GROUP, GROUP))
    for place, value in enumerate(VALUES):
        w[place, : CASES[case]] = value
    w = w.ravel()
    X, X_test = (np.asfortranarray(rng.standard_normal((n, P))) for n in (N, N_TEST))
    y, y_test = (Z @ w + rng.standard_normal(Z.shape[0]) for Z in (X, X_test))
    return Drawn(X, y, np.repeat(np.arange(P // GROUP), GROUP), w, 1.0, X_test, y_test)


# ---------------------------------------------------------------------------------------- grids


def paper_grid(key: str) -> Callable[[Task], list[Setting]]:
    """Return the settings of the paper."""

    def settings(task: Task) -> list[Setting]:
        # Its penalties are beside 1/2 ||Ax - y||^2, ours beside the mean.
        penalties = [value / N for value in np.geomspace(1e2, 1e-8, 5)]
        if key in ("bilevel", "ista", "dc"):
            pairs = [(m * g, g) for g in (2, 4, 6, 8, 10) for m in (2, 4, 6, 8, 10)]
            return [(k, g) for k, g in pairs if k <= MOST]
        if key == "omp":
            return [(k,) for k in range(6, 61, 6)]
        if key == "gomp":
            return [(g,) for g in range(2, MOST // GROUP + 1, 2)]
        if key == "sgl":
            # (l1, l2) as (l1 + l2, the share of l1), by falling total for each share
            pairs = [(a + b, a / (a + b)) for a in penalties for b in penalties]
            return sorted(pairs, key=lambda pair: (pair[1], -pair[0]))
        return [(value,) for value in penalties]

    return settings


def fine_grid(key: str) -> Callable[[Task], list[Setting]]:
    """Return finer settings."""

    def settings(task: Task) -> list[Setting]:
        if key in ("bilevel", "ista", "dc"):
            pairs = [(m * g, g) for g in (2, 4, 5, 6, 7, 8) for m in (2, 3, 4, 6, 10)]
            return [(k, g) for k, g in pairs if k <= MOST]
        if key == "omp":
            return [(k,) for k in range(2, MOST + 1, 2)]
        if key == "gomp":
            return [(g,) for g in range(1, MOST // GROUP + 1)]
        if key == "sgl":
            return [
                (largest_penalty(task.scores(), task.groups, share) * 10 ** (-0.2 * step), share)
                for share in (0.05, 0.5, 0.95)
                for step in range(18)
            ]
        top = largest_penalty(task.scores(), task.groups, 0.5) * 2.0
        return [(top * 10 ** (-0.25 * step),) for step in range(16)]

    return settings


GRIDS = {"paper": paper_grid, "fine": fine_grid}


def runs(keys: Sequence[str], seeds: int) -> tuple[list[Row], dict[str, np.ndarray]]:
    """Return a row for every run, and the mean |coefficients| of every case and method."""
    rows: list[Row] = []
    shown: dict[str, list[np.ndarray]] = {}
    for case in CASES:
        for seed in range(seeds):
            data = sample(case, seed)
            fold = folds_of(N, FOLDS, seed)
            shown[f"{case} truth"] = [data.w]
            for key in keys:
                for protocol, grid in GRIDS.items():
                    with common.log(f"case {case}, seed {seed}, {METHODS[key].label}, {protocol}"):
                        model = choose(METHODS[key], grid(key), data.X, data.y, data.groups, fold)[
                            "min"
                        ]
                    error = float(np.mean((data.y_test - model.decision(data.X_test)) ** 2))
                    if protocol == "fine":
                        shown.setdefault(f"{case} {key}", []).append(model.coef)
                    about = recovery(data, np.flatnonzero(model.coef))
                    rows.append({
                        "case": case, "seed": seed, "method": key, "protocol": protocol,
                        "setting": list(model.setting), "mse": error, "cpu": model.cpu, **about,
                    })  # fmt: skip
    return rows, {name: np.mean(np.abs(found), axis=0) for name, found in shown.items()}


# ------------------------------------------------------------------------------------- tables


def of(rows: Sequence[Row], **where: Any) -> list[Row]:
    """Return the rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def mean(rows: Sequence[Row], key: str) -> float:
    """Return the mean of a column."""
    return float(np.mean([row[key] for row in rows]))


def case_table(rows: Sequence[Row], case: int, protocol: str, keys: Sequence[str]) -> str:
    """Return the table of a case: ours and the paper's numbers."""
    body = []
    for key in keys:
        mine = of(rows, case=case, method=key, protocol=protocol)
        theirs = PAPER[case].get(key)
        cells = []
        for start in (0, 3):
            one = [mean(mine, name) for name in COLUMNS[start : start + 3]]
            cells.append(f"{one[0]:.1f} ({one[1]:.1f}, {one[2]:.1f})")
            if theirs:
                paper = theirs[start : start + 3]
                cells.append(f"{paper[0]:.1f} ({paper[1]:.1f}, {paper[2]:.1f})")
            else:
                cells.append("-")
        error = [row["mse"] for row in mine]
        spread = np.std(error, ddof=1) / np.sqrt(len(error)) if len(error) > 1 else np.nan
        exact = sum(not (row["feature_fp"] or row["feature_fn"]) for row in mine)
        body.append(
            [METHODS[key].label, *cells, f"{exact} of {len(mine)}",
             f"{np.mean(error):.2f} ± {spread:.2f}", f"{np.median([r['cpu'] for r in mine]):.2f}",
             f"{theirs[-1]:g}" if theirs else "-"]
        )  # fmt: skip
    header = ["method", "groups (false, missing)", "the paper's", "features (false, missing)",
              "the paper's", "exact", "test error", "CPU s", "the paper's s"]  # fmt: skip
    return common.table(header, body)


def wrong(row: Row, kind: str) -> int:
    """Return false positives and negatives together."""
    return int(row[f"{kind}_fp"] + row[f"{kind}_fn"])


def claims(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """Return what the paper says, under both protocols."""
    found: list[Row] = []
    peers = [key for key in keys if key not in ("ista", "bilevel")]

    def add(claim: str, holds: Callable[[str], tuple[bool, str]]) -> None:
        for protocol in GRIDS:
            verdict, text = holds(protocol)
            found.append({"claim": claim, "protocol": protocol, "holds": verdict, "measured": text})

    def errors(protocol: str, case: int, kind: str) -> dict[str, float]:
        return {
            key: float(np.mean([wrong(r, kind) for r in of(
                rows, case=case, method=key, protocol=protocol)]))
            for key in keys
        }  # fmt: skip

    def text(values: dict[str, float]) -> str:
        ordered = sorted(values.items(), key=lambda pair: pair[1])
        return ", ".join(f"{METHODS[key].label} {value:.1f}" for key, value in ordered)

    for ours in [key for key in ("ista", "bilevel") if key in keys]:
        name = METHODS[ours].label

        def best(
            protocol: str, case: int, kind: str, ours: str = ours, but: tuple[str, ...] = ()
        ) -> tuple[bool, str]:
            values = errors(protocol, case, kind)
            values = {key: v for key, v in values.items() if key in (*peers, ours)}
            others = [v for key, v in values.items() if key != ours and key not in but]
            return values[ours] <= min(others), text(values)

        add(
            f"case 1: {name} has the fewest wrong features",
            lambda protocol, best=best: best(protocol, 1, "feature"),
        )
        add(
            f"case 1: {name} has the fewest wrong groups",
            lambda protocol, best=best: best(protocol, 1, "group"),
        )
        add(
            f"case 2: {name} has the fewest wrong features but for gOMP",
            lambda protocol, best=best: best(protocol, 2, "feature", but=("gomp",)),
        )

    def discrete(protocol: str) -> tuple[bool, str]:
        gaps = {}
        for key in keys:
            mine = of(rows, method=key, protocol=protocol)
            gaps[key] = float(np.mean([abs(r["features"] - 6 * CASES[r["case"]]) for r in mine]))
        budgets = [gaps[key] for key in ("omp", "gomp", "dc", "ista") if key in gaps]
        rest = [gaps[key] for key in ("sgl", "frac12", "frac21") if key in gaps]
        return bool(budgets and rest and max(budgets) < min(rest)), text(gaps)

    add("methods with discrete parameters are nearer to the number of features", discrete)

    def seconds(protocol: str) -> dict[str, float]:
        return {
            key: float(np.median([r["cpu"] for r in of(rows, method=key, protocol=protocol)]))
            for key in keys
        }

    def quick(protocol: str) -> tuple[bool, str]:
        s = seconds(protocol)
        slow = [s[key] for key in keys if key not in ("omp", "gomp")]
        return max(s.get("omp", 0), s.get("gomp", 0)) < min(slow), text(s)

    def least(protocol: str) -> tuple[bool, str]:
        s = seconds(protocol)
        rest = [s[key] for key in ("sgl", "frac12", "frac21", "dc") if key in s]
        return bool(rest) and s["ista"] < min(rest), text(s)

    add("OMP and gOMP need the least time", quick)
    if "ista" in keys:
        add("of the others ISTA needs the least time", least)
    return found


def claims_table(found: Sequence[Row]) -> str:
    """Return the table of the claims."""
    body = [
        [f["claim"], f["protocol"], f["measured"], "**yes**" if f["holds"] else "**no**"]
        for f in found
    ]
    return common.table(["what", "grids", "measured", "holds"], body)


def figure(shown: dict[str, np.ndarray], keys: Sequence[str], path: Path) -> bool:
    """Draw the mean |coefficients| of all methods beside the truth, a panel for each case."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        from matplotlib.colors import SymLogNorm
    except ImportError:
        print(f"no {path.name}: matplotlib is missing (pip install matplotlib)", file=sys.stderr)
        return False
    figure, axes = plt.subplots(2, 1, figsize=(13, 7), layout="constrained")
    names = ["truth", *keys]
    for axis, case in zip(axes, CASES, strict=True):
        image = np.array([shown[f"{case} {name}"] for name in names])
        drawn = axis.imshow(
            image, aspect="auto", interpolation="nearest", cmap="magma_r",
            norm=SymLogNorm(0.1, vmin=0.0, vmax=10.0),
        )  # fmt: skip
        labels = ["true coefficients", *(METHODS[key].label for key in keys)]
        axis.set_yticks(range(len(names)), labels, fontsize=9)
        axis.set_xticks(np.arange(0, P, GROUP) + GROUP / 2 - 0.5, range(1, P // GROUP + 1))
        for edge in range(GROUP, P, GROUP):
            axis.axvline(edge - 0.5, color="0.6", linewidth=0.6)
        for edge in range(1, len(names)):
            axis.axhline(edge - 0.5, color="white", linewidth=1.5)
        axis.tick_params(axis="x", length=0)
        axis.set_xlabel("group of 10 features")
        axis.set_title(f"case {case}: {CASES[case]} of 10 features of 6 groups", fontsize=10)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.8, ticks=[0, 0.1, 1, 2, 4, 6, 10])
    bar.ax.set_yticklabels(["0", "0.1", "1", "2", "4", "6", "10"])
    bar.set_label("|coefficient|, mean of the replications")
    figure.suptitle("Models chosen by cross-validation on the fine grids")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return True


def main() -> None:
    """Measure and write bilevel_simulation.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--seeds", type=int, default=10, help="replications")
    parser.add_argument("--methods", default=",".join(KEYS))
    chosen = parser.parse_args()
    common.one_thread()
    keys = chosen.methods.split(",")
    if unknown := [key for key in keys if key not in KEYS]:
        sys.exit(f"--methods: unknown {unknown[0]!r}; there are: {', '.join(KEYS)}.")
    seeds = 1 if chosen.tiny else chosen.seeds
    machine = common.machine()
    rows, shown = runs(keys, seeds)
    found = claims(rows, keys)
    title, _, about = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", f"{seeds} replications.",
            about.strip().partition("\n\n    python")[0]]  # fmt: skip
    if figure(shown, keys, chosen.results / "bilevel_simulation.png"):
        text.append("![Coefficients](bilevel_simulation.png)")
    text += ["## What the paper says", claims_table(found)]
    for case in CASES:
        for protocol in GRIDS:
            text += [f"## Case {case}, grids: {protocol}", case_table(rows, case, protocol, keys)]
    figures = {"machine": machine, "options": {"seeds": seeds, "keys": keys}, "claims": found,
               "runs": rows}  # fmt: skip
    common.write(chosen.results, "bilevel_simulation", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
