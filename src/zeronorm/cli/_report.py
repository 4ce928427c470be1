"""What the commands print for people: documents as text and tables, a function for each of them."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from math import ceil
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..methods import METHODS
from ..persistence import LinearModel
from ._messages import show
from ._tables import (
    GAP,
    aligned,
    count_groups,
    counted,
    empty_grid,
    four_digits,
    open_console,
    print_features,
    print_header,
    print_models,
    print_pairs,
    rows_by_class,
    seconds_fact,
    styled,
)

_EFFECT = "per s.d.: what one standard deviation of the feature adds to the"
_POINTS = {  # what the columns of a path say
    "explained": "the share of the loss that the features take away",
    "certified gap": "how far the objective can be from the best one, as a share of that without "
    "features",
}
_POINTS_OF_CLASSES = "Of all classes, the mean share explained and the largest gap."
# Training for a measure is no method of `zeronorm.methods`.
_SENTENCES = {name: one.sentence for name, one in METHODS.items()}
_SENTENCES["measure"] = "measure: blocks of features and cuts of the measure, in two layers"
# Of every method, what the moment is called at which a feature entered, and what that counts.
_ENTERED = {name: one.entered for name, one in METHODS.items()}
_ENTERED |= dict.fromkeys(("auto", "measure"), _ENTERED["pool"])
_VACUOUS = 0.995  # a gap above this is not told as a claim
_MAX_EQUIVALENTS = 5  # duplicates of a feature that are named
_MAX_CLAIMED = 20  # features of a certificate that are named
_MAX_ENTRIES = 20  # features shown in the order in which they enter a path
_MAX_POINTS = 20  # points of a path shown
_PREVIEW = 10  # predictions shown without --output
_MAX_CONFUSION = 10  # classes of a confusion matrix that still fits a terminal


def print_installation(document: Mapping[str, Any]) -> None:
    """Print versions and threads."""
    print_pairs(open_console(), [(key, str(value)) for key, value in document.items()])


def print_selection(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the chosen or largest model with accuracy and certificate, and a row for every size."""
    console = open_console()
    data, models, classes = document["data"], document["models"], document["classes"]
    if not quiet:
        console.print()
    print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, document)
        console.print()
    model = next(model for model in models if model["n_features"] == document["chosen"])
    head, meaning = _ENTERED[document["parameters"]["method"]]
    entered = (head, "block") if head else None
    print_models(console, model["features"], classes, entered, data["n_groups"])
    if not quiet:
        legend = f"{_EFFECT} {'score' if model['measure'] else 'log-odds'}"
        if head:
            legend += f"; {head}: {meaning}"
        if any(row["block"] == 0 for row in model["features"]):
            legend += ", - where its score made up the number"
        console.print(styled((f"{legend}.", "dim")))
        console.print()
    print_pairs(console, _facts(document, model, quiet), airy=True)
    if not quiet:
        console.print()


