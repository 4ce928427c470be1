"""What the commands find out, as documents: --json prints them, the report shows them.

Only types that JSON has are in a document. CSV files are made here as well.
"""

from __future__ import annotations

import csv
import io
import math
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from .. import __version__, _kernels
from .._typing import Design, FloatArray, IndexArray
from .._validate import class_factors
from ..estimators import BudgetClassifier, L1ClassifierCV, L1Path
from ..files import Table
from ..groups import Groups
from ..measures import macro_average, parse_measure
from ..model_selection import CrossValidation, model_scores, predict
from ..persistence import SavedCertificate, summarize
from ..result import Certificate, Proof, Selection

_T = TypeVar("_T")


def describe_data(data: str, table: Table, groups: Groups | None = None) -> dict[str, Any]:
    """Return the size, storage and classes of the data, and how many groups its features are in."""
    n_samples, n_features = table.X.shape
    storage = f"dense {table.X.dtype}"
    if sp.issparse(table.X):
        share = table.X.nnz / max(1, n_samples * n_features)
        storage = f"sparse {table.X.dtype}, {100 * share:.2g}% stored"
    counts = {}
    if table.y is not None:
        labels, sizes = np.unique(table.y, return_counts=True)
        counts = {str(label): int(size) for label, size in zip(labels, sizes, strict=True)}
    return {
        "source": data,
        "n_samples": int(n_samples),
        "n_features": int(n_features),
        "n_groups": None if groups is None else len(groups),
        "storage": storage,
        "target": table.target_name,
        "class_counts": counts,
    }


def feature_budget(size: Any) -> int:
    """Return the number of features of a size, which is a pair where it has one of groups too."""
    return int(size[0] if isinstance(size, tuple) else size)


def describe_model(
    estimator: Any,
    size: Any,
    table: Table,
    design: Design,
    validation: CrossValidation | None,
    groups: Groups | None = None,
    for_accuracy: CrossValidation | None = None,
) -> dict[str, Any]:
    """Return what is known about the model of a size; its file is not written yet.

    for_accuracy : cross-validation, in the measure, of a selection that is trained for accuracy.
    groups : of all features, where the model has a budget of groups; the size is a pair then.
    """
    paths = estimator._paths
    predicted = predict(paths, size, design, estimator.classes_)
    measure = getattr(estimator, "measure", None)
    measure = None if measure is None else parse_measure(measure)
    rows = []
    for label, path in _by_class(estimator.classes_, paths):
        model = path[size]
        rows += _describe_features(
            label, model.support, model.coef, "block", model.entered, table, design
        )
    for row in rows:
        row["group"] = None if groups is None else str(groups.labels[groups.code[row["index"]]])
    return {
        "n_features": feature_budget(size),
        "n_groups": None if groups is None else int(size[1]),
        "features": rows,
        "intercept": [float(path[size].intercept) for path in paths],
        "refit_C": [float(path[size].refit_C) for path in paths],
        "calibration": _describe_calibration(estimator, size, table),
        "training_accuracy": float(np.mean(predicted == np.asarray(table.y))),
        "measure": None if measure is None else measure.name,
        "training_measure": None
        if measure is None
        else macro_average(
            measure, model_scores(paths, size, design), np.asarray(table.y), estimator.classes_
        ),
        "cross_validation": _describe_validation(validation, size),
        "for_accuracy": _describe_validation(for_accuracy, size),
        "certificates": [summarize(path[size].certificate) for path in paths],
        "proofs": [_describe_proof(path[size].proof, table) for path in paths],
        "bounds": [_describe_bound(path[size], estimator) for path in paths],
        "file": None,
        "certificate_file": None,
    }


