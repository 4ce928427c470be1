"""How often noise is told as better than chance, and what chooses a size where accuracy cannot.

    python benchmarks/chance.py [--draws N] [--sets NAMES]

Noise: X of 60 x 2000 normal numbers that have nothing to do with y, ten features, five folds. The
share of the draws (240) that `CrossValidation.better_than_chance` tells as better, by its error,
which knows that folds share training rows, and by the plain one, s / sqrt(F); the share beyond two
of its errors; and how far the mean of the advantage spreads over the draws, as a multiple of the
plain error on average. Real sets: the same rule where there is something to find. Few positives:
1000 rows, of which some 6 % are positive, five of 100 features count; the size by accuracy and by
`CrossValidation.choose`, on draws of their own, and the AUC of the models on 20,000 new rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

import _common as common
from zeronorm import BudgetClassifier, BudgetRegressor, cross_validate

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


KINDS = ("equal classes", "12 of 60", "12 of 60, class weights", "three classes", "numbers")


def of_noise(kind: str, draws: int) -> dict[str, Any]:
    """Return how often draws of noise are told as better than chance."""
    means, errors, plain = np.empty((3, draws))
    for draw in range(draws):
        rng = np.random.default_rng([KINDS.index(kind), draw])
        estimator, y = noise(kind, rng)
        found = cross_validate(estimator, rng.standard_normal((N, P)), y)
        means[draw] = found.advantage[0].mean()
        errors[draw] = found.advantage_error[0]
        plain[draw] = found.advantage[0].std(ddof=1) / np.sqrt(found.advantage.shape[1])
    return {
        "kind": kind,
        "draws": draws,
        "told": float((means > errors).mean()),
        "plain": float((means > plain).mean()),
        "beyond_two": float((means > 2 * errors).mean()),
        "spread": float(means.std(ddof=1) / plain.mean()),
    }


def of_real(folder: Path, name: str) -> dict[str, Any]:
    """Return what the folds say of a real set."""
    with np.load(folder / name / "arrays.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    found = cross_validate(BudgetClassifier(K, calibrate=False), X, y)
    return {
        "set": name,
        "accuracy": float(found.mean[0]),
        "baseline": float(found.baseline.mean()),
        "auc": float(found.auc[0].mean()),
        "better": bool(found.better_than_chance[0]),
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


def table(found: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    lines = [
        "| noise | draws | told as better | by the plain error | beyond two errors | spread of the "
        "mean, plain errors |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one['kind']} | {one['draws']} | {one['told']:.1%} | {one['plain']:.1%} | "
        f"{one['beyond_two']:.1%} | {one['spread']:.2f} |"
        for one in found["noise"]
    ]
    lines.append("\n| real set | accuracy | largest class | AUC | better than chance |")
    lines.append("|---|---|---|---|---|")
    lines += [
        f"| {one['set']} | {one['accuracy']:.3f} | {one['baseline']:.3f} | {one['auc']:.3f} | "
        f"{'yes' if one['better'] else 'no'} |"
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
    options = parser.parse_args()
    machine, folder = common.machine(), common.data_folder(options.data)
    found = {
        "noise": [of_noise(kind, options.draws) for kind in KINDS],
        "real": [of_real(folder, name) for name in options.sets],
        "positives": [positives(draw) for draw in range(max(2, options.draws // 6))],
    }
    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# Better than chance", about, table(found)])
    common.write(options.results, "chance", {"machine": machine, **found}, text)


if __name__ == "__main__":
    main()
