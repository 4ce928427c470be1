"""The models of `zeronorm select`, the points of `path`, and what `discover` finds."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from sklearn.base import is_classifier

from ..._version import __version__
from ...core.effects import effects
from ...core.groups import Groups
from ...core.messages import csv_cell
from ...core.ranking import predicted
from ...core.results import Proof, Selection, Status
from ...core.targets import class_factors
from ...core.types import Design, FloatArray, IndexArray
from ...data.operations import deviations
from ...estimators import (
    L1ClassifierCV,
    L1Path,
    L1RegressorCV,
    L1SurvivalAnalysisCV,
    MeasureClassifier,
)
from ...estimators.held_out import CrossValidation, model_scores, standard_error
from ...inference.false_discoveries import Discoveries
from ...io.input import Response
from ...io.table import Dataset
from ...losses import fit_intercept
from ...measures import macro_average, parse_measure
from ...model_selection.cross_validation import PermutationTest
from ...persistence import as_plain, finite_or_none, summarize
from ..records import (
    BlocksUsed,
    ByFolds,
    Calibrated,
    ChosenPoint,
    Discovered,
    DiscoveriesFound,
    Entry,
    HeldOutScores,
    MeasureBound,
    ModelFound,
    PathPoint,
    Permuted,
    Searched,
    Selected,
    SelectionFound,
    Term,
    as_json,
)
from .data import (
    by_class,
    describe_data,
    describe_equivalents,
    describe_feature,
    described,
    feature_name,
)

if TYPE_CHECKING:
    from ...io.input import Samples


# The results of a cross-validation.
Chosen: TypeAlias = L1ClassifierCV | L1RegressorCV | L1SurvivalAnalysisCV


def describe_selection(
    source: str,
    samples: Samples,
    estimator: Any,
    models: list[ModelFound],
    parameters: dict[str, Any],
    **more: Any,
) -> SelectionFound:
    """Return the record of a fitted selection.

    source : the name of the data. models : as of `describe_model`, of all sizes.
    more : further fields: the rule, the criteria, the notes and what the run has taken.
    """
    n_covariates = len(getattr(estimator, "covariates_", ()))
    given = samples.table, samples.response, samples.groups, n_covariates
    found: dict[str, Any] = {
        "categories": [], "criteria": [], "stability": None, "interrupted": None,
        "n_scans": int(estimator.n_scans_), "features_file": None, "seconds": {},
    }  # fmt: skip
    return SelectionFound(
        zeronorm=__version__,
        data=describe_data(source, *given),
        score=getattr(estimator, "_score_name", "accuracy"),
        parameters=as_plain(parameters),
        classes=_classes_of(estimator).tolist(),
        outputs=outputs_of(estimator, samples.table),
        by_folds=_describe_choice(estimator),
        models=models,
        n_covariates=n_covariates,
        chosen=size_number(estimator.size_),
        **(found | more),
    )


def outputs_of(estimator: Any, table: Dataset) -> list[Any]:
    """Return the classes or the responses that share the features of one model; else none."""
    if isinstance(table.target_name, tuple):
        return list(table.target_name)
    classes = _classes_of(estimator)
    shared = classes.size > 2 and estimator._multi_class == "multinomial"
    return classes.tolist() if shared else []


def _classes_of(estimator: Any) -> np.ndarray:
    """Return the classes of an estimator, ordered ones in their order; of others none."""
    classes = getattr(estimator, "classes_", np.empty(0))
    return np.asarray(getattr(estimator, "ordered_classes_", classes))


def size_number(size: Any) -> int:
    """Return the first number of a size, which is a pair where features are in few groups.

    It is of features, or of whole groups.
    """
    return int(size[0] if isinstance(size, list | tuple) else size)


def _describe_choice(estimator: Any) -> ByFolds | None:
    """Return which parameter the folds of a fit chose, and how many folds; None: they did not."""
    n_folds = estimator._paths[0].n_folds
    if not n_folds:
        return None
    return ByFolds(parameter="method" if is_classifier(estimator) else "C", folds=n_folds)


def describe_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a fit with those of its method, and its defaults as they are.

    An infinite C is None.
    """
    found: dict[str, Any] = estimator.get_params(deep=False)
    del found["checkpoint"]  # of the run, not of the model
    if not isinstance(estimator, MeasureClassifier):
        plan = estimator._plan()
        C = finite_or_none(estimator.C_)
        found |= {"C": C, "refit_C": plan.refit_C, "tol": plan.tol, **asdict(plan.method)}
        found["loss"] = _loss_of(estimator)
        found |= {"multi_class": estimator.multi_class_} if "multi_class" in found else {}
    return found


