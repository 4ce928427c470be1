"""How often noise is told as better than chance, and what chooses a size where accuracy cannot.

    python benchmarks/chance.py [--draws N] [--sets NAMES]

Noise: X of 60 x 2000 normal numbers that have nothing to do with y, five folds; ten features, or
the number that the folds choose (`n_features="auto"`, the default of the command: 13 sizes). The
share of the draws (240) that reports tell as better than chance, by more errors than
`CrossValidation.limit_of_chance`; the share beyond one and two errors; beyond the limit that is
shared by all sizes (Bonferroni); and how far the mean of the advantage spreads over the draws, as a
multiple of s / sqrt(F) on average. The errors know that folds share training rows. Weak signals: as
equal classes, but five features are higher by so many deviations in one class; half as many draws.
Real sets: the same rule where there is something to find. Few positives: 1000 rows, of which some
6 % are positive, five of 100 features count; the size by accuracy and by
`CrossValidation.choose`, on draws of their own, and the AUC of the models on 20,000 new rows.
Numbers, counts and survival times: sets of the development half of `_defaults_sets.py`, a split of
each, more sets of that half, and datacar, 67,856 policies with claims; five features, compared by
paired differences of the loss. Permuted: the target (and exposure) of at most 150 rows in another
order, 60 columns at most. Of sets with at most 200 rows the p-value of 39 permutations (of R^2, the
share of the deviance or Harrell's C) stands beside that: a rule of more power, and of 40 times the
seconds.
--targets measures these alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.metrics import roc_auc_score

import _common as common
import _defaults_sets as sets
from zeronorm import (
    BudgetClassifier,
    BudgetRegressor,
    BudgetSurvivalAnalysis,
    cross_validate,
    permutation_test,
)

N, P, K = 60, 2000, 10
SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
SETS = (
    "golub", "leukemia_golub_split", "colon_alon", "prostate_ge", "ma_borovecki", "ma_gordon",
    "ma_pomeroy", "ma_west", "srbct", "lymphoma3", "glioma", "qsar_hepatic", "madelon", "arcene",
)  # fmt: skip


def noise(kind: str, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Return an estimator and a target that has nothing to do with any X."""
    plain = {"calibrate": False}
    if kind == "numbers":
        return BudgetRegressor(K), rng.standard_normal(N)
    if kind == "three classes":
        return BudgetClassifier(K, **plain), rng.permutation(np.arange(N) % 3)
    rare = 12 if "12" in kind else N // 2
    weights = {"class_weight": "balanced"} if "weights" in kind else {}
    return BudgetClassifier(K, **plain, **weights), rng.permutation(np.arange(N) < rare)


SIGNALS = (0.8, 1.2, 1.6)
KINDS = ("equal classes", "12 of 60", "12 of 60, class weights", "three classes", "numbers")


def advantage(estimator: Any, X: np.ndarray, y: np.ndarray, size: Any) -> dict[str, float]:
    """Return what the folds say of a size, or of the one that they choose ("auto")."""
    if size == "auto":
        found = estimator.set_params(n_features=size).fit(X, y).validation_
        row = found.sizes.index(estimator.size_)
    else:
        found, row = cross_validate(estimator.set_params(n_features=size), X, y), 0
    own, compared = found.advantage[row], len(found.sizes)
    return {
        "mean": own.mean(),
        "error": found.advantage_error[row],
        "plain": own.std(ddof=1) / np.sqrt(own.size),
        "limit": found.limit_of_chance(compared),
        "bonferroni": float(stdtrit(own.size - 1, 1.0 - 0.05 / compared)),
        "accuracy": found.mean[row],
        "baseline": found.baseline.mean(),
        "auc": np.nan if found.auc is None else found.auc[row].mean(),
        "size": found.sizes[row],
    }


def of_draws(kind: str, size: Any, draws: int, signal: float = 0.0) -> dict[str, Any]:
    """Return how often draws of noise, or of a weak signal, are told as better than chance."""
    found = []
    for draw in range(draws):
        rng = np.random.default_rng([7, KINDS.index(kind), draw, int(10 * signal)])
        estimator, y = noise(kind, rng)
        X = rng.standard_normal((N, P))
        if signal:
            X[:, :5] += signal * y[:, None]
        found.append(advantage(estimator, X, y, size))
    columns = {name: np.array([one[name] for one in found]) for name in found[0]}
    mean, error = columns["mean"], columns["error"]
    return {
        "kind": f"{kind}, five features by {signal:g}" if signal else kind,
        "size": "default" if size == "auto" else f"k = {size}",
        "draws": draws,
        "told": float((mean > columns["limit"] * error).mean()),
        "beyond_one": float((mean > error).mean()),
        "beyond_two": float((mean > 2 * error).mean()),
        "bonferroni": float((mean > columns["bonferroni"] * error).mean()),
        "spread": float(mean.std(ddof=1) / columns["plain"].mean()),
    }


