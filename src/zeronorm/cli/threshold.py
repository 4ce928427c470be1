"""From which probability on a model of two classes predicts its positive class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..reporting.text.words import sentence

if TYPE_CHECKING:
    from ..persistence import LoadedModel


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
        raise ValueError(f"--threshold must be a probability, above 0 and below 1; got {asked:g}.")
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
    positive = 1 if before is None else before["positive"]
    record = {"positive": positive, "probability": asked, "score": None, "rule": f"{asked:g}"}
    own = "not from 0.5 on"
    if before is not None:
        why = sentence(before, loaded.classes_).partition(" from ")[2]
        own = f"not from {why}, which {path} has"
    said = sentence(record, loaded.classes_.tolist())
    notes.append(f"{path} predicts {said} by --threshold, {own}")
    return replace(loaded, metadata={**loaded.metadata, "threshold": record})