def _loss_of(estimator: Any) -> str | None:
    """Return the name of the loss whose margins the coefficients add to; None of a measure."""
    return None if isinstance(estimator, MeasureClassifier) else str(estimator._plan().loss.name)


def describe_model(
    estimator: Any,
    size: Any,
    table: Dataset,
    response: Response,
    design: Design,
    validation: CrossValidation | None,
    groups: Groups | None = None,
    for_accuracy: CrossValidation | None = None,
    permutations: PermutationTest | None = None,
    compared: int = 1,
) -> ModelFound:
    """Return what is known about the model of a size; its file is not written yet.

    for_accuracy : cross-validation, in the measure, of a selection that is trained for accuracy.
    compared : of how many sizes the cross-validation chose one.
    groups : of all features, where the model has a budget of groups.
    """
    paths = estimator._paths
    classes: Any = getattr(estimator, "classes_", None)
    ordered = response.task == "ordered" and len(classes) > 2
    measure = getattr(estimator, "measure", None)
    measure = None if measure is None else parse_measure(measure)
    rows, beside = [], []
    shared = ordered or bool(outputs_of(estimator, table))
    loss = None if shared and not ordered and classes is not None else _loss_of(estimator)
    for label, path in [(None, paths[0])] if shared else by_class(classes, paths):
        model = path[size]
        rows += describe_features(
            label, model.support, model.coef, "block", model.entered, table, design, loss, groups
        )
        if model.covariates.size:
            beside += _describe_covariates(label, model, table, design, loss)
    both = isinstance(size, tuple)
    on_training = None
    if measure is not None:
        z = model_scores(paths, size, design)
        on_training = float(macro_average(measure, z, np.asarray(table.y), classes))
    intercepts = [np.atleast_1d(path[size].intercept) for path in paths]
    n_selected = len({row.index for row in rows})
    return ModelFound(
        size=size_number(size),
        n_features=size_number(size) if groups is None or both else n_selected,
        n_groups=None if groups is None else int(size[1] if both else size),
        features=rows,
        covariates=beside,
        intercept=np.concatenate(intercepts).tolist(),
        thresholds=(-intercepts[0]).tolist() if ordered else None,
        refit_C=[finite_or_none(path[size].refit_C) for path in paths],
        calibration=_describe_calibration(estimator, size, table),
        **_describe_training(estimator, size, response, design),
        measure=None if measure is None else measure.name,
        training_measure=on_training,
        cross_validation=_describe_validation(validation, size, compared),
        for_accuracy=_describe_validation(for_accuracy, size, compared),
        permutations=_describe_permutations(permutations, size),
        certificates=[summarize(path[size].certificate) for path in paths],
        proofs=[describe_proof(path[size].proof, table) for path in paths],
        bounds=[_describe_bound(path[size], estimator) for path in paths],
    )


