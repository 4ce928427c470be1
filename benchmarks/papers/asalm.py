"""SALM against ASALM: Table 1 and Figs. 1, 2 of Zhou, Dang and Wang (2021).

The paper (Pure Mathematics 11(12), doi 10.12677/PM.2021.1112237): iterations, CPU time and
objective of SALM and ASALM with rho = 0.5 on four sizes of synthetic data, and the primal residual
and the objective against iterations on the first two. K, the draw of the data and the number of
repetitions are not said, and the numbers of the table are not in its text.

Here: standard normal X, K = 10 coefficients of +-U(0.5, 1.5), intercept 0.3, labels of the logistic
model; mean loss without a ridge, as in the paper (the refit has one of 1e-6). The paper's algorithm
stops on the primal residual alone, its experiments on both residuals: both rules are run ("primal"
at an absolute 1e-3). (2.2) is solved by the paper's BFGS but for the table of alpha-steps. Seconds
are CPU seconds of one thread, with the refit on the support; numbers are medians over the seeds,
the same data for all. "refit" is the mean loss after that refit, "true" how many of the K features
were found.

    python benchmarks/papers/asalm.py                # the sizes of the paper, 5 seeds
    python benchmarks/papers/asalm.py --tiny         # seconds: does the script run
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from _mslr import Curve, Panel, common, draw
from zeronorm.data import as_design
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic
from zeronorm.published.solvers import SplitProblem, Splitting, split
from zeronorm.solvers import Risk, SelectionRequest, Task, ridge, run, select_l0

Row = dict[str, Any]
SIZES = ((500, 500), (500, 1000), (1000, 1000), (1000, 1500))
TINY = ((100, 100), (100, 150))
SHOWN = 2  # sizes of the figure: the paper's Figs. 1 and 2
K, RHO, MU = 10, 0.5, 1e-6
METHODS = {  # label, colour, options without rho and stop
    "salm": ("SALM", "tab:blue", {"method": "salm"}),
    "raw": ("ASALM, as published", "tab:red", {"method": "asalm", "safeguard": False}),
    "safe": ("ASALM, safeguarded", "tab:green", {"method": "asalm"}),
}
PUBLISHED: Row = {"inner": "bfgs", "ridge": False}
INNER = ("newton-cg", "l-bfgs")
SMALL_RHO = (0.05, 0.1, 0.2)
SMALL_ITER = 100
LEVELS = (1e-2, 1e-3)  # of the primal residual
AT = (10, 20, 40)  # iterations where residuals are compared
MAX_ITER = 300
NOISE = 0.95  # less time is less than this share of it


def sample(n: int, m: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X in F order, y of +-1 and the true support."""
    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((n, m)))
    support = np.sort(rng.choice(m, K, replace=False))
    w = rng.choice([-1.0, 1.0], K) * rng.uniform(0.5, 1.5, K)
    margins = X[:, support] @ w + 0.3
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-margins)), 1.0, -1.0), support


def mean_loss(y: np.ndarray) -> Risk:
    """Return the mean log-loss over MU."""
    return Risk(y, np.full(y.size, 1.0 / (MU * y.size)), Logistic())


def solve(X: np.ndarray, y: np.ndarray, options: Splitting) -> tuple[np.ndarray, Row]:
    """Return the support and the iterations of SALM or ASALM."""
    problem = SplitProblem(as_columns(X), mean_loss(y))
    found = split(problem, K, options)
    primal, dual, objective = (
        [step.extra["primal"] for step in found.history],
        [step.extra["dual"] for step in found.history],
        [MU * step.objective for step in found.history],
    )
    return found.support, {
        "iterations": len(primal), "status": found.status.name, "rho": found.rho,
        "inner": sum(step.extra["inner_iterations"] for step in found.history),
        "restarts": found.history[-1].extra["restarts"],
        "primal": primal, "dual": dual, "objective": objective,
    }  # fmt: skip


def automatic(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Row]:
    """Return the support of solver="auto"."""
    task = Task.of(as_design(X, n_threads=1), y)
    path = run(
        select_l0(task, [K], SelectionRequest(1.0 / (MU * y.size), 1.0, 1e-4, certify=False)),
        n_threads=1,
    )
    return path[K].support, {"status": path.status.name}


