"""The reports of `zeronorm select`, `cv`, `path` and `discover`: features, and their scores."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

from msgspec import UNSET
from rich.console import Console
from rich.text import Text

from ...core.criteria import CRITERIA
from ...core.messages import counted, show, some
from ...methods import METHODS
from ..records import (
    Discovered,
    DiscoveriesFound,
    Entry,
    HeldOutScores,
    ModelFound,
    PathFound,
    PathPoint,
    Permuted,
    SelectionFound,
    StabilityFound,
)
from .certificates import (
    at_least,
    by_words,
    certificate_text,
    duplicate_facts,
    largest_gap,
    percent,
    scaled_facts,
    scope,
    state_claim,
)
from .tables import (
    GAP,
    MAX_ROWS,
    category_words,
    count_groups,
    empty_grid,
    four_digits,
    open_console,
    outputs_legend,
    print_covariates,
    print_features,
    print_header,
    print_models,
    print_outputs,
    print_pairs,
    print_rest,
    rows_by_class,
    seconds_fact,
    seconds_of,
    styled,
    thresholds_text,
)
from .words import Words, words_of

_SENTENCES = {
    **{name: one.sentence for name, one in METHODS.items()},
    # Training for a measure is no method of `zeronorm.methods`.
    "measure": "measure: blocks of features and cuts of the measure, in two layers",
}
# By method: the name of the step at which a feature entered, and its field.
_ENTERED = {
    **{name: one.entered for name, one in METHODS.items()},
    **dict.fromkeys(("auto", "measure"), METHODS["pool"].entered),
}
_MAX_RESPONSES = 8  # responses whose scores a report has
_LOOSE = 0.1  # From this gap on, a report says how to make it smaller.
_VACUOUS = 0.995  # A gap above this is not told as a claim.

# The score that compares sizes by default.
_LOSSES = {
    "log_loss": "log-loss",
    "squared_error": "half squared error",
    "deviance": "half deviance",
    "partial_likelihood": "-log partial lik.",
}

_MAX_NAMES = 20  # features that a report names


def print_selection(document: SelectionFound, quiet: bool = False) -> None:
    """Print the chosen or largest model with accuracy and certificate, and a row for every size."""
    console = open_console()
    data, models, classes = document.data, document.models, document.classes
    print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, document)
        console.print()
    model = document.model_of(document.chosen)
    head, meaning = _ENTERED[str(document.parameters["method"])]
    entered = (head, "block") if head else None
    parameters = document.parameters
    loss, quantile = document.loss, parameters["quantile"]
    words = words_of(data, loss, document.score, quantile)
    outputs = document.outputs
    if outputs:
        print_outputs(console, model.features, outputs, words, bool(classes), data.n_groups)
    else:
        titled = [] if data.task == "ordered" else classes
        print_models(console, model.features, titled, entered, words, data.n_groups)
    labelled = len(classes) > 2 and data.task != "ordered"  # one model of all classes
    print_covariates(console, model.covariates, outputs, words, labelled, document.categories)
    if not quiet:
        legend = outputs_legend(words, bool(classes)) if outputs else words.legend
        if entered is not None and not outputs:
            legend += f"; {head}: {meaning}"
            if any(row.block == 0 for row in model.features):
                legend += ", - where its score made up the number"
        console.print(styled((f"{legend}.", "dim")))
        console.print()
    print_pairs(console, _facts(document, model, words, quiet), airy=True)


def print_folds(document: SelectionFound, quiet: bool = False) -> None:
    """Print a row for every size, and the score of the one that the rule takes."""
    console = open_console()
    data, models = document.data, document.models
    print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, document)
        console.print()
    model = document.model_of(document.chosen)
    parameters = document.parameters
    loss = document.loss
    words = words_of(data, loss, document.score, parameters["quantile"])
    facts = _score_facts(document, model, words)
    if not quiet:
        facts.append(seconds_fact(document, "to select"))
    print_pairs(console, facts, airy=True)


def _print_sizes(console: Console, document: SelectionFound) -> None:
    """Print a row per size, and say which is chosen or where each of them is written."""
    models, rule = document.models, document.rule
    criterion = rule if document.criteria and rule in CRITERIA else None
    held = [one for model in models if (one := model.cross_validation) is not None]
    validated = len(held) == len(models)
    grouped = document.data.n_groups is not None
    grid = empty_grid()
    grid.add_column("features", justify="right", style="bold")
    if grouped:
        grid.add_column("groups", justify="right")
    if criterion is not None:
        grid.add_column("log-loss" if document.classes else "-log lik.", justify="right")
        grid.add_column(criterion.upper(), justify="right")
    grid.add_column("training", justify="right")
    if validated:
        grid.add_column("cross-validated", justify="right")
    loss = _LOSSES.get(document.chosen_by or "")
    if loss is not None:
        grid.add_column(loss, justify="right")
    uncertified = document.parameters["measure"] or document.parameters["method"] == "bilevel"
    certified = not uncertified
    if certified:
        grid.add_column("certified gap", justify="right")
    grid.add_column("model" if rule == "all" else "", overflow="fold")
    rows: Sequence[Any] = document.criteria or [None] * len(models)  # a measure has none
    for place, (model, row) in enumerate(zip(models, rows, strict=True)):
        cells = [str(model.n_features)]
        if grouped:
            by_class = rows_by_class(model.features).values()
            cells.append(str(max(map(count_groups, by_class))))
        if criterion is not None:
            cells += [f"{row.log_loss:,.2f}", f"{getattr(row, criterion):,.2f}"]
        cells.append(f"{model.on_training:.3f}")
        if validated:
            cells.append(mean_error(held[place]))
        if loss is not None:
            cells.append(_deviance(held[place]))
        if certified:
            cells.append(largest_gap(model.certificates))
        chosen = rule != "all" and model.size == document.chosen
        if rule == "all":
            cells.append(show(model.file or "not written"))
        elif chosen:
            cells.append("chosen")
        grid.add_row(*cells, style="bold" if chosen else "")
    console.print(grid)


def _score_facts(
    document: SelectionFound, model: ModelFound, words: Words
) -> list[tuple[str, str | Text]]:
    """Return why the size was chosen, and how good its models are."""
    classes = document.classes
    validation = model.cross_validation
    accuracy: list[str | tuple[str, str]] = []
    if validation is not None:
        accuracy += score_beside_chance(document, model, words.score)
    accuracy.append(f"{model.on_training:.3f} on the training data")
    if model.training_scores:
        accuracy.append(f": {_by_response(document, model.training_scores)}")
    if model.offset_score is not UNSET:
        alone = " and ".join(show(name, 40) for name in document.data.columns.values())
        accuracy.append(f", {model.offset_score:.3f} by {alone} without features")
    if words.baseline and model.measure is None and not (classes and validation):
        accuracy.append((f"\n{words.baseline}", "dim"))
    facts: list[tuple[str, str | Text]] = [(model.measure or words.score, styled(*accuracy))]
    if model.permutations is not None:
        facts.append(("permutations", _permutations_text(model.permutations, words.score)))
    beside = model.for_accuracy
    if beside is not None:
        other = f"{mean_error(beside)} if as many features are selected for accuracy"
        facts.append(("for accuracy", styled(other)))
    if len(document.models) > 1:
        facts.insert(0, ("size", _choice(document)))
    return facts


def score_beside_chance(
    document: SelectionFound, model: ModelFound, name: str, *, advise: bool = True
) -> list[str | tuple[str, str]]:
    """Return the cross-validated score, its baseline, and whether it is any better.

    name : of the score. advise : whether to name the option that tests it.
    """
    validation = model.cross_validation
    assert validation is not None
    plain, *others = _plain_models(document, model, validation.baseline)
    told = "; ".join(f"{what}: {value:.3f}" for what, value in (plain, *others))
    parts: list[str | tuple[str, str]] = [
        (mean_error(validation), "bold"),
        f" ({told})",
    ]
    if validation.balanced_accuracy is not None:
        parts.append(f"\nbalanced accuracy {mean_error(validation, 'balanced_accuracy')}")
    if validation.auc is not None and model.measure != "auc":
        parts.append(f", AUC {mean_error(validation, 'auc')}")
    if validation.rmse is not None:
        found = f"{validation.rmse:.4g} ± {validation.rmse_error:.2g}"
        without = validation.baseline_rmse
        parts.append(f"\nroot mean squared error {found} ({plain[0]}: {without:.4g})")
    parts.append(
        f"\nin {validation.folds}-fold cross-validation, features selected inside every fold "
        "(± standard error)\n"
    )
    name = model.measure or name
    beside = "the covariates alone" if document.n_covariates else "chance"
    # The best of several sizes on the same folds is better than one by chance.
    sizes = validation.compared
    among = "" if sizes == 1 else f" for the best of {sizes} sizes"
    advantage, error = validation.advantage, validation.advantage_error
    if advantage is None or not advantage > 0:  # None: the loss of a sample has overflowed
        parts.append((f"no better than {beside}{among}\n", "bold yellow"))
        return parts
    for what, value in (plain, *others):
        if round(validation.mean, 3) < round(value, 3):  # as they are shown
            parts.append((f"{name} is below that of {what}\n", "bold yellow"))
    if validation.better_than_chance or (model.permutations and sizes == 1):
        return parts  # the p-value tells more
    parts.append((f"not clearly better than {beside}{among}", "bold yellow"))
    if error:
        parts.append(
            f": the gain is {advantage / error:.1f} standard errors; chance alone reaches "
            f"{validation.limit_of_chance:.1f} in one study of 20"
        )
    untested = advise and model.permutations is None and not document.n_covariates
    test = "--permutations 99 tests it" if sizes == 1 else "--permutations 99 tests one size"
    parts.append(f"; {test}\n" if untested else "\n")
    return parts


def _plain_models(
    document: SelectionFound, model: ModelFound, baseline: float
) -> list[tuple[str, float]]:
    """Return what the models without features do, and their scores; the first is the baseline.

    Covariates alone may be worse than saying the largest class of all rows.
    """
    counts = document.data.class_counts
    if model.measure is not None and not document.n_covariates:
        return [("chance", baseline)]
    if not (document.classes and counts):
        return [("covariates alone" if document.n_covariates else "without features", baseline)]
    largest = max(counts, key=counts.__getitem__)
    always = f"always {show(largest, 30)!r}"
    if not document.n_covariates:
        return [(always, baseline)]
    return [("covariates alone", baseline), (always, counts[largest] / sum(counts.values()))]


def _permutations_text(test: Permuted, name: str) -> Text:
    """Return the p-value of a permutation test; name : of the score."""
    what = "AUC" if test.statistic == "auc" else name
    times, floor = test.n_permutations, ""
    if test.p_value * (times + 1) < 1.5:
        floor = (
            f"\n{counted(times, 'permutation')} can show no smaller p than 1/{times + 1:,}; "
            f"--permutations {10 * (times + 1) - 1} can"
        )
    return styled(
        (f"p = {test.p_value:.3g}", "bold"),
        f": {what} {test.own:.3f}; with the labels permuted "
        f"{counted(times, 'time')} at most {max(test.permuted):.3f}{floor}",
    )


def mean_error(validation: HeldOutScores, beside: str | None = None) -> str:
    """Return the score, or one beside it, and its standard error."""
    name, error = ("mean", "standard_error") if beside is None else (beside, f"{beside}_error")
    return f"{getattr(validation, name):.3f} ± {getattr(validation, error):.3f}"


def _facts(
    document: SelectionFound, model: ModelFound, words: Words, quiet: bool
) -> list[tuple[str, str | Text]]:
    """Return what stands under the table of features."""
    classes, facts = document.classes, _score_facts(document, model, words)
    if document.stability is not None:
        facts.append(("stability", stability_text(document.stability)))
    if model.thresholds:
        facts.append(("thresholds", thresholds_text(classes, model.thresholds)))
    facts += scaled_facts(model.calibration, document.parameters, bool(classes))
    forced = [one for one in document.categories if one.option == "--force"]
    if forced:
        facts.insert(0, ("forced", category_words(forced)))
    method = document.parameters["method"]
    by_folds = document.by_folds
    if method != "auto":
        found = _SENTENCES[method].format(k=model.n_features, groups=model.n_groups)
        if by_folds is not None and by_folds.parameter == "method":
            found += f"\n{by_words(by_folds)}"
        facts.insert(0, ("method", found))

    certificates, proofs = model.certificates, model.proofs
    gap = document.parameters.get("gap")
    total = document.data.n_features - document.n_covariates
    labels = (classes if len(classes) > 2 else classes[1:]) or [None]
    if document.outputs or model.thresholds:
        labels = [None]
    if method == "bilevel":
        facts.append(("certificate", "none: features in few groups have no certificate"))
        certificates, proofs = [], []
    if method == "measure":
        facts += _bound_facts(document, model, labels)
        certificates, proofs = [], []
    for number, (certificate, proof) in enumerate(zip(certificates, proofs, strict=True)):
        name = "certificate" if number == 0 else ""
        prefix = f"{show(str(labels[number]), 30)}: " if len(labels) > 1 else ""
        text = certificate_text(prefix, certificate, proof, total, model.n_features)
        if gap is not None and proof is None:
            text.append(", not searched: interrupted" if prefix else "\nnot searched: interrupted")
        facts.append((name, text))
    known = [certificate for certificate in certificates if certificate is not None]
    if known:
        facts.append(("", styled((scope(known[0], by_folds), "dim"))))
        loose = max(one.gap for one in known) >= _LOOSE and proofs.count(None) == len(proofs)
        # No command takes a list for each class.
        if loose and len(labels) == 1 and model.file is not None and not quiet:
            own = show(shlex.quote(model.file))
            facts.append(("", styled(("tighten it: ", "dim"), f"zeronorm certify {own} DATA")))
    facts += duplicate_facts(labels, [proof.equivalents for proof in proofs if proof is not None])

    if not quiet:
        certified = any(certificate is not None for certificate in certificates)
        facts.append(seconds_fact(document, "to select" + " and certify" * certified))
    if document.features_file is not None:
        facts.append(("features", styled((show(document.features_file), "bold"))))
    for name, file, use, command in (
        ("model", model.file, "use it: ", "zeronorm predict {} DATA"),
        ("proof", model.certificate_file, "check it: ", "zeronorm verify {} DATA"),
    ):
        if file is None:
            continue
        facts.append((name, styled((show(file), "bold"))))
        if not quiet:
            command = command.format(show(shlex.quote(file)))
            facts.append(("", styled((use, "dim"), command)))
    return facts


def _deviance(validation: HeldOutScores) -> str:
    """Return the loss of a held-out sample and its standard error; of what overflows a dash."""
    mean, error = validation.deviance, validation.deviance_error
    return "-" if mean is None or error is None else f"{mean:.4g} ± {error:.2g}"


def _rank(validation: HeldOutScores | None, loss: str | None) -> float:
    """Return what a size is the better by, the larger it is."""
    if validation is None:
        return -inf
    if loss is None:
        return validation.mean
    return -inf if validation.deviance is None else -float(validation.deviance)


def _choice(document: SelectionFound) -> Text:
    """Return how the size was chosen, or which other one the folds would choose."""
    models, rule, chosen = document.models, document.rule, document.chosen
    sizes = [model.size for model in models]
    among = f"of the {len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    of_groups = isinstance(document.parameters["n_groups"], list)
    smallest, own = "the smallest size", counted(chosen, "group" if of_groups else "feature")
    if document.parameters["n_groups"] == "auto":
        n_groups = document.model_of(chosen).n_groups or 0
        among = f"of {sizes[0]} to {sizes[-1]} features in any number of groups"
        smallest, own = (
            "the fewest groups, then features,",
            f"{own} in {counted(n_groups, 'group')}",
        )
    if rule == "all":
        return styled(f"the largest {among}")
    last = ""
    if chosen == sizes[-1]:
        last = "; it is the largest of them, so that more may be better"
    reason = f"the smallest {str(rule).upper()}"
    if document.chosen_by is not None:
        loss = _LOSSES.get(document.chosen_by or "")
        score = "cross-validated score" if loss is None else f"held-out {loss}"
        reason = f"the best {score}"
        if rule == "1se":
            best = max(models, key=lambda model: _rank(model.cross_validation, loss))
            reason = (
                f"{smallest} within one standard error of the difference to the best {score} (at "
                f"{best.size})"
            )
    return styled((own, "bold"), f": {reason} {among}{last}")


_STABLE, _UNSTABLE = 0.75, 0.4  # as the source of the index reads it


def stable_words(stability: StabilityFound) -> str:
    """Return how stable feature sets are, as the source of `Stability.index` reads it.

    One pair of halves, and an interval from unstable to stable, allow no judgement.
    """
    index, (low, high) = stability.index, stability.interval
    if index is None or low is None or high is None:
        return "of all features"
    if stability.n_pairs == 1 or (low < _UNSTABLE and high >= _STABLE):
        return f"too few to judge whether they are stable (index {index:.2f}; 1: always the same)"
    level = "stable" if index >= _STABLE else "unstable" if index < _UNSTABLE else "fairly stable"
    return f"{level} (index {index:.2f}; 1: always the same)"


def stability_text(found: StabilityFound) -> Text:
    """Return how many features are stable, how often each is chosen, and what that guarantees."""
    rows, n = found.features, found.n_stable
    unit = found.unit[:-1]
    share = f"{found.threshold:.0%}"
    halves = f"{2 * found.n_pairs} half-samples of {counted(found.n_rows, 'sample')}"
    parts: list[str | tuple[str, str]] = [
        (f"{counted(n, unit) if n else f'no {unit}'} chosen by {share} or more", "bold"),
        f" of {halves}, {found.n_chosen:,} on each; the sets are {stable_words(found)}",
    ]
    if found.n_left_out:
        more = counted(found.n_left_out, "more pair")
        parts.append(f"; {more} left out, because a half has no model")
    own = [row for row in rows if row.in_model]
    others = [row for row in rows if not row.in_model and row.frequency >= 0.5]
    for name, shown in (("those of the model", own), ("others", others)):
        if shown:
            listed = [f"{show(row.name, 40)} {row.frequency:.0%}" for row in shown]
            parts.append(f"\n{name}: {some(listed, _MAX_NAMES)}")
    parts.append(
        (
            f"\nAmong {unit}s chosen by {share} or more, at most {found.expected_low:.2g} are "
            "expected to be there by chance.",
            "dim",
        )
    )
    return styled(*parts)


def _bound_facts(
    document: SelectionFound, model: ModelFound, labels: Sequence[Any]
) -> list[tuple[str, str | Text]]:
    """Return how far the models for a measure can be from the best of their size."""
    facts: list[tuple[str, str | Text]] = []
    bounds = [one for one in model.bounds if one is not None]
    for label, bound in zip(labels, bounds, strict=True):
        values = f"objective {bound.objective:.6g}, lower bound {at_least(bound.bound)}"
        if len(labels) > 1:
            gap = (f"gap {percent(bound.gap)}", "bold")
            text = styled(f"{show(str(label), 30)}: ", gap, f", {values}")
        else:
            claim = state_claim(bound, model.n_features)
            if bound.gap > _VACUOUS:
                claim = ("none: the lower bound is void with this C", "")
            text = styled(claim, f"\n{values}")
        facts.append(("" if facts else "certificate", text))
    if min(bound.gap for bound in bounds) <= _VACUOUS:
        scaling = "unit deviation" if document.parameters["standardize"] else "their own units"
        scope = (
            f"This bounds the training objective (C = {model.refit_C[0]:g}, columns of {scaling}), "
            f"not {model.measure} on new data."
        )
        facts.append(("", styled((scope, "dim"))))
    return facts


def _by_response(document: SelectionFound, found: Sequence[float]) -> str:
    """Return the score of every response, of as many as a line or two can have."""
    scores = zip(document.outputs, found, strict=True)
    return some([f"{show(str(name), 20)} {score:.3f}" for name, score in scores], _MAX_RESPONSES)


# A legend says this of the columns of a path.
_POINTS = {
    "explained": "the share of the loss that the features take away",
    "certified gap": "how far the objective can be from the best one, as a share of that without "
    "features",
}
_POINTS_OF_CLASSES = "Over all classes: the mean share explained and the largest gap."
_MAX_ENTRIES = 20  # features of a path that a report shows
_MAX_POINTS = 20  # points of a path that a report shows


def print_path(document: PathFound, quiet: bool = False) -> None:
    """Print points of an l1 path, and the model chosen or the order in which features enter."""
    console = open_console()
    chosen, classes = document.chosen, document.classes
    print_header(console, document.data)
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
        _print_entries(console, document.entered)
        console.print()
    elif chosen.features:
        survival = document.data.task == "survival"
        score = "accuracy" if classes else "c_index" if survival else "r2"
        words = words_of(document.data, document.parameters["loss"], score)
        print_models(console, chosen.features, classes, ("point", "point"), words)
        if not quiet:
            legend = f"{words.legend}; point: the point of the path at which it entered."
            console.print(styled((legend, "dim")))
            console.print()
    print_pairs(console, _path_facts(document, quiet), airy=True)


def _print_points(console: Console, document: PathFound) -> list[str]:
    """Print the points where the number of features changes; return the heads of the columns.

    Where the terminal is narrow, columns are left out: a number that is cut says nothing.
    """
    points, chosen = document.path, document.chosen
    marks: dict[int, list[str]] = {}
    if chosen is not None:
        marks.setdefault(chosen.best_point, []).append("best")
        marks.setdefault(chosen.point, []).append("1 s.e.")
    shown = _shown_points(points, marks)
    columns = {
        "point": [str(point.point) for point in shown],
        "C": [four_digits(point.C) for point in shown],
        "features": [f"{point.n_features:,}" for point in shown],
        "explained": [f"{100 * max(0.0, point.explained):.1f}%" for point in shown],
        "certified gap": [f"{point.gap:.0e}" if point.gap else "0" for point in shown],
    }
    if chosen is not None:
        score = document.parameters["scoring"].replace("_", "-")
        columns[score] = [f"{point.score:.3f} ± {point.standard_error:.3f}" for point in shown]
        columns[""] = [", ".join(marks.get(point.point, ())) for point in shown]
    for head in ("certified gap", "explained", "point"):
        width = sum(max(len(head), *map(len, cells)) + GAP for head, cells in columns.items())
        if width > console.width:
            del columns[head]
    grid = empty_grid()
    for head in columns:
        grid.add_column(head, justify="right" if head else "left")
    for point, cells in zip(shown, zip(*columns.values(), strict=True), strict=True):
        grid.add_row(*cells, style="bold" if point.point in marks else "")
    console.print(grid)
    more = len(points) - len(shown)
    if more > 0:
        rest = "point" if more == 1 else "points"
        file = document.file
        where = "--output FILE.csv writes all" if file is None else f"{show(file)} has all"
        console.print(styled((f"{more:,} more {rest}; {where}.", "dim")))
    return list(columns)


def _shown_points(points: Sequence[PathPoint], marked: Iterable[int]) -> list[PathPoint]:
    """Return the first, last and marked points, and those where the number of features changes."""
    last = len(points)
    if last <= _MAX_POINTS:
        return list(points)
    kept = {1, last, *marked}
    changes = [
        new.point
        for old, new in itertools.pairwise(points)
        if new.n_features != old.n_features and new.point not in kept
    ]
    room = _MAX_POINTS - len(kept)
    if len(changes) > room:  # evenly
        changes = [changes[(2 * i + 1) * len(changes) // (2 * room)] for i in range(room)]
    return [points[number - 1] for number in sorted(kept.union(changes))]


def _print_entries(console: Console, entries: Sequence[Entry]) -> None:
    rows = entries[:_MAX_ENTRIES]
    if not rows:
        console.print(styled(("no feature enters", "bold"), ("   up to this C", "dim")))
        return
    what = "1 feature enters" if len(entries) == 1 else f"{len(entries):,} features enter"
    title = styled(
        (what, "bold"), ("   in the order of their points, then of their columns", "dim")
    )
    columns = [
        ("C", [styled(four_digits(row.C)) for row in rows]),
        ("point", [styled((str(row.point), "dim")) for row in rows]),
    ]
    numbers = [str(number) for number in range(1, len(rows) + 1)]
    print_features(console, title, rows, ("", numbers), columns)
    print_rest(console, len(entries) - len(rows))


def _path_facts(document: PathFound, quiet: bool) -> list[tuple[str, str | Text]]:
    parameters, chosen = document.parameters, document.chosen
    facts: list[tuple[str, str | Text]] = []
    if chosen is not None:
        best = document.path[chosen.best_point - 1]
        score = parameters["scoring"].replace("_", "-")
        size = chosen.n_features
        last = ""
        if chosen.best_point == len(document.path):
            last = "; the best is the last point, so that a longer path may be better"
        facts.append(
            (
                "chosen",
                styled(
                    (f"C = {four_digits(chosen.C)}, {counted(size)}", "bold"),
                    f": the smallest C whose {score} is within one standard error of the best "
                    f"(C = {four_digits(best.C)}, {counted(best.n_features)}), "
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
    if document.file is not None:
        facts.append(("written", styled((show(document.file), "bold"))))
    return facts


_MAX_DOUBTFUL = 10  # features that are no discoveries, and are shown


def print_discoveries(document: DiscoveriesFound, quiet: bool = False) -> None:
    """Print the features found, those that are too doubtful, and what is promised of them."""
    console = open_console()
    print_header(console, document.data)
    console.print()
    rows = document.features
    found = [row for row in rows if row.found]
    doubtful = [row for row in rows if not row.found]
    n, rate = len(found), f"{100 * document.fdr:g}%"
    for title, own, most in (
        (f"{counted(n)} found", found, MAX_ROWS),
        (f"{counted(len(doubtful))} not counted, as others may be meant", doubtful, _MAX_DOUBTFUL),
    ):
        if own:
            _print_rows(console, title, own[:most])
            print_rest(console, len(own) - most)
            console.print()
    facts: list[tuple[str, str | Text]] = [
        (
            "found",
            styled(
                (f"{counted(n) if n else 'no feature'} at a false discovery rate of {rate}", "bold")
                if n
                else (f"no feature at a false discovery rate of {rate}", "bold yellow"),
                f"; of these {document.estimate:.1%} are false by estimate" if n else "",
            ),
        ),
        (
            "",
            styled(
                (
                    f"{document.n_experiments} experiments, each with "
                    f"{document.n_dummies:,} dummies beside "
                    f"{counted(document.n_candidates)}, until {document.n_entered:,} of the "
                    f"dummies entered; {document.least_votes:.0%} of the votes asked for",
                    "dim",
                )
            ),
        ),
    ]
    blocks = document.blocks
    if blocks is not None:
        within = "whose means are the rows"
        if blocks.correlation is not None:
            within = f"whose errors have a correlation of {blocks.correlation:.2f} within them"
        facts.append(
            (
                "blocks",
                f"{counted(blocks.n_blocks, 'block')} of {show(blocks.column, 40)}, {within}",
            )
        )
    if not quiet:
        facts += _meaning(n, rate, "samples" if blocks is None else "blocks of samples")
    if document.features_file is not None:
        facts.append(("written", styled((show(document.features_file), "bold"))))
    if not quiet:
        facts.append(("seconds", seconds_of(document.seconds)))
    print_pairs(console, facts, airy=True)


def _print_rows(console: Any, title: str, rows: Sequence[Discovered]) -> None:
    """Print a row for each feature: votes, and which other one may be meant."""
    ranks = [str(rank) for rank in range(1, len(rows) + 1)]
    votes = [styled(f"{row.votes:.0%}") for row in rows]
    doubts = [styled(f"{row.stand_in:.1%}") for row in rows]
    rivals = [styled((show(row.rival.name, 24) if row.rival else "", "dim")) for row in rows]
    columns = [("votes", votes), ("other meant", doubts), ("the likeliest", rivals)]
    print_features(console, styled((title, "bold")), rows, ("rank", ranks), columns)


def _meaning(n: int, rate: str, independent: str) -> list[tuple[str, str | Text]]:
    """Return in plain words what the rate promises, and what it does not."""
    if not n:
        return [("meaning", "Finding none does not prove that none has an effect.")]
    return [
        (
            "meaning",
            f"On average over data like these, at most {rate} of the features found have no effect "
            "on the target given all other features.",
        ),
        (
            "",
            "This is not the probability that one of them is false, and it does not hold for each "
            "data set by itself. Other features may have an effect, too. It assumes independent "
            f"{independent} and a linear model; for correlated features simulations support it.",
        ),
    ]