def describe_features(
    label: Any,
    support: IndexArray,
    coef: FloatArray,
    step: Literal["block", "point"],
    entered: IndexArray,
    table: Dataset,
    design: Design,
    loss: str | None,
    groups: Groups | UnsetType | None = UNSET,
) -> list[Selected]:
    """Return the features of a model for a class, by falling effect of one standard deviation.

    coef : (k,), or (outputs, k); then a row has the coefficients and effects of all outputs, and
        the order is that of their root mean square.
    step : what `entered` counts, at which each feature entered.
    loss : by its name, of which the exponentials of coefficients may be ratios; None: of none.
    groups : of all features; UNSET where features of this kind have none.
    """
    deviation = deviations(design.gather(support))
    effect = coef * deviation
    # Ties, as of features without effect, go by position.
    order = np.lexsort((support, -np.sqrt((np.atleast_2d(effect) ** 2).sum(axis=0))))
    labels: list[Any] = [groups] * len(support)
    if isinstance(groups, Groups):
        labels = [str(groups.labels[groups.code[j]]) for j in support]
    return [
        Selected(
            label=label,
            rank=rank,
            **described(table, int(support[j])),
            **effects(coef[..., j], deviation[j], loss),
            block=int(entered[j]) if step == "block" else UNSET,
            point=int(entered[j]) if step == "point" else UNSET,
            group=labels[j],
        )
        for rank, j in enumerate(order, 1)
    ]


def _describe_covariates(
    label: Any, model: Selection, table: Dataset, design: Design, loss: str | None
) -> list[Term]:
    """Return the covariates of a model for a class, in order, as `describe_features`."""
    deviation = deviations(design.gather(model.covariates))
    return [
        Term(
            label=label,
            **described(table, int(feature)),
            **effects(model.effects[..., j], deviation[j], loss),
        )
        for j, feature in enumerate(model.covariates)
    ]


def _describe_calibration(estimator: Any, size: Any, table: Dataset) -> Calibrated | None:
    """Return the scale of a model, its log-loss out of fold, and that of the shares of classes."""
    model = estimator._paths[0][size]
    if not is_classifier(estimator):
        scale = float(model.scale)
        known = Calibrated(scale=scale, cv_log_loss=None, base_log_loss=None)
        return None if scale == 1.0 else known
    if not math.isfinite(model.cv_log_loss):
        return None
    y = np.asarray(table.y)
    weight = class_factors(estimator.class_weight, y, np.ones(y.size))
    shares = np.array([weight[y == label].sum() for label in estimator.classes_]) / weight.sum()
    return Calibrated(
        scale=float(model.scale),
        cv_log_loss=float(model.cv_log_loss),
        base_log_loss=float(-shares @ np.log(shares)),
    )


def _describe_training(
    estimator: Any, size: Any, response: Response, design: Design
) -> dict[str, Any]:
    """Return the accuracy on the training data, or the score of numbers and survival times."""
    paths, y = estimator._paths, response.y
    if response.labelled:
        scores = estimator._class_scores(model_scores(paths, size, design))
        found = _classes_of(estimator)[predicted(scores)]
        return {"training_accuracy": float(np.mean(found == np.asarray(y)))}
    z, ones = model_scores(paths, size, design), np.ones(len(y))
    target = estimator._target(y, len(y))
    if response.offset is not None:
        z = z + response.offset[:, None]
    columns = list(zip(z.T, [target] if y.ndim == 1 else target.T, strict=True))
    scores = [float(estimator._score_of_margins(*column, ones)) for column in columns]
    of_numbers: dict[str, Any] = {"training_score": float(np.mean(scores))}
    if len(scores) > 1:
        of_numbers["training_scores"] = scores
    if response.offset is not None:
        # An exposure alone explains a part, which the features must not have the credit for.
        loss, alone = estimator._loss(), []
        for _, column in columns:
            moved, weight = loss.with_offset(column, response.offset)
            constant = fit_intercept(loss.fitted(moved, weight), 0.0 * ones, moved, weight)[0]
            margins = response.offset + constant
            alone.append(float(estimator._score_of_margins(margins, column, ones)))
        of_numbers["offset_score"] = float(np.mean(alone))
    return of_numbers


