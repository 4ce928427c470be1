"""Loaded models: what predicts, without the estimator that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import softmax

from ..core.errors import Message, Parameter, ParameterError
from ..core.files import did_you_mean, quote
from ..core.frames import frame_of, numbers_of
from ..core.html import certificate_text, coefficient_heads, features_table
from ..core.ranking import cut_of, predicted
from ..core.types import FloatArray, IndexArray
from ..io.encoding import Coding
from ..io.table import Dataset, Layout, other_number
from .records import half_width

if TYPE_CHECKING:
    from ..estimators.survival import Baseline


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearModel:
    """A loaded model: predicts, and knows what it was made from.

    The score c of a sample x is `intercept_[c] + sum_j coef[c, j] x[columns[j]]`; there is one of
    two classes, of numbers and of survival times, else one for every class or response. Of three
    ordered classes or more there is one without intercept, and `intercept_` is minus the thresholds
    between them, (n_classes - 1,).
    """

    columns: IndexArray  # (p,) the features of the model, covariates among them; sorted
    covariates_: IndexArray  # (q,) those of them that are in the model without being selected
    coef: FloatArray  # (n_scores, p)
    intercept_: FloatArray  # (n_scores,); 0 of survival times, which have none
    n_features_in_: int
    feature_names: tuple[str, ...] | None  # p, of the columns
    metadata: Mapping[str, Any]  # as written: versions, parameters, certificates, history...
    codings: Mapping[str, Coding]  # how features come from columns of a table, by feature
    report: Mapping[str, Any] | None  # what `zeronorm select` found, where it wrote the model

    @property
    def support_(self) -> IndexArray:
        """(k,) the selected features, sorted; empty for a model without any."""
        return np.setdiff1d(self.columns, self.covariates_)

    def __repr__(self) -> str:
        """Return the features, the first ones of many, and the figures, on a line."""
        names = _names(self)
        known = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        labels = ", ".join(map(str, getattr(self, "classes_", ())))
        parts = [self.metadata["estimator"], f"{_size(self)}: {known}"]
        parts += [f"classes: {labels}"] if labels else []
        return f"{type(self).__name__}({'; '.join([*parts, *_certified(self)])})"

    def _repr_html_(self) -> str:
        """Return the features with their coefficients, and the figures, in HTML."""
        of, calibration = self.metadata, self.metadata["calibration"]
        parts = [f"{of['estimator']} of zeronorm {of['zeronorm']}, {of['created']}: {_size(self)}"]
        if calibration and calibration["cv_log_loss"] is not None:
            parts.append(f"log-loss out of fold {calibration['cv_log_loss']:.4g}")
        rows = [*zip(_names(self), self.coef.T, strict=True)]
        if self.intercept_.size == len(self.coef) and self.intercept_.any():
            rows.append(("(intercept)", self.intercept_))
        texts = [[name, *(f"{value:+.5g}" for value in values)] for name, values in rows]
        classes = getattr(self, "classes_", ())
        outputs = classes if len(classes) == len(self.coef) else range(len(self.coef))
        heads = ["feature", *coefficient_heads(outputs)]
        return features_table("; ".join([*parts, *_certified(self)]) + ".", heads, texts)

    @property
    def layout(self) -> Layout:
        """How a file is to be read for this model."""
        return Layout(
            self.n_features_in_,
            self.feature_names or None,  # without features, no column is looked up by its name
            self.metadata["first_index"],
            self.metadata["target_name"],
            covariates=named_among(self.covariates_, self.columns, self.feature_names),
            columns=self.metadata["columns"],
            codings=self.codings,
        )

    def _scores(self, X: Any) -> FloatArray:
        """Return the scores, (n_samples, n_scores)."""
        from ..data.operations import margins
        from ..io.opening import as_design

        values, positions = self._columns(X)
        scores = margins(as_design(values), positions, self.coef.T, self.intercept_)
        bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if bad.size:
            raise ValueError(self._not_finite(values, positions, int(bad[0])))
        return scores

    def contributions(self, X: Any, reference: Any = None) -> tuple[FloatArray, FloatArray]:
        """Return what each feature adds to the scores of rows, beside those of a mean row.

        With m the means of the features over the training rows, or over those of a reference,

            score_ic = base_c + sum_j part_icj,    base_c = intercept_[c] + sum_j coef[c, j] m_j,
            part_icj = coef[c, j] (x_ij - m_j).

        Of ordered classes base is without the thresholds. On the scale of a logarithm (counts,
        hazards, log-odds) a part multiplies by exp(part).

        Parameters
        ----------
        X : as for predictions, (n_samples, n_features_in_).
        reference : rows of the same kind, or None: the training rows, whose means the file must
            have (`save(..., X=X)`, as `zeronorm select` writes it).

        Returns
        -------
        base : (n_scores,)
        parts : (n_samples, n_scores, p), p the features of the model in the order of `columns`

        Raises
        ------
        ValueError
            As for predictions, and where the file has no means and there is no reference.
        """
        values = self._values(X)
        if reference is not None:
            means = self._values(reference).mean(axis=0)
        elif self.metadata["means"] is None:
            raise ValueError(
                "the file of the model has no means of its training rows; pass reference, rows "
                "whose means count."
            )
        else:
            means = np.array(self.metadata["means"])
        ordinal = self.intercept_.size != len(self.coef)
        base = self.coef @ means + (0.0 if ordinal else self.intercept_)
        return base, self.coef * (values - means)[:, None, :]

    def _values(self, X: Any) -> FloatArray:
        """Return the features of the model, (n_samples, p)."""
        from ..io.opening import as_design

        values, positions = self._columns(X)
        found = as_design(values).gather(positions)
        dense = np.asarray(found.toarray() if sp.issparse(found) else found, np.float64)
        bad = np.flatnonzero(~np.isfinite(dense).all(axis=1))
        if bad.size:
            raise ValueError(self._not_finite(values, positions, int(bad[0])))
        return dense

    def _not_finite(self, values: Any, positions: IndexArray, row: int) -> str:
        """Return the error of a row whose scores are not finite, with the value that makes them."""
        from ..io.opening import as_design

        found = as_design(values).gather(positions)
        own = np.asarray(found[[row]].toarray() if sp.issparse(found) else found[row]).ravel()
        sizes = np.abs(own) * np.abs(self.coef).max(axis=0)
        place = int(np.where(np.isfinite(own), sizes, np.inf).argmax())
        of = f"feature {positions[place]}"
        if self.feature_names is not None:
            of = f"feature {quote(str(self.feature_names[place]))}"
        return (
            f"X must be finite in the features of the model, and not too large; row {row} (from 0) "
            f"has {own[place]:g} in {of}. Mend that value."
        )

    def _columns(self, X: Any) -> tuple[Any, IndexArray]:
        """Return data and the positions of the support in it."""
        names: Sequence[Any] | None = None
        frame = None
        if isinstance(X, Dataset):
            X, names = X.X, X.feature_names
        else:
            frame = frame_of(X)
            names = None if frame is None else list(frame.columns)
        if names is not None and self.feature_names is not None:
            where = {name: j for j, name in enumerate(names)}
            missing = [name for name in self.feature_names if name not in where]
            if (
                frame is not None
                and self.codings
                and {*(self.layout.sources or ())} <= where.keys()
            ):
                from ..io.read import coded_frame

                return coded_frame(frame, self.layout), np.arange(len(self.columns))
            if missing:
                rule = Parameter("X"), " must have the features of the model; "
                other = other_number(missing, [str(name) for name in names])
                if other is not None:
                    raise ValueError(Message(*rule, other))
                there = [str(name) for name in names]
                hint = did_you_mean(missing[0], there, given=self.feature_names)
                told = f"{len(missing)} are missing, the first is {quote(missing[0])}.{hint}"
                raise ValueError(Message(*rule, told))
            if frame is not None and not self.feature_names:
                return np.zeros((len(frame), 1)), self.columns  # of nothing, rows only
            if frame is not None:
                chosen = frame.select(self.feature_names)
                return numbers_of(chosen), np.arange(len(self.columns))
            return X, np.array([where[name] for name in self.feature_names], np.int64)
        if frame is not None:
            X = numbers_of(frame)
        X = X if hasattr(X, "shape") else np.asarray(X)
        if len(X.shape) != 2 or X.shape[1] != self.n_features_in_:
            raise ParameterError(
                "X",
                f"must have {self.n_features_in_} features (those the model was trained on)",
                f"the shape {X.shape}",
            )
        return X, self.columns


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoadedClassifier(LinearModel):
    """A loaded model of classes: a score for each, with two classes one for the second."""

    classes_: NDArray[Any]  # (n_classes,) sorted
    # From the lowest to the highest, where they are ordered and three or more; else none.
    ordered_classes_: NDArray[Any]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores, (n_samples,) or (n_samples, n_classes) with three classes or more.

        Parameters
        ----------
        X : array, sparse matrix or array, data frame or Dataset
            (n_samples, n_features_in_). Where both X and the model have names, features are found
            by name: order does not matter and other columns may be missing or be there. Text, dates
            and empty cells of a data frame are coded as those of the training table were.

        Raises
        ------
        ValueError
            If features are missing, their number differs, or a value is NaN or infinite.
        """
        scores = self._scores(X)
        if is_ordinal(self.metadata, len(self.classes_)):
            from ..losses.ordinal import log_odds_of_classes

            order = np.argsort(self.ordered_classes_, kind="stable")
            scores = log_odds_of_classes(scores)[:, order]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def cut(self) -> float:
        """The score above which a row is of the second of two classes; 0 without a threshold.

        With t the probability from which on a row is positive, that is log(t / (1 - t)), or minus
        it where the positive class is the first.
        """
        record = self.metadata["threshold"]
        if record is None:
            return 0.0
        by_score = record["probability"] is None
        value = record["score" if by_score else "probability"]
        return cut_of(value, record["positive"], by_score=by_score)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of the largest score, (n_samples,).

        Of two classes and with a threshold (`metadata["threshold"]`) the positive one from its
        probability on.
        """
        scores = self.decision_function(X)
        return np.asarray(self.classes_[predicted(scores - self.cut)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities, (n_samples, n_classes): the logistic function of the scores.

        With three classes or more those of the multinomial or the ordinal model, or where each
        class has a model, one-versus-rest probabilities normalised to sum one.

        Raises
        ------
        ValueError
            As for `decision_function`, and where the scores are no log-odds: those of an l1 model
            with another loss than the logistic one.
        """
        from ..losses import probabilities

        losses = {solution["loss"] for solution in self.metadata["solutions"]}
        if losses - {"logistic"}:
            raise ValueError(
                Message(
                    "Probabilities need a model with ",
                    Parameter.of("loss", "logistic"),
                    f"; this {self.metadata['estimator']} has {min(losses)!r}, whose scores are no "
                    "log-odds. Use decision_function or predict.",
                )
            )
        scores = self.decision_function(X)
        n_classes = len(self.classes_)
        if shares_features(self.metadata, n_classes):
            found: FloatArray = softmax(scores, axis=1)
            return found
        return probabilities(scores)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoadedRegressor(LinearModel):
    """A loaded model of numbers or counts: its score is their mean, or the logarithm of it."""

    loss: Any  # of `zeronorm.losses`, or one that was passed to `load`

    def predict(self, X: Any, offset: Any = None) -> FloatArray:
        """Return the means (of the loss of a quantile that quantile).

        (n_samples,), of several responses (n_samples, n_responses).

        X : as for `LoadedClassifier.decision_function`.
        offset : (n_samples,) added to the scores, as the logarithm of an exposure, or one number
            for all rows. A model that was fitted with an offset needs it; 0 predicts without it.
        """
        from ..core.targets import check_new_offset

        scores, fitted = self._scores(X), self.metadata["offset"]
        known = check_new_offset(offset, len(scores), self.loss.largest_offset, fitted=fitted)
        if known is not None:
            scores = scores + known[:, None]
        means = np.asarray(self.loss.mean(scores))
        return means[:, 0] if means.shape[1] == 1 else means

    def predict_interval(self, X: Any, coverage: float = 0.9, offset: Any = None) -> FloatArray:
        """Return an interval around each prediction, (n_samples, 2).

        It is the prediction plus and minus the absolute error of rank ceil((n + 1) coverage) of n
        rows out of fold. About that share of rows exchangeable with the training rows is inside,
        where leaving a fold out changes the fit little; it is a share of all rows, and not one of
        rows with given features. See `zeronorm.persistence.records` for what is proven.

        X, offset : as for `predict`.

        Raises
        ------
        ValueError
            As for `predict`, and where the file has no errors of rows out of fold (`save(...,
            errors=)`, as `zeronorm select` writes them where it has folds), or too few of them for
            the coverage.
        """
        if self.metadata["errors"] is None:
            raise ValueError(
                "the file of the model has no errors of rows out of fold; zeronorm select with "
                "folds writes them, and save(..., errors=)."
            )
        half = half_width(self.metadata["errors"], coverage)
        predicted = self.predict(X, offset)
        return np.column_stack([predicted - half, predicted + half])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LoadedSurvivalModel(LinearModel):
    """A loaded model of survival times: its score is the risk."""

    baseline: Baseline

    def predict(self, X: Any) -> FloatArray:
        """Return the risk scores, (n_samples,): the higher, the sooner.

        X : as for `LoadedClassifier.decision_function`.
        """
        return self._scores(X)[:, 0]

    def predict_survival_function(self, X: Any, return_array: bool = False) -> NDArray[Any]:
        """Return the probability of no event up to a time, a `StepFunction` for every row.

        return_array : its values at the times of the training rows, (n_samples, n_times).

        Raises
        ------
        ValueError
            As for `predict`, and where the model has several strata.
        """
        return self.baseline.survivals(self.predict(X), return_array)


