"""How few groups explain the outcome: held-out scores by the number of groups, on real data.

    python benchmarks/bilevel_groups.py        a minute

`BudgetCV` over all numbers of groups and up to so many features, five folds. `splice`: is a donor
splice site true (400 sites, half of them; the letter at each of 7 positions, one-hot, a position is
a group). `bardet`: the expression of a gene in the eye of 120 rats by 20 others, five splines each,
a gene is a group. For every number of groups the number of features with the best mean score.
"""

from __future__ import annotations

import sys

import numpy as np

import _common as common
import _protocol as protocol
from zeronorm import BudgetCV
from zeronorm.published import BilevelClassifier, BilevelRegressor

MOST_FEATURES = {"splice": 14, "bardet": 15}
MOST_GROUPS = {"splice": 7, "bardet": 6}


def search(name: str, arrays: dict[str, np.ndarray]) -> tuple[BudgetCV, float]:
    """Return the cross-validation, and the score of the model without features."""
    X, y, groups = arrays["X"].astype(float), arrays["y"], arrays["group"]
    if name == "splice":
        model = BilevelClassifier(feature_groups=groups)
        positive = np.mean(y > 0)
        null = -float(positive * np.log(positive) + (1 - positive) * np.log(1 - positive))
    else:
        model, null = BilevelRegressor(feature_groups=groups), float(np.var(y))
    grid = range(1, MOST_FEATURES[name] + 1), range(1, MOST_GROUPS[name] + 1)
    return BudgetCV(model, *grid).fit(X, y), null


def main() -> int:
    """Measure, and write the tables."""
    parser = common.parser(__doc__)
    chosen = parser.parse_args()
    folder, machine = common.data_folder(chosen.data), common.machine()
    title, text = __doc__.split("\n\n", 1)
    report = [f"# {title.rstrip('.')}", text.split("\n\n", 1)[1].strip()]
    data = {}
    for name in MOST_FEATURES:
        arrays = protocol.arrays(folder, name)
        found, null = search(name, arrays)
        rows = []
        for g in range(1, MOST_GROUPS[name] + 1):
            places = [i for i, size in enumerate(found.validation_.sizes) if size[1] == g]
            best = max(places, key=lambda i: found.validation_.compared[i].mean())
            k = found.validation_.sizes[best][0]
            model = found.estimator.set_params(n_features=k, n_groups=g)
            groups = model.fit(arrays["X"].astype(float), arrays["y"]).groups_
            losses = found.validation_.deviance[best] * (1.0 if name == "splice" else 2.0)
            score = losses.mean(), losses.std(ddof=1) / losses.size**0.5
            rows.append([g, k, f"{score[0]:.4g} ± {score[1]:.2g}", ", ".join(map(str, groups))])
        measure = "log-loss" if name == "splice" else "mean squared error"
        report += [
            f"## {name}",
            common.table(["groups", "features", f"held-out {measure}", "which"], rows),
            f"Without features: {null:.4g}. One standard error from the best: "
            f"{found.n_features_} features in {found.n_groups_} groups "
            f"({', '.join(map(str, found.groups_))}).",
        ]
        data[name] = {"rows": rows, "null": null, "chosen": [found.n_features_, found.n_groups_]}
    figures = {"machine": machine, **data}
    common.write(chosen.results, "bilevel_groups", figures, "\n\n".join(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