def with_validation(selection: SelectionFound, validation: CrossValidation) -> SelectionFound:
    """Return the record of a selection with the held-out scores of its sizes.

    Whoever reads them takes the best of all sizes.
    """
    compared = len(selection.models)
    by_size = {size_number(size): size for size in validation.sizes}
    models = [
        replace(
            model,
            cross_validation=_describe_validation(validation, by_size.get(model.size), compared),
        )
        for model in selection.models
    ]
    return replace(selection, models=models)


def _describe_validation(
    validation: CrossValidation | None, size: Any, compared: int
) -> HeldOutScores | None:
    if validation is None or size not in validation.sizes:
        return None
    row, limit = validation.sizes.index(size), validation.limit_of_chance(compared)
    advantage, error = float(validation.advantage[row].mean()), validation.advantage_error[row]
    beside = {
        "balanced_accuracy": validation.balanced_accuracy,
        "auc": validation.auc,
        "rmse": validation.rmse,
        "deviance": validation.deviance,
    }
    return HeldOutScores(
        folds=int(validation.scores.shape[1]),
        mean=float(validation.mean[row]),
        standard_error=float(validation.standard_error[row]),
        scores=validation.scores[row].tolist(),
        baseline=float(validation.baseline.mean()),
        **{name: _mean_of(scores, row) for name, scores in beside.items()},
        **{
            f"{name}_error": None
            if scores is None
            else finite_or_none(float(standard_error(scores, validation.repeats)[row]))
            for name, scores in beside.items()
        },
        baseline_rmse=_mean_of(validation.baseline_rmse, ...),
        deviance_name=cast("Any", validation.deviance_name),
        baseline_deviance=_mean_of(validation.baseline_deviance, ...),
        advantage=finite_or_none(advantage),
        advantage_error=finite_or_none(float(error)),
        compared=compared,
        limit_of_chance=limit,
        better_than_chance=bool(advantage > limit * error),
    )


def _mean_of(scores: FloatArray | None, row: Any) -> float | None:
    """Return the mean over the folds, None where a fold has no such score."""
    return None if scores is None else finite_or_none(float(scores[row].mean()))


def _describe_permutations(test: PermutationTest | None, size: Any) -> Permuted | None:
    if test is None or size not in test.validation.sizes:
        return None
    row = test.validation.sizes.index(size)
    return Permuted(
        n_permutations=len(test.permuted),
        p_value=float(test.p_value[row]),
        statistic=test.statistic,
        own=float(test.own[row]),
        permuted=test.permuted[:, row].tolist(),
    )


def describe_proof(proof: Proof | None, table: Dataset) -> Searched | None:
    """Return how a branch and bound ended, and the duplicates that it met."""
    if proof is None:
        return None
    end = proof.history[-1]
    reason = proof.status.value.partition(";")[0]
    if proof.status is Status.OPTIMAL and proof.certificate.max_abs_coef is not None:
        reason = "no better support with such coefficients exists"
    return Searched(
        status=proof.status.name,
        reason=reason,
        nodes=int(end.n_nodes),
        seconds=float(end.seconds),
        improved=bool(proof.improved),
        equivalents=describe_equivalents(proof.certificate, table),
    )


def _describe_bound(model: Selection, estimator: Any) -> MeasureBound | None:
    """Return how far the model of a measure can be from the best of its size."""
    if model.objective is None or model.bound is None:
        return None
    return MeasureBound(
        objective=float(model.objective),
        bound=float(model.bound),
        gap=float(model.gap or 0.0),
        n_forced=len(estimator.forced_features or ()),
    )


def describe_path(paths: Sequence[L1Path], model: Chosen | None) -> list[PathPoint]:
    """Return the points of a path: of several classes, the mean explained and the largest gap.

    model : that of the cross-validation, with the scores.
    """
    points = []
    for i, C in enumerate(paths[0].Cs):
        support = np.unique(np.concatenate([path.support(i) for path in paths]))
        points.append(
            PathPoint(
                point=i + 1,
                C=float(C),
                n_features=int(support.size),
                explained=float(np.mean([path.explained[i] for path in paths])),
                gap=float(max(path.dual_gap[i] for path in paths)),
                score=UNSET if model is None else float(model.mean_score_[i]),
                standard_error=UNSET if model is None else float(model.standard_error_[i]),
            )
        )
    return points