def named_among(
    chosen: IndexArray, columns: IndexArray, names: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the names of some of sorted columns; none where these have none."""
    if not names:
        return ()
    return tuple(names[place] for place in np.searchsorted(columns, chosen))


LoadedModel: TypeAlias = LoadedClassifier | LoadedRegressor | LoadedSurvivalModel


def shares_features(metadata: Mapping[str, Any], n_classes: int) -> bool:
    """Return whether several classes have one multinomial model."""
    return n_classes > 2 and metadata["parameters"].get("multi_class") == "multinomial"


def is_ordinal(metadata: Mapping[str, Any], n_classes: int) -> bool:
    """Return whether the classes are ordered, with thresholds for intercepts."""
    return n_classes > 2 and metadata["parameters"].get("loss") == "ordinal"


# What Python and notebooks show of one.

_SHOWN = 3  # names of features on a line


def _size(model: LinearModel) -> str:
    n = model.covariates_.size
    beside = f" and {n:,} covariate{'s' if n > 1 else ''}" if n else ""
    return f"{model.support_.size:,} of {model.n_features_in_:,} features{beside}"


def _names(model: LinearModel) -> Sequence[str]:
    if model.feature_names is not None:
        return model.feature_names
    return [f"x{j}" for j in model.columns.tolist()]


def _certified(model: LinearModel) -> list[str]:
    known = [one for one in model.metadata["certificates"] if one is not None]
    proven, gaps = [one["proven"] for one in known], [one["gap"] for one in known]
    return [f"certificate: {certificate_text(proven, gaps)}"] if known else []