def print_verification(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print whether certificates hold, what they claim, and what was recomputed."""
    console = open_console()
    if not quiet:
        console.print()
    print_header(console, document["data"])
    console.print()
    claims, classes = document["claims"], document["classes"]
    several = len(classes) > 2
    facts: list[tuple[str, str | Text]] = [
        ("proof", styled((show(document["certificate"]), "bold"))),
    ]
    for claim in claims:
        names = [show(row["name"], 40) for row in claim["features"]]
        more = f" and {len(names) - _MAX_CLAIMED:,} more" if len(names) > _MAX_CLAIMED else ""
        label = show(str(claim["class"]), 30)
        facts.append(
            ("", f"{counted(len(names))} of {label}: {', '.join(names[:_MAX_CLAIMED])}{more}")
        )
        if claim["forced"]:
            names = [show(row["name"], 40) for row in claim["forced"]]
            facts.append(("", f"forced: {', '.join(names)}"))
    if set(document["class_weight"]) != {1.0}:
        weights = [
            f"{show(str(label), 30)} {weight:.4g}"
            for label, weight in zip(classes, document["class_weight"], strict=True)
        ]
        facts.append(("", styled(("class weights: ", "dim"), ", ".join(weights))))
    if not document["verified"]:
        facts.append(("refuted", styled((show(document["reason"], 500), "bold red"))))
    for number, claim in enumerate(claims if document["verified"] else []):
        claimed, found = claim["claimed"], claim["recomputed"]
        prefix = f"{show(str(claim['class']), 30)}: " if several else ""
        said, style = _claim(claimed, len(claim["features"]), wanted=True)
        text = styled(
            prefix,
            (said, style),
            f"\nrecomputed: objective {found['objective']:.6g}, lower bound "
            f"{_at_least(found['bound'])}",
        )
        if found["nodes"]:
            text.append(f", from a tree of {found['nodes']:,} nodes")
        facts.append(("verified" if not number else "", text))
    facts.append(("", styled((_scope(claims[0]["claimed"]), "dim"))))
    labels = [claim["class"] for claim in claims]
    facts += _duplicates(labels, [claim["equivalents"] for claim in claims])
    print_pairs(console, facts, airy=True)
    if not quiet:
        console.print()


def print_path(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print points of an l1 path, and the model chosen or the order in which features enter."""
    console = open_console()
    chosen, classes = document["chosen"], document["classes"]
    if not quiet:
        console.print()
    print_header(console, document["data"])
    console.print()
    shown = [head for head in _print_points(console, document) if head in _POINTS]
    console.print()
    if shown and not quiet:
        legend = "; ".join(f"{head}: {_POINTS[head]}" for head in shown) + "."
        if len(classes) > 2:
            legend += f" {_POINTS_OF_CLASSES}"
        console.print(styled((legend, "dim")))
        console.print()
    if chosen is None:
        _print_entries(console, document["entered"])
        console.print()
    elif chosen["features"]:
        print_models(console, chosen["features"], classes, ("point", "point"))
        if not quiet:
            logistic = document["parameters"]["loss"] == "logistic"
            scale = "log-odds" if logistic else "score"
            legend = f"{_EFFECT} {scale}; point: the point of the path at which it entered."
            console.print(styled((legend, "dim")))
            console.print()
    print_pairs(console, _path_facts(document, quiet), airy=True)
    if not quiet:
        console.print()


def _print_points(console: Console, document: Mapping[str, Any]) -> list[str]:
    """Print the points where the number of features changes; return the heads of the columns.

    Where the terminal is narrow, columns are left out: a number that is cut says nothing.
    """
    points, chosen = document["path"], document["chosen"]
    marks: dict[int, list[str]] = {}
    if chosen is not None:
        marks.setdefault(chosen["best_point"], []).append("best")
        marks.setdefault(chosen["point"], []).append("1 s.e.")
    shown = _shown_points(points, marks)
    columns = {
        "point": [str(point["point"]) for point in shown],
        "C": [four_digits(point["C"]) for point in shown],
        "features": [f"{point['n_features']:,}" for point in shown],
        "explained": [f"{100 * max(0.0, point['explained']):.1f}%" for point in shown],
        "certified gap": [f"{point['gap']:.0e}" if point["gap"] else "0" for point in shown],
    }
    if chosen is not None:
        score = document["parameters"]["scoring"].replace("_", "-")
        columns[score] = [
            f"{point['score']:.3f} ± {point['standard_error']:.3f}" for point in shown
        ]
        columns[""] = [", ".join(marks.get(point["point"], ())) for point in shown]
    for head in ("certified gap", "explained", "point"):
        width = sum(max(len(head), *map(len, cells)) + GAP for head, cells in columns.items())
        if width > console.width:
            del columns[head]
    grid = empty_grid()
    for head in columns:
        grid.add_column(head, justify="right" if head else "left")
    for point, cells in zip(shown, zip(*columns.values(), strict=True), strict=True):
        grid.add_row(*cells, style="bold" if point["point"] in marks else "")
    console.print(grid)
    more = len(points) - len(shown)
    if more > 0:
        rest = "point" if more == 1 else "points"
        file = document["file"]
        where = "--output FILE.csv writes all" if file is None else f"{show(file)} has all"
        console.print(styled((f"{more:,} more {rest}; {where}.", "dim")))
    return list(columns)


def _shown_points(
    points: Sequence[Mapping[str, Any]], marked: Iterable[int]
) -> list[Mapping[str, Any]]:
    """Return the first, last and marked points, and those where the number of features changes."""
    last = len(points)
    if last <= _MAX_POINTS:
        return list(points)
    kept = {1, last, *marked}
    changes = [
        new["point"]
        for old, new in itertools.pairwise(points)
        if new["n_features"] != old["n_features"] and new["point"] not in kept
    ]
    room = _MAX_POINTS - len(kept)
    if len(changes) > room:  # evenly
        changes = [changes[(2 * i + 1) * len(changes) // (2 * room)] for i in range(room)]
    return [points[number - 1] for number in sorted(kept.union(changes))]


def _print_entries(console: Console, entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the features that enter first."""
    rows = entries[:_MAX_ENTRIES]
    if not rows:
        console.print(styled(("no feature enters", "bold"), ("   up to this C", "dim")))
        return
    what = "1 feature enters" if len(entries) == 1 else f"{len(entries):,} features enter"
    title = styled(
        (what, "bold"), ("   in the order of their points, then of their columns", "dim")
    )
    columns = [
        ("C", [styled(four_digits(row["C"])) for row in rows]),
        ("point", [styled((str(row["point"]), "dim")) for row in rows]),
    ]
    numbers = [str(number) for number in range(1, len(rows) + 1)]
    print_features(console, title, rows, ("", numbers), columns)
    more = len(entries) - len(rows)
    if more > 0:
        console.print(styled((f"{more:,} more; --json lists them all.", "dim")))


def _path_facts(document: Mapping[str, Any], quiet: bool) -> list[tuple[str, str | Text]]:
    """Return what stands under the tables of a path."""
    parameters, chosen = document["parameters"], document["chosen"]
    facts: list[tuple[str, str | Text]] = []
    if chosen is not None:
        best = document["path"][chosen["best_point"] - 1]
        score = parameters["scoring"].replace("_", "-")
        size = chosen["n_features"]
        last = ""
        if chosen["best_point"] == len(document["path"]):
            last = "; the best is the last point, so that a longer path may be better"
        facts.append(
            (
                "chosen",
                styled(
                    (f"C = {four_digits(chosen['C'])}, {counted(size)}", "bold"),
                    f": the smallest C whose {score} is within one standard error of the best "
                    f"(C = {four_digits(best['C'])}, {counted(best['n_features'])}), "
                    f"in {parameters['cv']}-fold cross-validation of the path{last}",
                ),
            )
        )
    ratio = parameters["l1_ratio"]
    penalty = "l1" if ratio == 1 else f"{ratio:g} l1 and {1 - ratio:g} ridge"
    scaling = "standardised columns" if parameters["standardize"] else "columns as they are"
    text = f"{penalty} penalty, {scaling}; C weighs the {parameters['loss'].replace('_', ' ')} loss"
    facts.append(("problem", text))
    if not quiet:
        facts.append(seconds_fact(document, "for all folds" if chosen is not None else ""))
    if document["file"] is not None:
        facts.append(("written", styled((show(document["file"]), "bold"))))
    return facts


def print_predictions(
    document: Mapping[str, Any], quiet: bool = False, sample_names: Sequence[str] | None = None
) -> None:
    """Print how many of each class are predicted, how well, and the first predictions."""
    console = open_console()
    classes, predictions = document["classes"], document["predictions"]
    probabilities, accuracy = document["probabilities"], document["accuracy"]
    labels = [show(str(label), 30) for label in classes]
    counts = Counter(predictions)
    source = show(document["data"]["source"], 60)
    if not quiet:
        console.print()
    console.print(
        styled(
            (source, "bold"), f"   {len(predictions):,} samples", f"   by {show(document['model'])}"
        )
    )
    shown = [f"{text} {counts[label]:,}" for text, label in zip(labels, classes, strict=True)]
    console.print(styled(("predicted: ", "dim"), ", ".join(shown)))
    console.print()
    if accuracy is not None:
        console.print(styled(("accuracy ", "bold cyan"), (f"{accuracy:.4f}", "bold")))
        if len(labels) <= _MAX_CONFUSION:
            console.print(_confusion_grid(labels, document["confusion"]))
        console.print()
    if document["file"] is not None:
        print_pairs(console, [("written", styled((show(document["file"]), "bold")))])
        if not quiet:
            console.print()
        return
    grid = empty_grid()
    grid.add_column("sample", justify="left" if sample_names else "right")
    grid.add_column("prediction", style="bold")
    if probabilities is not None:
        for label in labels[:6]:
            grid.add_column(styled(f"p({label})"), justify="right")
    for row, prediction in enumerate(predictions[:_PREVIEW]):
        name = sample_names[row] if sample_names else str(row + 1)
        cells: list[str | Text] = [styled(show(name, 40)), styled(show(str(prediction), 30))]
        if probabilities is not None:
            cells += [f"{value:.4f}" for value in probabilities[row][:6]]
        grid.add_row(*cells)
    console.print(grid)
    more = len(predictions) - _PREVIEW
    if more > 0:
        console.print(styled((f"{more:,} more; --output FILE.csv writes them all.", "dim")))
    if not quiet:
        console.print()


def _confusion_grid(labels: Sequence[str], confusion: Sequence[Sequence[int]]) -> Table:
    grid = empty_grid()
    grid.add_column("true \\ predicted", style="dim")
    for label in labels:
        grid.add_column(styled(label), justify="right")
    for row, (label, counts) in enumerate(zip(labels, confusion, strict=True)):
        cells = [
            styled((f"{count:,}", "bold green" if row == column else ""))
            for column, count in enumerate(counts)
        ]
        grid.add_row(styled(label), *cells)
    return grid


def print_model(path: str, loaded: LinearModel) -> None:
    """Print what a model file holds."""
    console = open_console()
    metadata = loaded.metadata
    labels = [show(str(label), 30) for label in loaded.classes_]
    console.print()
    pairs: list[tuple[str, str | Text]] = [
        ("model", styled((show(path), "bold"))),
        ("made by", show(f"{metadata['estimator']} of zeronorm {metadata['zeronorm']}")),
        ("created", show(metadata["created"])),
        ("classes", styled(", ".join(labels))),
        ("features", f"{loaded.support_.size:,} of {loaded.n_features_in_:,}"),
    ]
    groups = metadata["groups"]
    if groups is not None:
        pairs.append(("groups", f"{len(set(groups)):,}"))
    if metadata["target_name"] is not None:
        pairs.append(("target", styled(show(metadata["target_name"]))))
    calibration = metadata["calibration"]
    if calibration is not None and calibration["cv_log_loss"] is not None:
        pairs.append(("probabilities", _probabilities(calibration)))
    if metadata["certificates"][0] is not None:
        pairs.append(("certified gap", _gap(metadata["certificates"])))
        pairs.append(("", styled((_scope(metadata["certificates"][0]), "dim"))))
    print_pairs(console, pairs)
    console.print()
    grid = empty_grid()
    grid.add_column("feature", style="bold", overflow="ellipsis", no_wrap=True)
    if groups is not None:
        grid.add_column("group", overflow="ellipsis", no_wrap=True)
    heads = labels if len(labels) > 2 else [f"for {labels[1]}"]
    for head in heads:
        grid.add_column(styled(head), justify="right")
    columns = [aligned(row.tolist()) for row in loaded.coef]
    intercepts = aligned(loaded.intercept_.tolist())
    for column, index in enumerate(loaded.support_.tolist()):
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
        grid.add_row(styled(show(name)), *cells)
    blank = [] if groups is None else [""]
    grid.add_row(styled(("intercept", "dim")), *blank, *intercepts)
    console.print(grid)
    console.print()


def _print_sizes(console: Console, document: Mapping[str, Any]) -> None:
    """Print a row per size; with a criterion, one model is chosen and written."""
    models, criterion = document["models"], document["parameters"]["criterion"]
    validated = all(model["cross_validation"] for model in models)
    grouped = document["data"]["n_groups"] is not None
    grid = empty_grid()
    grid.add_column("features", justify="right", style="bold")
    if grouped:
        grid.add_column("groups", justify="right")
    if criterion is not None:
        grid.add_column("log-loss", justify="right")
        grid.add_column(criterion.upper(), justify="right")
    grid.add_column("training", justify="right")
    if validated:
        grid.add_column("cross-validated", justify="right")
    certified = not grouped and document["parameters"]["measure"] is None
    if certified:
        grid.add_column("certified gap", justify="right")
    grid.add_column("model" if criterion is None else "", overflow="fold")
    rows = document["criteria"] or [{}] * len(models)  # a measure has none
    for model, row in zip(models, rows, strict=True):
        cells = [str(model["n_features"])]
        if grouped:
            by_class = rows_by_class(model["features"]).values()
            cells.append(str(max(map(count_groups, by_class))))
        if criterion is not None:
            cells += [f"{row['log_loss']:,.2f}", f"{row[criterion]:,.2f}"]
        cells.append(f"{_on_training(model):.3f}")
        if validated:
            cells.append(_mean_error(model["cross_validation"]))
        if certified:
            cells.append(_gap(model["certificates"]))
        chosen = criterion is not None and model["n_features"] == document["chosen"]
        if criterion is None:
            cells.append(show(model["file"] or "not written"))
        elif chosen:
            cells.append("chosen")
        grid.add_row(*cells, style="bold" if chosen else "")
    console.print(grid)
    if validated:
        best = max(model["cross_validation"]["mean"] for model in models)
        leader = next(m for m in models if m["cross_validation"]["mean"] == best)
        limit = best - leader["cross_validation"]["standard_error"]
        small = next(m for m in models if m["cross_validation"]["mean"] >= limit)
        console.print(
            styled(
                (
                    f"{small['n_features']} is the smallest of these sizes within one standard "
                    f"error of the best ({leader['n_features']}).",
                    "dim",
                )
            )
        )


def _on_training(model: Mapping[str, Any]) -> float:
    """Return the measure of a model on the training data, by default accuracy."""
    found = model["training_measure"]
    return float(model["training_accuracy"] if found is None else found)


def _facts(
    document: Mapping[str, Any], model: Mapping[str, Any], quiet: bool
) -> list[tuple[str, str | Text]]:
    """Return what stands under the table of features."""
    classes = document["classes"]
    validation = model["cross_validation"]
    accuracy: list[str | tuple[str, str]] = []
    if validation is not None:
        accuracy += [
            (_mean_error(validation), "bold"),
            f" in {validation['folds']}-fold cross-validation, features selected inside every "
            "fold (± standard error)\n",
        ]
    accuracy.append(f"{_on_training(model):.3f} on the training data")
    facts: list[tuple[str, str | Text]] = [(model["measure"] or "accuracy", styled(*accuracy))]
    beside = model["for_accuracy"]
    if beside is not None:
        other = f"{_mean_error(beside)} with a selection of as many features for accuracy"
        facts.append(("beside it", styled(other)))
    if model["calibration"] is not None:
        facts.append(("probabilities", _probabilities(model["calibration"])))
    method, criterion = document["parameters"]["method"], document["parameters"]["criterion"]
    if criterion is not None:
        facts.insert(0, ("size", _choice(document, criterion)))
    if method != "auto":
        facts.insert(
            0,
            ("method", _SENTENCES[method].format(k=model["n_features"], groups=model["n_groups"])),
        )

    certificates, proofs = model["certificates"], model["proofs"]
    gap = document["parameters"].get("gap")
    total = document["data"]["n_features"]
    labels = classes if len(classes) > 2 else classes[1:]
    if method == "bilevel":
        facts.append(("certificate", "none: selections with groups have no certificate"))
        certificates, proofs = [], []
    if method == "measure":
        facts += _bound_facts(document, model, labels)
        certificates, proofs = [], []
    for number, (certificate, proof) in enumerate(zip(certificates, proofs, strict=True)):
        name = "certificate" if number == 0 else ""
        prefix = f"{show(str(labels[number]), 30)}: " if len(labels) > 1 else ""
        text = _certificate_text(prefix, certificate, proof, total, model["n_features"])
        if gap is not None and proof is None:
            text.append(", not searched: interrupted" if prefix else "\nnot searched: interrupted")
        facts.append((name, text))
    known = [certificate for certificate in certificates if certificate is not None]
    if known:
        facts.append(("", styled((_scope(known[0]), "dim"))))
    facts += _duplicates(labels, [proof["equivalents"] for proof in proofs if proof is not None])

    if not quiet:
        certified = any(certificate is not None for certificate in certificates)
        facts.append(seconds_fact(document, "to select" + " and certify" * certified))
    for name, key, use, command in (
        ("model", "file", "use it: ", "zeronorm predict {} DATA"),
        ("proof", "certificate_file", "check it: ", "zeronorm verify DATA {}"),
    ):
        if model[key] is None:
            continue
        facts.append((name, styled((show(model[key]), "bold"))))
        if not quiet:
            command = command.format(show(shlex.quote(model[key])))
            facts.append(("", styled((use, "dim"), command)))
    return facts


def _probabilities(calibration: Mapping[str, Any]) -> Text:
    """Return by what the margins were scaled, and the log-loss on rows held out."""
    text = f"scaled by {calibration['scale']:.2g}; log-loss out of fold "
    text += f"{calibration['cv_log_loss']:.3g}"
    if "base_log_loss" in calibration:
        text += f" (base rate {calibration['base_log_loss']:.3g})"
    return styled(text)


def _duplicates(
    labels: Sequence[Any], groups: Sequence[Sequence[Mapping[str, Any]]]
) -> list[tuple[str, str | Text]]:
    """Return the features that others can take the place of, for each class."""
    lines = []
    for label, group in zip(labels, groups, strict=False):
        prefix = f"{show(str(label), 30)}: " if len(labels) > 1 else ""
        for row in group:
            names = [show(other["name"]) for other in row["equivalents"]]
            more = f" and {len(names) - _MAX_EQUIVALENTS:,} more"
            shown = ", ".join(names[:_MAX_EQUIVALENTS])
            lines.append(
                f"{prefix}{show(row['feature']['name'])} is equivalent to {shown}"
                f"{more if len(names) > _MAX_EQUIVALENTS else ''}"
            )
    if not lines:
        return []
    text = styled("\n".join(lines), ("\nequal columns, up to the sign", "dim"))
    return [("duplicates", text)]


def _choice(document: Mapping[str, Any], criterion: str) -> Text:
    """Return how the size was chosen."""
    sizes = [model["n_features"] for model in document["models"]]
    chosen, last = document["chosen"], ""
    if len(sizes) > 1 and chosen == sizes[-1]:
        last = "; it is the largest of them, so that more may be better"
    among = f"of the {len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    return styled((counted(chosen), "bold"), f": the smallest {criterion.upper()} {among}{last}")


def _certificate_text(
    prefix: str,
    certificate: Mapping[str, Any] | None,
    proof: Mapping[str, Any] | None,
    total: int,
    k: int,
) -> Text:
    """Return what is certified, and how it was proven.

    prefix : the class, where there are several: then it is in one line.
    total : features of the data.
    """
    if certificate is None:
        return styled(f"{prefix}none")
    excluded = total - certificate["candidates"]
    if prefix:
        gap = "proven" if certificate["proven"] else f"gap {_percent(certificate['gap'])}"
        search = "" if proof is None else f"; {_search(proof)}"
        return styled(
            prefix,
            (gap, "bold"),
            f", objective {certificate['objective']:.5g}, {excluded:,} of {total:,} ruled out"
            f"{search}",
        )
    left = "" if proof is None else f"{certificate['candidates']:,} candidates left, "
    text = styled(
        _claim(certificate, k, wanted=proof is not None and proof["status"] == "GAP"),
        f"\nobjective {certificate['objective']:.6g}, "
        f"lower bound {_at_least(certificate['bound'])}; "
        f"{excluded:,} of {total:,} features ruled out, {left}"
        f"{certificate['fixed_in']} proven to belong",
    )
    if proof is not None:
        text.append(f"\n{_search(proof)}")
    return text


def _bound_facts(
    document: Mapping[str, Any], model: Mapping[str, Any], labels: Sequence[Any]
) -> list[tuple[str, str | Text]]:
    """Return how far the models for a measure can be from the best of their size."""
    facts: list[tuple[str, str | Text]] = []
    for label, bound in zip(labels, model["bounds"], strict=True):
        values = f"objective {bound['objective']:.6g}, lower bound {_at_least(bound['bound'])}"
        if len(labels) > 1:
            gap = (f"gap {_percent(bound['gap'])}", "bold")
            text = styled(f"{show(str(label), 30)}: ", gap, f", {values}")
        else:
            claim = _claim(bound, model["n_features"])
            if bound["gap"] > _VACUOUS:
                claim = ("none: the lower bound says nothing with this C", "")
            text = styled(claim, f"\n{values}")
        facts.append(("" if facts else "certificate", text))
    if min(bound["gap"] for bound in model["bounds"]) <= _VACUOUS:
        scaling = "unit deviation" if document["parameters"]["standardize"] else "their own units"
        scope = (
            f"It holds for the training problem: C = {model['refit_C'][0]:g}, columns of "
            f"{scaling}. It says nothing about {model['measure']} on test data."
        )
        facts.append(("", styled((scope, "dim"))))
    return facts


def _claim(certificate: Mapping[str, Any], k: int, wanted: bool = False) -> tuple[str, str]:
    """Return what a certificate says, with its style.

    wanted : whether its gap is what was asked for: nothing is missing then.
    """
    what = "single feature" if k == 1 else f"{k} features"
    if certificate.get("n_groups") is not None:
        n_groups = certificate["n_groups"]
        what = "single group" if n_groups == 1 else f"{n_groups} groups of features"
    among = f" with the {certificate['n_forced']} forced" if certificate["n_forced"] else ""
    if certificate.get("proven"):
        return f"proven: no other {what}{among} lower the objective", "bold green"
    claim = f"no {what}{among} lower the objective by more than {_percent(certificate['gap'])}"
    return (f"proven: {claim}", "bold green") if wanted else (f"not proven: {claim}", "bold")


def _search(proof: Mapping[str, Any]) -> str:
    """Return how a branch and bound ended."""
    seconds = f"{proof['seconds']:.{1 if proof['seconds'] >= 1 else 2}f} s"
    if not proof["nodes"] and proof["status"] in ("OPTIMAL", "GAP"):
        return f"no branching needed, {seconds}: {proof['reason']}"
    nodes = "1 node" if proof["nodes"] == 1 else f"{proof['nodes']:,} nodes"
    better = "; it found better features on the way" if proof["improved"] else ""
    return f"branch and bound, {nodes} in {seconds}: {proof['reason']}{better}"


def _scope(certificate: Mapping[str, Any]) -> str:
    scaling = {
        "standardized": "standardised columns",
        "scaled": "columns scaled to unit deviation, not centred",
        "none": "columns as they are",
    }.get(certificate["scaling"], certificate["scaling"])
    loss = "" if certificate["loss"] == "logistic" else f"{certificate['loss'].replace('_', ' ')}, "
    intercept = "" if certificate["fit_intercept"] else "no intercept, "
    return (
        f"It holds for the selection problem: {loss}C = {certificate['C']:g}, {scaling}, "
        f"{intercept}its own refit. "
        "It says nothing about test accuracy."
    )


def _gap(certificates: Sequence[Mapping[str, Any] | None]) -> str:
    known = [certificate for certificate in certificates if certificate is not None]
    if len(known) < len(certificates):
        return "-"
    if all(certificate["proven"] for certificate in known):
        return "proven"
    return _percent(max(certificate["gap"] for certificate in known))


def _percent(share: float) -> str:
    """Return a gap in percent, rounded up: what it bounds is not above it."""
    percent = 100 * share * (1 - 1e-9)  # 7 is not 7.1 for the last bit of a float
    if share >= 0.0995:
        return f"{ceil(percent)}%"
    return f"{_rounded(percent, 2, ROUND_CEILING):.2g}%"


def _at_least(bound: float) -> str:
    """Return a lower bound in six digits, rounded down."""
    return f"{_rounded(bound, 6, ROUND_FLOOR):.6g}"


def _rounded(value: float, digits: int, mode: str) -> float:
    return float(Context(prec=digits, rounding=mode).create_decimal_from_float(value))


def _mean_error(validation: Mapping[str, Any]) -> str:
    return f"{validation['mean']:.3f} ± {validation['standard_error']:.3f}"