def describe_entries(paths: Sequence[L1Path], table: Dataset) -> list[Entry]:
    """Return the features of a path, by class in the order in which they enter."""
    rows = []
    for label, path in by_class(paths[0].classes, paths):
        entered = _entered(path)
        features = np.flatnonzero(entered)
        for index in features[np.argsort(entered[features], kind="stable")].tolist():
            point = int(entered[index])
            C = float(path.Cs[point - 1])
            rows.append(Entry(label=label, **described(table, index), point=point, C=C))
    return rows


def describe_chosen(
    model: Chosen, paths: Sequence[L1Path], table: Dataset, design: Design
) -> ChosenPoint:
    """Return the point of the cross-validated model, the best point, and the model."""
    chosen, best = (int(np.flatnonzero(model.Cs_ == C)[0]) for C in (model.C_, model.C_best_))
    rows, loss = [], "cox" if isinstance(model, L1SurvivalAnalysisCV) else str(model.loss)
    for label, path in by_class(paths[0].classes, paths):
        support, coef = path.support(chosen), path.coef[[chosen]].data
        entered = _entered(path)[support]
        rows += describe_features(label, support, coef, "point", entered, table, design, loss)
    return ChosenPoint(
        point=chosen + 1,
        best_point=best + 1,
        rule=model.rule,
        C=float(model.C_),
        n_features=int(model.n_selected_[chosen]),
        features=rows,
        intercept=np.ravel(getattr(model, "intercept_", [])).tolist(),
    )


def path_csv(points: Sequence[PathPoint], paths: Sequence[L1Path], table: Dataset) -> bytes:
    """Return the file of a path, a row per point: its figures, and the models.

    A model is its intercept and the coefficients of all features that ever enter, in that order; of
    several classes the models stand side by side.
    """
    rows = [as_json(point) for point in points]
    figures, header, models = list(rows[0]), [], []
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
    for point, coefficients in zip(rows, np.hstack(models).tolist(), strict=True):
        writer.writerow([*(point[name] for name in figures), *coefficients])
    return text.getvalue().encode("utf-8", "backslashreplace")


def _entered(path: L1Path) -> IndexArray:
    """Return the point, from 1, at which each feature first enters, (n_features,); 0: never."""
    entered = np.zeros(path.coef.shape[1], np.int64)
    for i in reversed(range(len(path))):
        entered[path.support(i)] = i + 1
    return entered


def describe_discoveries(
    data: str, samples: Samples, found: Discoveries, covariates: Sequence[int], **more: Any
) -> DiscoveriesFound:
    """Return the discoveries, and the features that had enough votes, but are too doubtful."""
    table = samples.table
    rivals = [describe_feature(table, int(j)) if j >= 0 else None for j in found.rivals]
    blocks = None
    if found.n_blocks is not None:
        within = found.correlation
        blocks = BlocksUsed(
            column=table.column_names["blocks"],
            n_blocks=found.n_blocks,
            correlation=None if within is None else finite_or_none(within),
        )
    return DiscoveriesFound(
        data=describe_data(data, table, samples.response, n_covariates=len(covariates)),
        fdr=found.fdr,
        estimate=found.estimate,
        n_found=found.n_found,
        n_candidates=found.n_candidates,
        n_dummies=found.n_dummies,
        n_experiments=found.n_experiments,
        n_entered=found.n_entered,
        least_votes=found.least_votes,
        covariates=[describe_feature(table, j) for j in covariates],
        blocks=blocks,
        features=[
            Discovered(
                **described(table, int(j)),
                votes=float(found.votes[at]),
                stand_in=float(found.stand_in[at]),
                rival=rivals[at],
                found=at < found.n_found,
            )
            for at, j in enumerate(found.features)
        ],
        **more,
    )
