"""Scores of `zeronorm select` beside those of models without features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ...core.messages import counted, show
from .tables import styled


def score_beside_chance(
    document: Mapping[str, Any], model: Mapping[str, Any], name: str, *, advise: bool = True
) -> list[str | tuple[str, str]]:
    """Return the cross-validated score, its baseline, and whether it is any better.

    name : of the score. advise : whether to name the option that tests it.
    """
    validation = model["cross_validation"]
    plain, *others = _plain_models(document, model)
    told = "; ".join(f"{what}: {value:.3f}" for what, value in (plain, *others))
    parts: list[str | tuple[str, str]] = [
        (mean_error(validation), "bold"),
        f" ({told})",
    ]
    if validation["balanced_accuracy"] is not None:
        parts.append(f"\nbalanced accuracy {mean_error(validation, 'balanced_accuracy')}")
    if validation["auc"] is not None and model["measure"] != "auc":
        parts.append(f", AUC {mean_error(validation, 'auc')}")
    if validation["rmse"] is not None:
        found = f"{validation['rmse']:.4g} ± {validation['rmse_error']:.2g}"
        without = validation["baseline_rmse"]
        parts.append(f"\nroot mean squared error {found} ({plain[0]}: {without:.4g})")
    parts.append(
        f"\nin {validation['folds']}-fold cross-validation, features selected inside every fold "
        "(± standard error)\n"
    )
    name = model["measure"] or name
    beside = "the covariates alone" if document["n_covariates"] else "chance"
    # The best of several sizes on the same folds is better than one by chance.
    sizes = validation["compared"]
    among = "" if sizes == 1 else f" for the best of {sizes} sizes"
    advantage, error = validation["advantage"], validation["advantage_error"]
    if advantage is None or not advantage > 0:  # None: the loss of a sample has overflowed
        parts.append((f"no better than {beside}{among}\n", "bold yellow"))
        return parts
    for what, value in (plain, *others):
        if round(validation["mean"], 3) < round(value, 3):  # as they are shown
            parts.append((f"{name} is below that of {what}\n", "bold yellow"))
    if validation["better_than_chance"] or (model["permutations"] and sizes == 1):
        return parts  # the p-value tells more
    parts.append((f"may be no better than {beside}{among}", "bold yellow"))
    if error:
        parts.append(
            f": better by {advantage / error:.1f} standard errors, and noise by "
            f"{validation['limit_of_chance']:.1f} once in 20 times"
        )
    untested = advise and model["permutations"] is None and not document["n_covariates"]
    test = "--permutations 99 tests it" if sizes == 1 else "--permutations 99 tests one size"
    parts.append(f"; {test}\n" if untested else "\n")
    return parts


def _plain_models(document: Mapping[str, Any], model: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return what the models without features do, and their scores; the first is the baseline.

    Covariates alone may be worse than saying the largest class of all rows.
    """
    baseline, counts = model["cross_validation"]["baseline"], document["data"]["class_counts"]
    if model["measure"] is not None and not document["n_covariates"]:
        return [("chance", baseline)]
    if not (document["classes"] and counts):
        return [("covariates alone" if document["n_covariates"] else "without features", baseline)]
    largest = max(counts, key=counts.get)
    always = f"always {show(largest, 30)!r}"
    if not document["n_covariates"]:
        return [(always, baseline)]
    return [("covariates alone", baseline), (always, counts[largest] / sum(counts.values()))]


def permutations_text(test: Mapping[str, Any], name: str) -> Text:
    """Return the p-value of a permutation test; name : of the score."""
    what = "AUC" if test["statistic"] == "auc" else name
    times, floor = test["n_permutations"], ""
    if test["p_value"] * (times + 1) < 1.5:
        floor = (
            f"\n{counted(times, 'permutation')} can show no smaller p than 1/{times + 1:,}; "
            f"--permutations {10 * (times + 1) - 1} can"
        )
    return styled(
        (f"p = {test['p_value']:.3g}", "bold"),
        f": {what} {test['own']:.3f}; with the labels permuted "
        f"{counted(times, 'time')} at most {max(test['permuted']):.3f}{floor}",
    )


def mean_error(validation: Mapping[str, Any], beside: str | None = None) -> str:
    """Return the score, or one beside it, and its standard error."""
    name, error = ("mean", "standard_error") if beside is None else (beside, f"{beside}_error")
    return f"{validation[name]:.3f} ± {validation[error]:.3f}"
