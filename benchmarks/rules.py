"""What a rule for the number of features costs on rows that chose nothing.

    python benchmarks/rules.py [--sets NAMES]

The development half of `_defaults_sets.py`, a split of each set: five folds of the training rows
compare the sizes of `n_features="auto"`, and each rule takes one. By the held-out loss: "1se", the
default, the smallest size within one standard error of the paired differences; and "best". By the
score (accuracy, R^2, share of the deviance, C-index) with the standard error of its mean, as a rule
without a loss has to. Given are how many features a rule takes, how often it is one feature, and
what the test rows lose: the log-loss, 1 - R^2, 1 - share of the deviance, or minus the partial
log-likelihood of an event, each less that of the size that is best on the test rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import _common as common
import _defaults_figures as figures
import _defaults_methods as methods
import _defaults_sets as sets
from zeronorm import BudgetClassifier, BudgetRegressor, BudgetSurvivalAnalysis, cross_validate
from zeronorm.estimators.sizes import AUTOMATIC

FIGURE = {"classes": "log_loss", "regression": "r2", "counts": "d2", "survival": "loglik"}
RULES = ("1se, loss", "best, loss", "1se, score", "best, score")


def choices(found: Any) -> dict[str, int]:
    """Return the sizes that the rules take."""
    sizes, scores = np.array(found.sizes), found.scores
    mean, error = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    best = int(mean.argmax())
    return {
        "1se, loss": found.choose("1se"),
        "best, loss": found.choose("best"),
        "1se, score": int(sizes[mean >= mean[best] - error[best]][0]),
        "best, score": int(sizes[best]),
    }


def measure(target: str, name: str, folder: Any) -> dict[str, Any]:
    """Return the sizes that the rules take of a set, and what each loses on the test rows."""
    p = sets.split(folder, "development", target, name, sets.SEEDS[0])
    sizes = [k for k in AUTOMATIC if k <= min(len(p.X) // 2, p.X.shape[1] - 1)]
    y: Any = p.y
    given: dict[str, Any] = {}
    model: Any = BudgetRegressor(sizes)
    if target == "classes":
        model = BudgetClassifier(sizes)
    elif target == "survival":
        model, y = BudgetSurvivalAnalysis(sizes), figures.structured(p.y)
    elif target == "counts":
        model, given = BudgetRegressor(sizes, loss="poisson"), {"offset": np.log(p.exposure)}
    taken = choices(cross_validate(model, p.X, y, **given))
    key = FIGURE[target]
    turned = 1.0 if key == "log_loss" else -1.0
    losses = {k: turned * figures.figures(p, one)[key] for k, one in methods.ours(p, sizes).items()}
    least = min(losses.values())
    return {
        "target": target, "set": name, "rows": len(p.X),
        "best_on_test": min(losses, key=lambda k: losses[k]),
        **{rule: {"size": k, "lost": losses[k] - least} for rule, k in taken.items()},
    }  # fmt: skip


def table(found: list[dict[str, Any]]) -> str:
    """Return the figures as Markdown."""
    lines = ["| target | sets | rule | features, median | one feature | lost, mean ± s.e. | "
             "less than best by the loss, sets |", "|---|---|---|---|---|---|---|"]  # fmt: skip
    for target in (*FIGURE, "all"):
        rows = [one for one in found if target in (one["target"], "all")]
        for rule in RULES:
            size = np.array([one[rule]["size"] for one in rows])
            lost = np.array([one[rule]["lost"] for one in rows])
            beside = np.array([one["best, loss"]["lost"] for one in rows])
            error = lost.std(ddof=1) / np.sqrt(len(rows)) if len(rows) > 1 else np.nan
            shown = f"{lost.mean():.3f} ± {error:.3f}" if target != "all" else ""
            lines.append(
                f"| {target} | {len(rows)} | {rule} | {np.median(size):g} | {(size == 1).sum()} | "
                f"{shown} | {(lost < beside).sum()} less, {(lost > beside).sum()} more |"
            )
    each = ["| target | set | rows | best on test |" + "".join(f" {rule} |" for rule in RULES)]
    each.append("|---" * (4 + len(RULES)) + "|")
    for one in found:
        sizes = "".join(f" {one[rule]['size']} ({one[rule]['lost']:.3f}) |" for rule in RULES)
        each.append(
            f"| {one['target']} | {one['set']} | {one['rows']} | {one['best_on_test']} |{sizes}"
        )
    return (
        "\n".join(lines)
        + "\n\nSizes of every set, and in brackets what is lost:\n\n"
        + "\n".join(each)
    )


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--sets", nargs="*", default=None, help="names; default: all")
    options = parser.parse_args()
    machine, folder = common.machine(), common.data_folder(options.data)
    found = []
    for target in FIGURE:
        for name in sets.SETS["development"][target]:
            if options.sets is None or name in options.sets:
                found.append(measure(target, name, folder))
                print(found[-1], flush=True)
    about = (__doc__ or "").split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# What rules for the number of features cost", about, table(found)])
    common.write(options.results, "rules", {"machine": machine, "sets": found}, text)


if __name__ == "__main__":
    main()