def measured(
    select: Callable[[], tuple[np.ndarray, Row]], X: np.ndarray, y: np.ndarray, true: np.ndarray
) -> Row:
    """Return the row of a selection and its refit."""
    begin = time.process_time()
    support, row = select()
    fit = ridge(as_columns(X[:, support]), mean_loss(y), tol=1e-9)
    seconds = time.process_time() - begin
    return {**row, "seconds": seconds, "refit": MU * fit.objective,
            "true": int(np.isin(support, true).sum())}  # fmt: skip


def runs(sizes: Sequence[tuple[int, int]], seeds: int) -> list[Row]:
    """Return a row for every run."""
    rows: list[Row] = []
    for place, (n, m) in enumerate(sizes):
        plans: dict[str, Splitting] = {}
        for key, (_, _, options) in METHODS.items():
            plans[f"{key}, both"] = Splitting(**options, **PUBLISHED, rho=RHO, max_iter=MAX_ITER)
            plans[f"{key}, primal"] = Splitting(
                **options, **PUBLISHED, rho=RHO, max_iter=MAX_ITER, stop="primal"
            )
            if key != "raw":
                plans[f"{key}, adaptive"] = Splitting(**options, **PUBLISHED, max_iter=MAX_ITER)
        if place == 0:
            for inner in INNER:
                plans[f"salm, {inner}"] = Splitting(
                    rho=RHO, max_iter=MAX_ITER, inner=inner, ridge=False
                )
            for rho in SMALL_RHO:
                for key, (_, _, options) in METHODS.items():
                    plans[f"{key}, rho {rho:g}"] = Splitting(
                        **options, **PUBLISHED, rho=rho, max_iter=SMALL_ITER
                    )
        for seed in range(seeds):
            X, y, true = sample(n, m, seed)
            for name, plan in plans.items():
                with common.log(f"({n}, {m}), seed {seed}, {name}"):
                    row = measured(lambda plan=plan: solve(X, y, plan), X, y, true)  # noqa: B023
                rows.append({"size": [n, m], "seed": seed, "run": name, **row})
            row = measured(lambda: automatic(X, y), X, y, true)  # noqa: B023
            rows.append({"size": [n, m], "seed": seed, "run": "auto", **row})
    return rows


# ------------------------------------------------------------------------------------- tables


def of(rows: Sequence[Row], size: tuple[int, int], name: str) -> list[Row]:
    """Return the runs of one size and name, a row for each seed."""
    return [row for row in rows if row["size"] == list(size) and row["run"] == name]


def median(values: Sequence[float]) -> float:
    """Return the median as a plain float."""
    return float(np.median(values))


def reached(row: Row, level: float) -> float:
    """Return the first iteration whose primal residual is at most the level; inf without."""
    below = np.flatnonzero(np.array(row["primal"]) <= level)
    return float(below[0] + 1) if below.size else np.inf


def settled(row: Row) -> float:
    """Return the iteration from which the objective stays within 1e-3 of its last value."""
    values = np.array(row["objective"])
    away = np.flatnonzero(np.abs(values - values[-1]) > 1e-3 * values[-1])
    return float(away[-1] + 2) if away.size else 1.0


def label(name: str) -> str:
    """Return what a table calls the runs of a name."""
    key, _, how = name.partition(", ")
    return f"{METHODS[key][0]}, {how}" if key in METHODS else 'solver="auto"'


def runs_table(rows: Sequence[Row], size: tuple[int, int], names: Sequence[str]) -> str:
    """Return the table of one size."""
    lines = []
    for name in names:
        found = of(rows, size, name)
        cells = ["-", f"{sum(row['status'] in ('CONVERGED', 'BUDGET') for row in found)}"]
        if name != "auto":
            cells[0] = f"{median([row['iterations'] for row in found]):.0f}"
        lines.append(
            [label(name), cells[0], f"{cells[1]} of {len(found)}",
             f"{median([row['seconds'] for row in found]):.2f}",
             f"{median([row['refit'] for row in found]):.5f}",
             f"{median([row['true'] for row in found]):g}"]
        )  # fmt: skip
    return common.table(["run", "iterations", "converged", "CPU s", "refit", "true"], lines)