def of_real(folder: Path, name: str, size: Any) -> dict[str, Any]:
    """Return what the folds say of a real set."""
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    found = advantage(BudgetClassifier(K, calibrate=False), X, y, size)
    return {
        "set": name,
        "default": size == "auto",
        **{key: float(found[key]) for key in ("accuracy", "baseline", "auc", "limit")},
        "size": int(found["size"]),
        "errors": float(found["mean"] / max(found["error"], 1e-12)),
        "better": bool(found["mean"] > found["limit"] * found["error"]),
    }


def positives(draw: int) -> dict[str, Any]:
    """Return the sizes that accuracy and `choose` take, and the AUC of their models on new rows."""
    rng = np.random.default_rng([99, draw])
    weight = np.zeros(100)
    weight[:5] = 0.8

    def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((n, 100))
        return X, rng.random(n) < 1 / (1 + np.exp(3.6 - X @ weight))

    X, y = sample(1000)
    model = BudgetClassifier(list(SIZES), calibrate=False).fit(X, y)
    found = cross_validate(model, X, y)
    mean, error = found.mean, found.standard_error
    best = int(mean.argmax())
    by_accuracy = found.sizes[int(np.argmax(mean >= mean[best] - error[best] - 1e-9))]
    new, truth = sample(20_000)
    auc = {
        size: float(roc_auc_score(truth, new[:, one.support] @ one.coef))
        for size in {by_accuracy, found.choose()}
        for one in [model.path_[size]]
    }
    return {
        "positives": float(y.mean()),
        "by": found.chosen_by,
        "accuracy": by_accuracy,
        "chosen": found.choose(),
        "auc_of_accuracy": auc[by_accuracy],
        "auc_of_chosen": auc[found.choose()],
    }


PERMUTED = {
    "regression": ("cookie:0", "birthwt:bwt", "drawn, weak"),
    "counts": ("communities:0", "drawn, weak"),
    "survival": ("nki70", "veterans", "drawn, weak"),
}
PERMUTATIONS, FEW_ROWS = 39, 200
REAL = {  # more sets, as they are
    "regression": ("breast_tcga:protein 20", "arabidopsis_ft16", "boston"),
    "counts": ("communities:6", "basehock:word 3"),
    "survival": ("gbsg2", "lung", "chop"),
}


def rows_of(folder: Path, target: str, name: str) -> tuple[Any, np.ndarray, Any, Any]:
    """Return X, target and offset of a split of a set, and an estimator of five features."""
    if name == "datacar":
        with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
            X, y = file["X"].astype(float), file["y"].astype(float)
            return X, y, np.log(file["exposure"]), BudgetRegressor(5, loss="poisson")
    one = sets.split(folder, "development", target, name, sets.SEEDS[0])
    if target == "survival":
        kind = [("event", bool), ("time", float)]
        y = np.array([(bool(event), time) for time, event in one.y], dtype=kind)
        return one.X, y, None, BudgetSurvivalAnalysis(5)
    if target == "counts":
        return one.X, one.y, np.log(one.exposure), BudgetRegressor(5, loss="poisson")
    return one.X, one.y, None, BudgetRegressor(5)


def of_targets(folder: Path, target: str, name: str, draws: int) -> dict[str, Any]:
    """Return by how many errors a set is better than chance; with draws those of permuted ones."""
    X, y, offset, estimator = rows_of(folder, target, name)
    found = []
    p = float("nan")
    if not draws and X.shape[0] <= FEW_ROWS:
        given = {} if offset is None else {"offset": offset}
        p = float(permutation_test(estimator, X, y, PERMUTATIONS, **given).p_value[0])
    for draw in range(max(1, draws)):
        Z, order = X, np.arange(len(y))
        if draws:
            rng = np.random.default_rng([11, draw])
            rows = rng.permutation(len(y))[:150]
            Z, order = X[np.sort(rows)][:, rng.permutation(X.shape[1])[:60]], rows
        given = {} if offset is None else {"offset": offset[order]}
        one = cross_validate(estimator, Z, y[order], **given)
        error, limit = float(one.advantage_error[0]), one.limit_of_chance()
        found.append((float(one.advantage.mean()) / error, limit))
    errors, limits = np.array(found).T
    return {
        "set": name, "target": target, "draws": draws, "rows": X.shape[0],
        "errors": float(errors.mean()), "limit": float(limits.mean()),
        "p": p, "told": float((errors > limits).mean()), "beyond_one": float((errors > 1.0).mean()),
    }  # fmt: skip


