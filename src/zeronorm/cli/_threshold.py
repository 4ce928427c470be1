"""From which probability on `zeronorm select` lets a model predict its positive class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ._messages import Doubt, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..persistence import LoadedModel
    from ..thresholds import Threshold
    from ._again import Again
    from ._options import SelectOptions
    from ._progress import Work
    from ._selection import Samples
    from ._validation import Validated

RATES = ("sensitivity", "specificity", "precision")
_FORMS = (
    "a probability (0.3), the costs of a false positive and of a false negative (cost=1:10), or a "
    "rate (sensitivity=0.95, specificity=, precision=)"
)


def check_threshold(options: SelectOptions, samples: Samples, folds: Any) -> None:
    """Refuse a threshold of data that are not of two classes, or that no folds can choose."""
    import numpy as np

    text, response = options.threshold, samples.response
    if text is None:
        return
    n_classes = np.unique(response.y).size if response.labelled else 0
    if n_classes != 2:
        got = f"{n_classes} classes" if response.labelled else response.task
        raise ValueError(f"--threshold {text} is of two classes; got {got}. Leave it out.")
    positive_of(options.positive, response.y)
    if folds is None and "at" not in parse_threshold(text):
        raise ValueError(
            f"--threshold {text} is chosen on rows held out by cross-validation, and there is "
            "none; leave out --no-cv, or say a probability."
        )


def parse_threshold(text: str) -> dict[str, Any]:
    """Return what --threshold asks of `choose_threshold`."""
    name, equals, value = (part.strip() for part in text.partition("="))
    try:
        if not equals:
            at = float(name)
            if 0 < at < 1:
                return {"at": at}
        elif name in RATES:
            rate = float(value)
            if 0 < rate <= 1:
                return {name: rate}
        elif name == "cost":
            fp, fn = map(float, value.split(":"))
            if 0 < fp < float("inf") and 0 < fn < float("inf"):
                return {"cost": (fp, fn)}
    except ValueError:
        pass
    raise ValueError(
        f"--threshold must be {_FORMS}, where probabilities are between 0 and 1, rates above 0 and "
        f"at most 1, and costs positive; got {text!r}."
    )


def thresholds_of(
    options: SelectOptions,
    estimator: Any,
    samples: Samples,
    held_out: Validated | None,
    again: Again | None,
    work: Work,
) -> dict[Any, Threshold | None]:
    """Return the threshold of the model of every size, None where none is wanted or known.

    again : a selection that is repeated: its file has what it was chosen by.
    """
    import numpy as np

    from ..thresholds import Threshold, choose_threshold

    sizes = list(estimator._paths[0])
    if options.threshold is None:
        known = None if again is None else _of_file(again)
        return {size: known if size == estimator.size_ else None for size in sizes}
    rule, classes = parse_threshold(options.threshold), estimator.classes_
    positive = positive_of(options.positive, samples.y)
    if held_out is None and "at" not in rule:
        work.notes.append(Doubt(f"--threshold {options.threshold} is left out: no folds"))
        return dict.fromkeys(sizes)
    if held_out is None:
        unknown: Any = dict.fromkeys((*RATES, "share", "cost"), float("nan"))
        at = rule["at"]
        return dict.fromkeys(sizes, Threshold(at, **unknown, pos_label=positive, rule=f"{at:g}"))
    if len(sizes) > 1:
        work.notes.append(
            "--threshold has no part in the comparison of sizes, whose models predict from a "
            "probability of 0.5 on; -k says another size"
        )
    found: dict[Any, Threshold | None] = {}
    for size in sizes:
        labels, probability = held_out.probabilities(estimator, size)
        own = probability[:, int(np.flatnonzero(classes == positive)[0])]
        found[size] = choose_threshold(labels, own, **rule, pos_label=positive)
    return found


def positive_of(label: str | None, y: Any) -> Any:
    """Return the positive class: the one that a label names, or the second of two."""
    import numpy as np

    from ._input import listed

    classes = {str(value): value for value in np.unique(y).tolist()}
    if label is None:
        return list(classes.values())[1]
    if label not in classes:
        raise ValueError(
            f"--positive must be one of the classes {listed(np.unique(y))}; got {label!r}."
        )
    return classes[label]


@dataclass(frozen=True, slots=True)
class Cost:
    """What wrong predictions of two classes cost, by which a threshold was chosen."""

    false_positive: float
    false_negative: float
    positive: Any

    def of_rows(self, labels: Any, predicted: Any) -> Any:
        """Return what the prediction of each row costs, (n,)."""
        import numpy as np

        of_wrong = np.where(labels == self.positive, self.false_negative, self.false_positive)
        return np.where(labels == predicted, 0.0, of_wrong)


def costs_of(loaded: LoadedModel) -> dict[str, Cost]:
    """Return the costs by which the threshold of a model was chosen, if it was, by their rule."""
    record = loaded.metadata["threshold"]
    name, equals, value = ("" if record is None else str(record["rule"])).partition("=")
    if name != "cost" or not equals:
        return {}
    fp, fn = map(float, value.split(":"))
    positive = loaded.classes_.tolist()[record["positive"]]  # type: ignore[union-attr]
    return {record["rule"]: Cost(fp, fn, positive)}


def note_on(path: str, loaded: Any) -> list[str]:
    """Return what is told where a model predicts from another probability than 1/2 on."""
    record = loaded.metadata["threshold"]
    if record is None:
        return []
    return [f"{path} predicts {sentence(record, loaded.classes_.tolist())}"]


def with_threshold(
    path: str, loaded: LoadedModel, asked: float | None, notes: list[str]
) -> LoadedModel:
    """Return a model that acts from the probability of --threshold on, and note which it is.

    asked : None where the model acts as its file has it.

    Raises
    ------
    ValueError
        If the number is no probability, or the model is not of two classes with probabilities.
    """
    from ..persistence import LoadedClassifier

    if asked is None:
        notes.extend(note_on(path, loaded))
        return loaded
    if not 0 < asked < 1:
        raise ValueError(
            f"--threshold must be a probability, above 0 and below 1; got {asked:g}. Costs and "
            "rates choose one on held-out rows: zeronorm select --threshold."
        )
    if not isinstance(loaded, LoadedClassifier) or loaded.classes_.size != 2:
        n = loaded.classes_.size if isinstance(loaded, LoadedClassifier) else 0
        got = f"one of {n} classes" if n else "not of classes"
        raise ValueError(
            f"--threshold {asked:g} is of models of two classes; {path} is {got}. Leave it out."
        )
    if {solution["loss"] for solution in loaded.metadata["solutions"]} - {"logistic"}:
        raise ValueError(
            f"--threshold {asked:g} is a probability, and {path} has none: it was trained for "
            "another loss than the logistic one. Leave it out."
        )
    before = loaded.metadata["threshold"]
    rates = dict.fromkeys((*RATES, "share", "cost"))
    positive = 1 if before is None else before["positive"]
    record = {"positive": positive, "probability": asked, "score": None, "rule": f"{asked:g}"}
    record |= rates
    own = "not from 0.5 on"
    if before is not None:
        why = sentence(before, loaded.classes_).partition(" from ")[2]
        own = f"not from {why}, which {path} has"
    said = sentence(record, loaded.classes_.tolist())
    notes.append(f"{path} predicts {said} by --threshold, {own}")
    return replace(loaded, metadata={**loaded.metadata, "threshold": record})


def sentence(record: Mapping[str, Any], classes: Any) -> str:
    """Return from which probability on which class is predicted, and why."""
    label = show(str(classes[record["positive"]]), 30)
    what = "score" if record["probability"] is None else "probability"
    why = "" if record["rule"] == f"{record[what]:g}" else f" ({record['rule']})"
    return f"{label!r} from a {what} of {record[what]:.3g} on{why}"


def _of_file(again: Again) -> Threshold | None:
    """Return the threshold of a model file."""
    from ..thresholds import Threshold

    record = again.loaded.metadata["threshold"]
    if record is None:
        return None
    rates = {
        name: float("nan") if record[name] is None else record[name]
        for name in (*RATES, "share", "cost")
    }
    label = again.estimator.classes_[record["positive"]]
    by_score = record["probability"] is None
    value = record["score" if by_score else "probability"]
    return Threshold(value, **rates, pos_label=label, rule=record["rule"], by_score=by_score)