def small_rho_table(rows: Sequence[Row], size: tuple[int, int]) -> str:
    """Return how the runs with a small rho ended."""
    lines = []
    for rho in SMALL_RHO:
        for key, (name, _, _) in METHODS.items():
            found = of(rows, size, f"{key}, rho {rho:g}")
            ends = [sum(row["status"] == s for row in found)
                    for s in ("CONVERGED", "MAX_ITER", "DIVERGED")]  # fmt: skip
            growth = max(max(row["primal"]) / row["primal"][0] for row in found)
            lines.append([f"{rho:g}", name, *ends, f"{growth:.0f}"])
    return common.table(
        [
            "rho",
            "method",
            "converged",
            f"{SMALL_ITER} iterations",
            "diverged",
            "largest / first residual",
        ],
        lines,
    )


# ------------------------------------------------------------------------------------- claims


def checks(rows: Sequence[Row], sizes: Sequence[tuple[int, int]]) -> list[Row]:
    """Return every claim of the paper with the sizes where it is seen, and questions of ours."""
    found: list[Row] = []

    def compare(
        claim: str, first: str, second: str, value: Callable[[Row], float], text: str,
        *, ours: bool = False, equal: bool = False, share: float = 1.0,
        shown: Sequence[tuple[int, int]] = sizes,
    ) -> None:  # fmt: skip
        pairs = [
            tuple(median([value(row) for row in of(rows, size, name)]) for name in (first, second))
            for size in shown
        ]
        holds = [a < b * share or (equal and a <= b * (1 + 1e-6)) for a, b in pairs]
        found.append({
            "claim": claim, "ours": ours,
            "measured": "; ".join(f"{a:{text}} against {b:{text}}" for a, b in pairs),
            "holds": sum(holds), "of": len(holds),
        })  # fmt: skip

    for key, ours in (("raw", False), ("safe", True)):
        name = METHODS[key][0]
        for rule in ("both", "primal"):
            first, second = f"{key}, {rule}", f"salm, {rule}"
            where = f"{name}, {rule} residuals" if rule == "both" else f"{name}, primal residual"
            compare(f"Table 1: fewer iterations than SALM ({where})", first, second,
                    lambda row: row["iterations"], ".0f", ours=ours)  # fmt: skip
            compare(f"Table 1: less CPU time than SALM ({where})", first, second,
                    lambda row: row["seconds"], ".2f", ours=ours, share=NOISE)  # fmt: skip
        compare(f"Table 1: an objective that is no worse ({name}, both residuals, refit)",
                f"{key}, both", "salm, both", lambda row: row["refit"], ".5f", ours=ours,
                equal=True)  # fmt: skip
        for at in AT:
            compare(f"Figs. 1, 2: a smaller primal residual at iteration {at} ({name})",
                    f"{key}, both", "salm, both",
                    lambda row, at=at: row["primal"][min(at, len(row["primal"])) - 1], ".1e",
                    ours=ours, shown=sizes[:SHOWN])  # fmt: skip
        for level in LEVELS:
            compare(f"Figs. 1, 2: primal residual {level:g} at an earlier iteration ({name})",
                    f"{key}, primal", "salm, primal", lambda row, level=level: reached(row, level),
                    ".0f", ours=ours, shown=sizes[:SHOWN])  # fmt: skip
        compare(f"Figs. 1, 2: the objective settles (to 1e-3) at an earlier iteration ({name})",
                f"{key}, both", "salm, both", settled, ".0f", ours=ours,
                shown=sizes[:SHOWN])  # fmt: skip
    compare("adaptive rho: fewer iterations (SALM, against rho = 0.5)", "salm, adaptive",
            "salm, both", lambda row: row["iterations"], ".0f", ours=True)  # fmt: skip
    compare("adaptive rho: a smaller objective (SALM, against rho = 0.5)", "salm, adaptive",
            "salm, both", lambda row: row["refit"], ".5f", ours=True)  # fmt: skip
    compare('solver="auto": an objective that is no worse than that of SALM with adaptive rho',
            "auto", "salm, adaptive", lambda row: row["refit"], ".5f", ours=True,
            equal=True)  # fmt: skip
    compare('solver="auto": less CPU time than SALM with adaptive rho', "auto", "salm, adaptive",
            lambda row: row["seconds"], ".2f", ours=True, share=NOISE)  # fmt: skip
    return found


def claims_table(found: Sequence[Row], ours: bool) -> str:
    """Return the checks of the paper, or those of ours."""
    lines = []
    for check in found:
        if check["ours"] == ours:
            verdict = {0: "no", check["of"]: "yes"}.get(check["holds"], "in part")
            lines.append(
                [check["claim"], check["measured"],
                 f"**{verdict}** ({check['holds']} of {check['of']})"]
            )  # fmt: skip
    return common.table(["what", "measured, by size", "holds"], lines)