def table_of_targets(found: list[dict[str, Any]]) -> str:
    """Return the figures of numbers, counts and survival times as Markdown."""
    lines = ["| target | set | rows | draws | errors, mean | of chance | told as better | p |",
             "|---|---|---|---|---|---|---|---|"]  # fmt: skip
    lines += [
        f"| {one['target']} | {one['set']}{', permuted' if one['draws'] else ''} | {one['rows']} | "
        f"{one['draws'] or ''} | {one['errors']:.1f} | {one['limit']:.1f} | {one['told']:.1%} | "
        + ("" if np.isnan(one["p"]) else f"{one['p']:.3f}")
        + " |"
        for one in found
    ]
    noise = [one for one in found if one["draws"]]
    draws = sum(one["draws"] for one in noise)
    told = sum(round(one["told"] * one["draws"]) for one in noise)
    real = [one for one in found if not one["draws"]]
    lines.append(
        f"\n{sum(one['told'] > 0 for one in real)} of {len(real)} real sets and {told} of {draws} "
        "permuted ones are told as better than chance; by p of at most 0.05 or, where there is no "
        f"p, by the errors, {sum(one['p'] <= 0.05 or one['told'] > 0 for one in real)} of the real."
    )
    return "\n".join(lines)


def errors_text(one: dict[str, Any]) -> str:
    """Return the advantage as a multiple of its error; of folds that are all alike nothing."""
    return "-" if one["errors"] > 1e6 else f"{one['errors']:.1f}"


def verdict(one: dict[str, Any]) -> str:
    """Return what reports say."""
    return "yes" if one["better"] else "maybe" if one["errors"] > 0 else "no"


def table(found: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| draws of | size | draws | told as better | beyond one error | beyond two | beyond "
        "Bonferroni's | spread of the mean, s / sqrt(F) |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one['kind']} | {one['size']} | {one['draws']} | {one['told']:.1%} | "
        f"{one['beyond_one']:.1%} | {one['beyond_two']:.1%} | {one['bonferroni']:.1%} | "
        f"{one['spread']:.2f} |"
        for one in found["draws"]
    ]
    lines.append(
        "\n| real set | features | accuracy | largest class | AUC | errors | of chance | "
        "better than chance |"
    )
    lines.append("|---|---|---|---|---|---|---|---|")
    lines += [
        f"| {one['set']} | {one['size']}{', chosen' if one['default'] else ''} | "
        f"{one['accuracy']:.3f} | {one['baseline']:.3f} | {one['auc']:.3f} | {errors_text(one)} | "
        f"{one['limit']:.1f} | {verdict(one)} |"
        for one in found["real"]
    ]
    few = found["positives"]
    gain = np.array([one["auc_of_chosen"] - one["auc_of_accuracy"] for one in few])
    by_auc = sum(one["by"] == "auc" for one in few)
    means = {name: np.mean([one[name] for one in few]) for name in few[0] if name != "by"}
    sizes = {name: np.median([one[name] for one in few]) for name in ("accuracy", "chosen")}
    accuracy, chosen = means["auc_of_accuracy"], means["auc_of_chosen"]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    lines.append(
        f"\nFew positives, {len(few)} draws, {means['positives']:.1%} positive: AUC chose in "
        f"{by_auc}. Sizes, median: {sizes['accuracy']:g} by accuracy, {sizes['chosen']:g} by "
        f"`choose`; AUC on new rows {accuracy:.3f} and {chosen:.3f}, the difference "
        f"{gain.mean():+.3f} ± {error:.3f} (standard error)."
    )
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--draws", type=int, default=240, help="of every kind of noise")
    parser.add_argument("--sets", nargs="*", default=list(SETS), help="real sets")
    parser.add_argument("--targets", action="store_true", help="only what is no classes")
    options = parser.parse_args()
    machine, folder = common.machine(), common.data_folder(options.data)
    more = [(target, name) for target, names in REAL.items() for name in names]
    of_numbers = [
        of_targets(folder, target, name, draws)
        for target, names in PERMUTED.items()
        for name in names
        for draws in (0, options.draws // 8)
    ]
    of_numbers += [of_targets(folder, *one, 0) for one in (*more, ("counts", "datacar"))]
    if options.targets:
        text = f"# Better than chance: numbers, counts, survival\n\n{table_of_targets(of_numbers)}"
        common.write(options.results, "chance_targets", {"targets": of_numbers}, text)
        return
    found = {
        "draws": [
            *(of_draws(kind, size, options.draws) for kind in KINDS for size in (K, "auto")),
            *(
                of_draws(KINDS[0], size, max(2, options.draws // 2), signal)
                for signal in SIGNALS
                for size in (K, "auto")
            ),
        ],
        "real": [of_real(folder, name, size) for name in options.sets for size in (K, "auto")],
        "positives": [positives(draw) for draw in range(max(2, options.draws // 6))],
    }
    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# Better than chance", about, table(found), table_of_targets(of_numbers)])
    common.write(
        options.results, "chance", {"machine": machine, **found, "targets": of_numbers}, text
    )


if __name__ == "__main__":
    main()