def describe_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a fit with those of its method, and its defaults as they are."""
    found: dict[str, Any] = estimator.get_params(deep=False)
    if isinstance(estimator, BudgetClassifier):
        plan = estimator._plan()
        found |= {"C": plan.C, "refit_C": plan.refit_C, "tol": plan.tol, **asdict(plan.method)}
    return found


def _describe_calibration(estimator: Any, size: Any, table: Table) -> dict[str, float] | None:
    """Return the scale of a model, its log-loss out of fold, and that of the shares of classes."""
    model = estimator._paths[0][size]
    if not math.isfinite(model.cv_log_loss):
        return None
    y = np.asarray(table.y)
    weight = class_factors(estimator.class_weight, y, np.ones(y.size))
    shares = np.array([weight[y == label].sum() for label in estimator.classes_]) / weight.sum()
    return {
        "scale": float(model.scale),
        "cv_log_loss": float(model.cv_log_loss),
        "base_log_loss": float(-shares @ np.log(shares)),
    }


def _describe_proof(proof: Proof | None, table: Table) -> dict[str, Any] | None:
    """Return how a branch and bound ended, and the duplicates that it met."""
    if proof is None:
        return None
    end = proof.history[-1]
    return {
        "status": proof.status.name,
        "reason": proof.status.value.partition(";")[0],
        "nodes": int(end.n_nodes),
        "seconds": float(end.seconds),
        "improved": bool(proof.improved),
        "equivalents": _describe_equivalents(proof.certificate, table),
    }


def _describe_bound(model: Selection, estimator: Any) -> dict[str, Any] | None:
    """Return how far the model of a measure can be from the best of its size."""
    if model.objective is None or model.bound is None:
        return None
    return {
        "objective": float(model.objective),
        "bound": float(model.bound),
        "gap": model.gap,
        "n_forced": len(estimator.forced_features or ()),
    }


def _describe_equivalents(certificate: Certificate, table: Table) -> list[dict[str, Any]]:
    """Return the features of a support that have duplicates, each with them."""
    return [
        {
            "feature": _describe_feature(table, feature),
            "equivalents": [_describe_feature(table, other) for other in others.tolist()],
        }
        for feature, others in certificate.equivalents.items()
    ]


def describe_claims(
    saved: SavedCertificate, found: Sequence[Mapping[str, float]] | None, table: Table
) -> dict[str, Any]:
    """Return what certificates claim, and what was recomputed.

    found : what the verifier returned, None where a certificate claims too much.
    """
    claims = []
    for number, (label, certificate) in enumerate(
        zip(saved.positive, saved.certificates, strict=True)
    ):
        claims.append(
            {
                "class": label,
                "features": [_describe_feature(table, j) for j in certificate.support.tolist()],
                "claimed": summarize(certificate),
                "recomputed": None if found is None else dict(found[number]),
                "forced": [_describe_feature(table, j) for j in certificate.forced.tolist()],
                "equivalents": _describe_equivalents(certificate, table),
            }
        )
    return {
        "classes": saved.classes_.tolist(),
        "class_weight": saved.class_weight.tolist(),
        "claims": claims,
    }


def describe_path(paths: Sequence[L1Path], model: L1ClassifierCV | None) -> list[dict[str, Any]]:
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
    for label, path in _by_class(paths[0].classes, paths):
        entered = _entered(path)
        features = np.flatnonzero(entered)
        for index in features[np.argsort(entered[features], kind="stable")].tolist():
            point = int(entered[index])
            rows.append(
                {
                    "class": label,
                    **_describe_feature(table, index),
                    "point": point,
                    "C": float(path.Cs[point - 1]),
                }
            )
    return rows


def describe_chosen(
    model: L1ClassifierCV, paths: Sequence[L1Path], table: Table, design: Design
) -> dict[str, Any]:
    """Return the point of the cross-validated model, the best point, and the model."""
    chosen, best = (int(np.flatnonzero(model.Cs_ == C)[0]) for C in (model.C_, model.C_best_))
    rows = []
    for label, path in _by_class(paths[0].classes, paths):
        support, coef = path.support(chosen), path.coef[[chosen]].data
        entered = _entered(path)[support]
        rows += _describe_features(label, support, coef, "point", entered, table, design)
    return {
        "point": chosen + 1,
        "best_point": best + 1,
        "rule": model.rule,
        "C": model.C_,
        "n_features": int(model.n_selected_[chosen]),
        "features": rows,
        "intercept": model.intercept_.tolist(),
    }


def path_csv(points: Sequence[dict[str, Any]], paths: Sequence[L1Path], table: Table) -> bytes:
    """Return the file of a path, a row per point: its figures, and the models.

    A model is its intercept and the coefficients of all features that ever enter, in that order; of
    several classes the models stand side by side.
    """
    figures, header, models = list(points[0]), [], []
    for label, path in _by_class(paths[0].classes, paths):
        suffix = f" ({label})" if len(paths) > 1 else ""
        entered = _entered(path)
        features = np.flatnonzero(entered)
        features = features[np.argsort(entered[features], kind="stable")]
        names = [_name(table, j) + suffix for j in features.tolist()]
        taken = {*figures, "intercept"}
        header += [f"intercept{suffix}", *(f"{n}'" if n in taken else n for n in names)]
        models.append(np.column_stack([path.intercept, path.coef[:, features].toarray()]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*figures, *map(_cell, header)])
    for point, coefficients in zip(points, np.hstack(models).tolist(), strict=True):
        writer.writerow([*(point[name] for name in figures), *coefficients])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _by_class(classes: Any, paths: Sequence[_T]) -> Iterator[tuple[Any, _T]]:
    """Return each path with the class that its scores speak for."""
    labels = classes.tolist()
    return zip(labels[1:] if len(paths) == 1 else labels, paths, strict=True)


def _entered(path: L1Path) -> IndexArray:
    """Return the point, from 1, at which each feature first enters, (n_features,); 0: never."""
    entered = np.zeros(path.coef.shape[1], np.int64)
    for i in reversed(range(len(path))):
        entered[path.support(i)] = i + 1
    return entered


def _describe_features(
    label: Any,
    support: IndexArray,
    coef: FloatArray,
    step: str,
    entered: IndexArray,
    table: Table,
    design: Design,
) -> list[dict[str, Any]]:
    """Return the features of a model for a class, by falling effect of one standard deviation.

    step : what `entered` counts, at which each feature entered.
    """
    effect = coef * _deviations(design.gather(support))
    # Ties, as of features without effect, go by position.
    order = np.lexsort((support, -np.abs(effect)))
    return [
        {
            "class": label,
            "rank": rank,
            **_describe_feature(table, int(support[j])),
            "coefficient": float(coef[j]),
            "per_deviation": float(effect[j]),
            step: int(entered[j]),
        }
        for rank, j in enumerate(order, 1)
    ]


def _describe_feature(table: Table, index: int) -> dict[str, Any]:
    return {
        "index": index,
        "name": _name(table, index),
        "description": table.descriptions[index] if table.descriptions else None,
    }


def _name(table: Table, index: int) -> str:
    names = table.feature_names
    return names[index] if names is not None else str(index + table.first_index)


def _deviations(columns: Any) -> FloatArray:
    """Return the standard deviation of every column, (k,)."""
    if isinstance(columns, np.ndarray):
        return np.asarray(columns.std(axis=0))
    n_samples = columns.shape[0]
    mean = np.asarray(columns.sum(axis=0)).ravel() / n_samples
    square = np.asarray(columns.power(2).sum(axis=0)).ravel() / n_samples
    return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))


def _describe_validation(validation: CrossValidation | None, size: Any) -> dict[str, Any] | None:
    if validation is None or size not in validation.sizes:
        return None
    row = validation.sizes.index(size)
    return {
        "folds": int(validation.scores.shape[1]),
        "mean": float(validation.mean[row]),
        "standard_error": float(validation.standard_error[row]),
        "scores": validation.scores[row].tolist(),
    }


def confusion(truth: Any, predicted: Any, classes: Any) -> list[list[int]]:
    """Return counts, a row per true class of the model and a column per predicted class."""
    return [
        [int(((truth == actual) & (predicted == guess)).sum()) for guess in classes]
        for actual in classes
    ]


def predictions_csv(table: Table, predicted: Any, probabilities: Any, classes: Any) -> bytes:
    """Return the file of predictions, a row per sample."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = ["sample", "prediction"]
    if probabilities is not None:
        header += [f"p({_cell(str(label))})" for label in classes]
    writer.writerow(header)
    names = table.sample_names
    for row, label in enumerate(predicted.tolist()):
        cells = [_cell(names[row]) if names else row + 1, _cell(str(label))]
        if probabilities is not None:
            cells += [repr(float(value)) for value in probabilities[row]]
        writer.writerow(cells)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(text: str) -> str:
    """Return text that a spreadsheet does not take for a formula."""
    if text[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(text)
        except ValueError:
            return "'" + text
    return text


def describe_installation() -> dict[str, Any]:
    """Return versions, kernels and threads."""
    twins = _kernels.dense_correlate.__module__.endswith("reference")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "zeronorm": __version__,
        "kernels": "reference (NumPy)" if twins else "native",
        "threads": cores,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "scikit-learn": version("scikit-learn"),
        "platform": platform.platform(),
    }
