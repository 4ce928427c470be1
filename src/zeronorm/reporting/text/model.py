"""The reports of `zeronorm info`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from ...core.messages import counted, show
from ...export.formats import positive, sign
from ...persistence import LoadedClassifier, LoadedModel, LoadedSurvivalModel
from .claims import largest_gap, loss_words, scaled_facts, scope
from .tables import aligned, empty_grid, like, open_console, print_pairs, styled, thresholds_text
from .words import sentence


def print_installation(document: Mapping[str, Any]) -> None:
    """Print versions and threads."""
    print_pairs(open_console(), [(key, str(value)) for key, value in document.items()])


def print_model(path: str, loaded: LoadedModel) -> None:
    """Print what a model file holds."""
    console = open_console()
    metadata = loaded.metadata
    labels, ordered = [], False
    if isinstance(loaded, LoadedClassifier):
        ordered = bool(loaded.ordered_classes_.size)
        classes = loaded.ordered_classes_ if ordered else loaded.classes_
        labels = [show(str(label), 30) for label in classes]
    beside = set(loaded.covariates_.tolist())
    n_candidates = loaded.n_features_in_ - len(beside)
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("model", styled((show(path), "bold"))),
        ("made by", show(f"{metadata['estimator']} of zeronorm {metadata['zeronorm']}")),
        ("created", show(metadata["created"])),
        ("classes", styled((" < " if ordered else ", ").join(labels)))
        if labels
        else ("loss", show(loss_words(metadata["loss"]["name"]), 60)),
        ("features", f"{loaded.support_.size:,} of {n_candidates:,}"),
    ]
    if beside:
        pairs.append(("covariates", _covariates(loaded)))
    if ordered:
        pairs.append(("thresholds", thresholds_text(labels, (-loaded.intercept_).tolist())))
    groups = metadata["feature_groups"]
    if groups is not None:
        pairs.append(("groups", f"{len(set(groups)):,}"))
    name = metadata["target_name"]
    responses = name if isinstance(name, list) else []
    if name is not None:
        pairs.append(("responses" if responses else "target", show(", ".join(responses) or name)))
    chosen_by = metadata["columns"].get("where")
    if metadata["n_samples"] is not None or chosen_by is not None:
        pairs.append(("selected from", _rows(metadata["n_samples"], chosen_by)))
    for role, name in metadata["columns"].items():
        if role == "where":
            continue
        pairs.append((role.replace("_", " "), styled(show(name))))
    pairs += scaled_facts(metadata["calibration"], metadata["parameters"], bool(labels))
    if metadata["threshold"] is not None and isinstance(loaded, LoadedClassifier):
        pairs.append(
            (
                "predicted",
                f"{sentence(metadata['threshold'], loaded.classes_.tolist())}, not from 0.5 on",
            )
        )
    if metadata["certificates"][0] is not None:
        pairs.append(("certified gap", largest_gap(metadata["certificates"])))
        pairs.append(("", styled((scope(metadata["certificates"][0]), "dim"))))
    print_pairs(console, pairs)
    console.print()
    grid = empty_grid()
    grid.add_column("feature", style="bold", overflow="ellipsis", no_wrap=True)
    if groups is not None:
        grid.add_column("group", overflow="ellipsis", no_wrap=True)
    labels = [] if ordered else labels
    turn = sign(loaded)
    heads = [f"for {labels[positive(loaded)]}"] if len(labels) == 2 else labels
    heads = heads or [show(one, 30) for one in responses] or ["coefficient"]
    for head in heads:
        grid.add_column(styled(head), justify="right")
    columns = [aligned(row.tolist()) for row in turn * loaded.coef]
    intercepts = [
        like(texts[0] if texts else "+0.0000", value)
        for texts, value in zip(columns, (turn * loaded.intercept_).tolist(), strict=False)
    ]
    for column, index in enumerate(loaded.columns.tolist()):
        if loaded.feature_names is not None:
            name = loaded.feature_names[column]
        else:
            name = str(index + metadata["first_index"])
        cells: list[str | Text] = [
            text[column] if row[column] else ""
            for text, row in zip(columns, loaded.coef, strict=True)
        ]
        if groups is not None:
            cells.insert(0, styled(show(str(groups[column]))))
        grid.add_row(styled(show(name) + " *" * (index in beside)), *cells)
    blank = [] if groups is None else [""]
    if not (isinstance(loaded, LoadedSurvivalModel) or ordered):
        grid.add_row(styled(("intercept", "dim")), *blank, *intercepts)
    console.print(grid)
    console.print()


def _rows(n_samples: int | None, chosen_by: str | None) -> str:
    """Return how many rows a model was selected from, and what chose them."""
    number = "rows" if n_samples is None else f"{n_samples:,} samples"
    return number if chosen_by is None else f"{number}, those where {show(chosen_by, 200)}"


def _covariates(loaded: LoadedModel) -> str:
    """Return how many columns are covariates, of text with a feature for each level."""
    layout, count = loaded.layout, int(loaded.covariates_.size)
    made = [layout.codings.get(name) for name in layout.covariates]
    of_text = [one.column for one in made if one is not None and one.kind == "category"]
    n_columns = count - len(of_text) + len({*of_text})
    features = "" if n_columns == count else f", by {counted(count)}"
    return f"{n_columns:,}{features}, marked by *: in the model in any case"