def panels(rows: Sequence[Row], sizes: Sequence[tuple[int, int]]) -> list[Panel]:
    """Return primal residual, dual residual and objective of the first seed, a line a size."""
    result = []
    for size in sizes[:SHOWN]:
        for key, y, log in (
            ("primal", "primal residual", True),
            ("dual", "dual residual", True),
            ("objective", "mean loss at beta", False),
        ):
            curves = []
            for method, (name, colour, _) in METHODS.items():
                row = of(rows, size, f"{method}, both")[0]
                values = np.array(row[key])
                curves.append(
                    Curve(f"{name}, rho = {RHO:g}", np.arange(1, values.size + 1), values, colour,
                          "", dashed=method == "safe")
                )  # fmt: skip
            row = of(rows, size, "salm, adaptive")[0]
            values = np.array(row[key])
            curves.append(
                Curve("SALM, adaptive rho", np.arange(1, values.size + 1), values, "0.4", "")
            )
            result.append(
                Panel(f"{size[0]} samples, {size[1]} features", "iteration", y, curves, log)
            )
    return result


def _kept(row: Row, sizes: Sequence[tuple[int, int]]) -> Row:
    """Return a row for the file: the curves are there where the figure shows them."""
    shown = row["seed"] == 0 and tuple(row["size"]) in sizes[:SHOWN]
    shown &= row["run"] in ("salm, adaptive", *(f"{key}, both" for key in METHODS))
    curves = ("primal", "dual", "objective")
    return {
        key: [float(f"{number:.6g}") for number in value] if key in curves else value
        for key, value in row.items()
        if shown or key not in curves
    }


def main() -> None:
    """Measure and write asalm.json, .md and .png."""
    parser = common.parser(__doc__)
    parser.set_defaults(results=common.RESULTS / "papers")
    parser.add_argument("--tiny", action="store_true", help="seconds: does the script run")
    parser.add_argument("--seeds", type=int, default=5, help="draws of every size")
    chosen = parser.parse_args()
    common.one_thread()
    sizes, seeds = (TINY, 1) if chosen.tiny else (SIZES, chosen.seeds)
    machine = common.machine()
    rows = runs(sizes, seeds)
    found = checks(rows, sizes)
    title, _, about = (__doc__ or "").strip().partition("\n")
    text = [f"# {title.rstrip('.')}", f"{seeds} seed(s), one thread.", about.strip()]
    if draw(
        chosen.results / "asalm.png", "Figs. 1 and 2: SALM and ASALM by iteration, seed 0",
        panels(rows, sizes), columns=3,
    ):  # fmt: skip
        text.append(
            "![Figs. 1 and 2](asalm.png)\n\nWhere fewer lines than four are seen, those with "
            f"rho = {RHO:g} coincide."
        )
    listed = ", ".join(f"({n}, {m})" for n, m in sizes)
    text += [
        "## What the paper says",
        f'"(n, m)": n samples and m features. Measured values are in the order of the sizes '
        f"{listed} (of the figures: the first {min(SHOWN, len(sizes))}); a check holds for a size "
        "by its medians, "
        "of CPU time where it is at least 5 % less.",
        claims_table(found, ours=False),
        "## The same for the variants that are ours",
        claims_table(found, ours=True),
        "## Table 1",
    ]
    names = [f"{key}, {rule}" for rule in ("both", "primal") for key in METHODS]
    names += ["salm, adaptive", "safe, adaptive", "auto"]
    for size in sizes:
        text += [f"### {size[0]} samples, {size[1]} features", runs_table(rows, size, names)]
    n, m = sizes[0]
    text += [
        f"## The three alpha-steps, {n} samples, {m} features",
        'SALM, both residuals: "both" is BFGS with the dense inverse of the paper.',
        runs_table(rows, sizes[0], ["salm, both", *(f"salm, {inner}" for inner in INNER)]),
        f"## Small rho, {n} samples, {m} features",
        small_rho_table(rows, sizes[0]),
    ]
    figures = {
        "machine": machine, "options": {"sizes": sizes, "seeds": seeds, "K": K, "mu": MU},
        "claims": found, "runs": [_kept(row, sizes) for row in rows],
    }  # fmt: skip
    common.write(chosen.results, "asalm", figures, "\n\n".join(text))


if __name__ == "__main__":
    sys.exit(main())
