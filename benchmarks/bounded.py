"""Proofs at weak ridges, of models whose coefficients are known to be of a certain size.

    python benchmarks/bounded.py
    python benchmarks/bounded.py --sets "least squares 1000,logistic 1000" --keep

Instances are drawn in the manner of the literature on certified sparse models (Bertsimas and Van
Parys 2020; Liu, Rosen, Zhong and Rudin 2023; Liu, Shafiee and Lodi 2025): n = p, normal columns
with correlations 0.5^|i - j|, ten coefficients of 1 evenly spread, noise of a fifth of the signal's
variance for numbers, and classes by the logistic law. Their ridge of 1 beside the sum of the losses
is C = 1 here, on the columns as they are, without an intercept; coefficients are bounded by 2, as
there. Wide ones are 1,000 rows of independent columns in float32. Binary ones are in the manner of
the dorothea data, which cannot be shipped: 1,150 x 91,598, one entry in a hundred is 1, ten columns
tell the classes; once as they are and once standardised, with a bound of 1 on coefficients for one
standard deviation.

For each: the fit, the bound of `certify` and how far `prove(gap=0)` comes in the time limit, both
among bounded models and (where the last column says so) among all; the largest coefficient of the
best model; and the seconds that `verify` takes to replay the proof, with the share of the objective
that rounding may change there. Threads: all that there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import zeronorm
from zeronorm import BudgetClassifier, BudgetRegressor

NAME = "bounded"
K, EFFECT, SHARE = 10, 1.0, 5.0
RTOL = 1e-6  # columns of many rows, as they are, have more rounding than the usual 1e-10

Row = dict[str, Any]


@dataclass(frozen=True)
class Instance:
    """Data and a problem."""

    name: str
    draw: Callable[[], tuple[Any, np.ndarray]]
    model: Any
    most: float | None
    asked: str = ""  # within which time a proof is asked for
    without: bool = False  # whether a search among all models is made as well


def chain(n: int, numbers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of n columns with correlations 0.5^|i - j|, and their target."""
    rng = np.random.default_rng([n, numbers])
    X = np.empty((n, n), order="F")
    for j in range(n):
        X[:, j] = rng.standard_normal(n)
        if j:
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    return X, target(X[:, np.arange(n // K // 2, n, n // K)[:K]].sum(axis=1), rng, numbers)


def wide(p: int, numbers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return 1,000 rows of p independent columns, and their target."""
    rng = np.random.default_rng([p, numbers])
    X = np.empty((1000, p), np.float32, order="F")
    for j in range(0, p, 1000):
        X[:, j : j + 1000] = rng.standard_normal((1000, min(1000, p - j)), np.float32)
    return X, target(X[:, :: p // K][:, :K].astype(float).sum(axis=1), rng, numbers)


def target(score: np.ndarray, rng: np.random.Generator, numbers: bool) -> np.ndarray:
    """Return numbers with noise, or classes."""
    score = EFFECT * score
    if numbers:
        return score + rng.standard_normal(score.size) * np.sqrt(score.var() / SHARE)
    return (rng.random(score.size) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def binary() -> tuple[sp.csc_array, np.ndarray]:
    """Return sparse binary columns, ten of which tell the rare class."""
    rng = np.random.default_rng(1150)
    n, p = 1150, 91_598
    share = np.minimum(0.01 * rng.gamma(0.5, 2.0, p), 0.3)
    columns = [np.flatnonzero(rng.random(n) < one) for one in share]
    for j in range(K):
        columns[j] = np.flatnonzero(rng.random(n) < 0.1)
    score = np.full(n, -3.5)
    for j in range(K):
        score[columns[j]] += 2.5
    indptr = np.concatenate([[0], np.cumsum([one.size for one in columns])])
    data = np.ones(indptr[-1], np.float32)
    X = sp.csc_array((data, np.concatenate(columns), indptr), shape=(n, p))
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-score))).astype(int)


def instances() -> list[Instance]:
    """Return all of them."""
    plain: dict[str, Any] = {"standardize": False, "fit_intercept": False}
    found = []
    for n in (1000, 2000, 4000, 8000, 16000):
        asked = "within 60 s" if n == 16000 else ""
        for numbers, kind in ((True, BudgetRegressor), (False, BudgetClassifier)):
            name = f"{'least squares' if numbers else 'logistic'} {n}"

            def draw(n: int = n, numbers: bool = numbers) -> tuple[np.ndarray, np.ndarray]:
                return chain(n, numbers)

            model = kind(K, C=1.0, **plain)
            found.append(Instance(name, draw, model, 2.0, asked, without=n <= 1000))
    five = "within 5 min"
    for p, C, most, asked in (
        (100_000, 0.1, 2.0, ""), (1_000_000, 0.01, None, five), (1_000_000, 0.1, 2.0, five),
    ):  # fmt: skip

        def draw_wide(p: int = p) -> tuple[np.ndarray, np.ndarray]:
            return wide(p, True)

        name = f"wide {p}{'' if C == 0.1 else f' at C = {C}'}"
        found.append(Instance(name, draw_wide, BudgetRegressor(K, C=C, **plain), most, asked))
    for C, options, most, asked in (
        (0.1, {"standardize": False}, None, "within 5 s"),
        (0.1, {}, 1.0, "within 60 s"),
    ):
        name = f"binary {C} {'as they are' if options else 'standardised'}"
        model = BudgetClassifier(15, C=C, calibrate=False, **options)
        found.append(Instance(name, binary, model, most, asked))
    return found


def searched(instance: Instance, X: Any, y: np.ndarray, most: float | None, limit: float) -> Row:
    """Return what a certificate and a search show among models of bounded coefficients."""
    wall, _, tight = common.clock(lambda: zeronorm.certify(instance.model, X, y, max_abs_coef=most))
    seconds, _, proof = common.clock(
        lambda: zeronorm.prove(instance.model, X, y, gap=0.0, max_abs_coef=most, time_limit=limit)
    )
    best = proof.certificate
    return {
        "certify": wall,
        "root": tight.gap,
        "seconds": seconds,
        "status": proof.status.name,
        "nodes": proof.history[-1].n_nodes,
        "gap": best.gap,
        "largest": float(np.abs(best.coef).max()),
        "objective": best.objective,
    } | verified(X, y, best)


def verified(X: Any, y: np.ndarray, certificate: Any) -> Row:
    """Return how long the replay takes, and the share of the objective that rounding may change."""
    wall, _, found = common.clock(lambda: zeronorm.verify(certificate, X, y, rtol=RTOL))
    return {"verify": wall, "rounding": found["rounding"] / found["objective"]}


def measure(instance: Instance, limit: float) -> Row:
    """Return the figures of an instance."""
    X, y = instance.draw()
    wall, _, _ = common.clock(lambda: instance.model.fit(X, y))
    row = {"name": instance.name, "n": X.shape[0], "p": X.shape[1], "fit": wall}
    row |= {"most": instance.most, "C": instance.model.C, "asked": instance.asked}
    if instance.asked == "within 5 min":
        limit = 5.0 * limit
    row["found"] = searched(instance, X, y, instance.most, limit)
    row["without"] = searched(instance, X, y, None, limit) if instance.without else None
    return row


def report(rows: list[Row], missing: list[Instance]) -> tuple[str, list[dict[str, Any]]]:
    """Return the tables, and what was asked, of instances that were not measured, too."""
    lines, bars = [], []
    for row in rows:
        found, without = row["found"], row["without"]
        proven = found["status"] == "OPTIMAL"
        end = "**proven**" if proven else f"{100 * found['gap']:.2f} %"
        beside = "-"
        if without is not None:
            beside = f"{100 * without['root']:.1f} %, {100 * without['gap']:.1f} %"
            if without["status"] == "OPTIMAL":
                beside = f"proven in {without['seconds']:.1f} s"
        most = "-" if row["most"] is None else f"{row['most']:g}"
        lines.append(
            [row["name"], f"{row['n']} x {row['p']}", f"{row['C']:g}", most, f"{row['fit']:.2f}",
             f"{100 * found['root']:.2f} %", f"{found['certify']:.2f}", f"{found['seconds']:.1f}",
             found["nodes"], end, f"{found['largest']:.2f}",
             f"{found['verify']:.1f} ({found['rounding']:.0e})", beside]
        )  # fmt: skip
        if row["asked"]:
            measured = f"in {found['seconds']:.1f} s" if proven else f"a gap of {end}"
            seconds = {"within 5 s": 5.0, "within 60 s": 60.0, "within 5 min": 300.0}[row["asked"]]
            met = proven and found["seconds"] <= seconds
            bars.append(common.bar(row["name"], f"proven {row['asked']}", measured, met))
    bars += [common.bar(one.name, f"proven {one.asked}", "", None) for one in missing if one.asked]
    header = [
        "instance", "n x p", "C", "coefficients at most", "fit, s", "certify", "s", "search, s",
        "nodes", "gap at the end", "largest coefficient", "verify, s (rounding)",
        "among all models: certify, at the end",
    ]  # fmt: skip
    text = [
        "# Bounded coefficients",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.bars_table(bars),
        common.table(header, lines),
    ]
    return "\n\n".join(text), bars


def main() -> None:
    """Measure, and write bounded.json and .md."""
    parser = common.parser(__doc__)
    every = instances()
    parser.add_argument("--sets", default=",".join(one.name for one in every))
    parser.add_argument("--keep", action="store_true", help="keep the rows of other sets")
    parser.add_argument("--time-limit", type=float, default=60.0)
    options = parser.parse_args()
    wanted = options.sets.split(",")
    about = common.machine()
    kept = common.kept(options.results, NAME) if options.keep else []
    found = {row["name"]: row for row in kept}
    for instance in every:
        if instance.name in wanted:
            with common.log(instance.name):
                found[instance.name] = measure(instance, options.time_limit)
    rows = [found[one.name] for one in every if one.name in found]
    markdown, bars = report(rows, [one for one in every if one.name not in found])
    print(markdown)
    common.write(options.results, NAME, {"machine": about, "bars": bars, "records": rows}, markdown)


if __name__ == "__main__":
    main()
