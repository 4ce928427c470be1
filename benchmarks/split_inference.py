"""Whether intervals and p-values of split-sample inference hold, whatever the selector.

    python benchmarks/split_inference.py [--draws N]

Data sets of 200 rows and 300 normal features, of which the first eight have effects of 0.5
and, next to each other, correlations of 0.5; four to twelve features are chosen on one half. True
coefficients of the chosen model are those of a fit on 40,000 other rows: of logistic and Cox models
that lack effects they are no others than these. Coverage of 95 % intervals, the share of p-values
of at most 0.05 among chosen features of independent noise, both with standard errors over data
sets; and the same share where the rows that chose infer, too. Several splits: the share of data
sets where a feature of noise has an adjusted p-value of at most 0.05, of five splits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, special
from sklearn.feature_selection import SelectKBest, f_regression

import _common as common
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, L1Regressor
from zeronorm.inference.split import _estimates, _target, split_inference

ROWS, FEATURES, EFFECTS, LARGE = 200, 300, 8, 40_000
CASES: dict[str, tuple[str, Any]] = {
    "linear, BudgetRegressor(12)": ("linear", BudgetRegressor(12)),
    "linear, L1Regressor, 12 features": ("linear", L1Regressor(n_features=12)),
    "linear, 12 of the largest F": ("linear", SelectKBest(f_regression, k=12)),
    "logistic, BudgetClassifier(6)": ("logistic", BudgetClassifier(6, calibrate=False)),
    "Cox, BudgetSurvivalAnalysis(4)": ("cox", BudgetSurvivalAnalysis(4)),
}


def drawn(kind: str, rng: np.random.Generator, n: int, features: int) -> tuple[np.ndarray, Any]:
    """Return X, of which the first features have effects, and y."""
    X = rng.standard_normal((n, features))
    for one in range(1, EFFECTS):
        X[:, one] = 0.5 * X[:, one - 1] + np.sqrt(0.75) * X[:, one]
    margins = 0.5 * X[:, :EFFECTS].sum(axis=1)
    if kind == "linear":
        return X, margins + rng.standard_normal(n)
    if kind == "logistic":
        return X, np.where(rng.random(n) < special.expit(margins), "yes", "no")
    y = np.zeros(n, [("event", bool), ("time", float)])
    times, censored = rng.exponential(np.exp(-margins)), rng.exponential(3.0, n)
    y["event"], y["time"] = times <= censored, np.minimum(times, censored)
    return X, y


def truth(kind: str, chosen: np.ndarray, large: tuple[np.ndarray, Any]) -> np.ndarray:
    """Return the coefficients of the features that are chosen; those of noise are 0."""
    import statsmodels.api as sm

    X, y = large
    found, ours = np.zeros(chosen.size), chosen < EFFECTS
    if ours.any():
        Z, (_, target) = X[:, chosen[ours]], _target(None, y, len(X), kind)
        if kind == "cox":
            found[ours] = _cox(Z, target)
        else:
            model = sm.OLS if kind == "linear" else sm.Logit
            found[ours] = model(target, sm.add_constant(Z)).fit(disp=0).params[1:]
    return found


def _cox(Z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the coefficients of Cox's model without ties, which statsmodels takes an hour for."""
    order = np.argsort(-target[:, 0])
    Z, event = Z[order], target[order, 1]

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        w = np.exp(Z @ b)
        at_risk = np.cumsum(w)
        mean = np.cumsum(w[:, None] * Z, axis=0) / at_risk[:, None]
        return event @ (np.log(at_risk) - Z @ b), event @ (mean - Z)

    return np.asarray(optimize.minimize(loss, np.zeros(Z.shape[1]), jac=True, tol=1e-8).x)


def case(name: str, draws: int) -> dict[str, Any]:
    """Return coverage and levels of one selector."""
    kind, selector = CASES[name]
    large = drawn(kind, np.random.default_rng(99), LARGE, EFFECTS)
    known: dict[bytes, np.ndarray] = {}
    covered, small, naive, refused = [], [], [], 0
    for draw in range(draws):
        X, y = drawn(kind, np.random.default_rng([draw, *name.encode()]), ROWS, FEATURES)
        try:
            split = split_inference(selector, X, y, random_state=draw)
        except ValueError:
            refused += 1
            continue
        (found,), (rows,) = split.models, split.chosen_on
        features = found["feature"].to_numpy()
        key = features.tobytes()
        if key not in known:
            known[key] = truth(kind, features, large)
        b = known[key]
        covered.append(float(((found["lower"] <= b) & (b <= found["upper"])).mean()))
        noise = features >= EFFECTS
        if noise.any():
            small.append(float((found["p_value"][noise] <= 0.05).mean()))
            Z, (_, target) = X[np.ix_(rows, features)], _target(None, y, ROWS, kind)
            try:
                same = _estimates(kind, Z, target[rows], 0.95, None, None)
            except ValueError:  # the rows that chose are separated
                continue
            naive.append(float((same["p_value"][noise] <= 0.05).mean()))
    row: dict[str, Any] = {"case": name, "draws": draws, "refused": refused}
    for label, values in (("coverage", covered), ("level", small), ("naive", naive)):
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        row[label], row[f"{label}_error"] = float(np.mean(values)), float(error)
    return row


def several(draws: int) -> dict[str, float]:
    """Return how often a feature of noise has a small adjusted p-value of five splits."""
    wrong, right = 0, 0.0
    for draw in range(draws):
        X, y = drawn("linear", np.random.default_rng([draw, 77]), ROWS, FEATURES)
        found = split_inference(BudgetRegressor(6), X, y, n_splits=5, random_state=draw)
        small = found.table.loc[found.table["adjusted"] <= 0.05, "feature"]
        wrong += bool((small >= EFFECTS).any())
        right += (small < EFFECTS).sum() / EFFECTS
    return {"draws": draws, "wrong": wrong / draws, "power": right / draws}


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=400, help="data sets of every case")
    options = parser.parse_args()
    machine, rows = common.machine(), []
    for name in CASES:
        with common.log(name):
            rows.append(case(name, options.draws))
    splits = several(options.draws // 3)

    def share(one: dict[str, Any], name: str) -> str:
        return f"{one[name]:.3f} ± {one[f'{name}_error']:.3f}"

    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(
        [
            "# Split-sample inference",
            about,
            common.table(
                [
                    "model, selector",
                    "data sets",
                    "coverage",
                    "p <= 0.05 of noise",
                    "on the same rows",
                    "refused",
                ],
                [
                    [
                        one["case"],
                        one["draws"],
                        *(share(one, name) for name in ("coverage", "level", "naive")),
                        one["refused"],
                    ]
                    for one in rows
                ],
            ),
            f"Several splits: in {splits['wrong']:.1%} of {splits['draws']} data sets a feature of "
            f"noise; {splits['power']:.1%} of the features with an effect.",
        ]
    )
    data = {"machine": machine, "records": rows, "several": splits}
    common.write(options.results, "split_inference", data, text)


if __name__ == "__main__":
    main()
