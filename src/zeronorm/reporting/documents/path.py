"""The points of `zeronorm path`, and its file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...core.messages import csv_cell
from ...core.types import Design, IndexArray
from ...estimators import L1ClassifierCV, L1Path, L1RegressorCV, L1SurvivalAnalysisCV
from ...io.table import Table
from .data import by_class, describe_feature, feature_name
from .features import describe_features

# What a cross-validation gives.
Chosen: TypeAlias = L1ClassifierCV | L1RegressorCV | L1SurvivalAnalysisCV


def describe_path(paths: Sequence[L1Path], model: Chosen | None) -> list[dict[str, Any]]:
    """Return the points of a path: of several classes, the mean explained and the largest gap.

    model : that of the cross-validation, with the scores.
    """
    points = []
    for i, C in enumerate(paths[0].Cs):
        support = np.unique(np.concatenate([path.support(i) for path in paths]))
        point: dict[str, Any] = {
            "point": i + 1,
            "C": float(C),
            "n_features": int(support.size),
            "explained": float(np.mean([path.explained[i] for path in paths])),
            "gap": float(max(path.dual_gap[i] for path in paths)),
        }
        if model is not None:
            point["score"] = float(model.mean_score_[i])
            point["standard_error"] = float(model.standard_error_[i])
        points.append(point)
    return points


def describe_entries(paths: Sequence[L1Path], table: Table) -> list[dict[str, Any]]:
    """Return the features of a path, by class in the order in which they enter."""
    rows = []
    for label, path in by_class(paths[0].classes, paths):
        entered = _entered(path)
        features = np.flatnonzero(entered)
        for index in features[np.argsort(entered[features], kind="stable")].tolist():
            point = int(entered[index])
            rows.append(
                {
                    "class": label,
                    **describe_feature(table, index),
                    "point": point,
                    "C": float(path.Cs[point - 1]),
                }
            )
    return rows


def describe_chosen(
    model: Chosen, paths: Sequence[L1Path], table: Table, design: Design
) -> dict[str, Any]:
    """Return the point of the cross-validated model, the best point, and the model."""
    chosen, best = (int(np.flatnonzero(model.Cs_ == C)[0]) for C in (model.C_, model.C_best_))
    rows, loss = [], "cox" if isinstance(model, L1SurvivalAnalysisCV) else str(model.loss)
    for label, path in by_class(paths[0].classes, paths):
        support, coef = path.support(chosen), path.coef[[chosen]].data
        entered = _entered(path)[support]
        rows += describe_features(label, support, coef, "point", entered, table, design, loss)
    return {
        "point": chosen + 1,
        "best_point": best + 1,
        "rule": model.rule,
        "C": model.C_,
        "n_features": int(model.n_selected_[chosen]),
        "features": rows,
        "intercept": np.ravel(getattr(model, "intercept_", [])).tolist(),
    }


def path_csv(points: Sequence[dict[str, Any]], paths: Sequence[L1Path], table: Table) -> bytes:
    """Return the file of a path, a row per point: its figures, and the models.

    A model is its intercept and the coefficients of all features that ever enter, in that order; of
    several classes the models stand side by side.
    """
    figures, header, models = list(points[0]), [], []
    for label, path in by_class(paths[0].classes, paths):
        suffix = f" ({label})" if len(paths) > 1 else ""
        entered = _entered(path)
        features = np.flatnonzero(entered)
        features = features[np.argsort(entered[features], kind="stable")]
        names = [feature_name(table, j) + suffix for j in features.tolist()]
        taken = {*figures, "intercept"}
        header += [f"intercept{suffix}", *(f"{n}'" if n in taken else n for n in names)]
        models.append(np.column_stack([path.intercept, path.coef[:, features].toarray()]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*figures, *map(csv_cell, header)])
    for point, coefficients in zip(points, np.hstack(models).tolist(), strict=True):
        writer.writerow([*(point[name] for name in figures), *coefficients])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _entered(path: L1Path) -> IndexArray:
    """Return the point, from 1, at which each feature first enters, (n_features,); 0: never."""
    entered = np.zeros(path.coef.shape[1], np.int64)
    for i in reversed(range(len(path))):
        entered[path.support(i)] = i + 1
    return entered
