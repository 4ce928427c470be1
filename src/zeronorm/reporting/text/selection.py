"""The report of `zeronorm select`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from rich.console import Console
from rich.text import Text

from ...core.messages import counted, show, some
from ...methods import METHODS
from .chance import mean_error, permutations_text, score_beside_chance
from .claims import (
    at_least,
    by_words,
    duplicate_facts,
    largest_gap,
    percent,
    scaled_facts,
    scope,
    search_end,
    state_claim,
)
from .covariates import category_words, print_covariates
from .outputs import outputs_legend, print_outputs
from .stability import stability_text
from .tables import (
    count_groups,
    empty_grid,
    open_console,
    print_header,
    print_models,
    print_pairs,
    rows_by_class,
    seconds_fact,
    styled,
    thresholds_text,
)
from .words import Words, loss_of, words_of

# Training for a measure is no method of `zeronorm.methods`.
_SENTENCES = {name: one.sentence for name, one in METHODS.items()}
_SENTENCES["measure"] = "measure: blocks of features and cuts of the measure, in two layers"
# Of every method, what the moment is called at which a feature entered, and what that counts.
_ENTERED = {name: one.entered for name, one in METHODS.items()}
_ENTERED |= dict.fromkeys(("auto", "measure"), _ENTERED["pool"])
_MAX_RESPONSES = 8  # A report has the scores of so many.
_LOOSE = 0.1  # Of a gap from here on a report says what may make it smaller.
_VACUOUS = 0.995  # A gap above this is not told as a claim.


def print_selection(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print the chosen or largest model with accuracy and certificate, and a row for every size."""
    console = open_console()
    data, models, classes = document["data"], document["models"], document["classes"]
    print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, document)
        console.print()
    model = next(model for model in models if model["size"] == document["chosen"])
    head, meaning = _ENTERED[document["parameters"]["method"]]
    entered = (head, "block") if head else None
    parameters = document["parameters"]
    loss, level = loss_of(document), parameters["level"]
    words = words_of(data, loss, document["score"], level)
    outputs = document["outputs"]
    if outputs:
        print_outputs(console, model["features"], outputs, words, bool(classes), data["n_groups"])
    else:
        titled = [] if data["task"] == "ordered" else classes
        print_models(console, model["features"], titled, entered, words, data["n_groups"])
    labelled = len(classes) > 2 and data["task"] != "ordered"  # one model of all classes
    print_covariates(console, model["covariates"], outputs, words, labelled, document["categories"])
    if not quiet:
        legend = outputs_legend(words, bool(classes)) if outputs else words.legend
        if entered is not None and not outputs:
            legend += f"; {head}: {meaning}"
            if any(row["block"] == 0 for row in model["features"]):
                legend += ", - where its score made up the number"
        console.print(styled((f"{legend}.", "dim")))
        console.print()
    print_pairs(console, _facts(document, model, words, quiet), airy=True)


def print_folds(document: Mapping[str, Any], quiet: bool = False) -> None:
    """Print a row for every size, and the score of the one that the rule takes."""
    console = open_console()
    data, models = document["data"], document["models"]
    print_header(console, data)
    console.print()
    if len(models) > 1:
        _print_sizes(console, document)
        console.print()
    model = next(model for model in models if model["size"] == document["chosen"])
    parameters = document["parameters"]
    loss = loss_of(document)
    words = words_of(data, loss, document["score"], parameters["level"])
    facts = _score_facts(document, model, words)
    if not quiet:
        facts.append(seconds_fact(document, "to select"))
    print_pairs(console, facts, airy=True)


def _print_sizes(console: Console, document: Mapping[str, Any]) -> None:
    """Print a row per size, and say which is chosen or where each of them is written."""
    models, rule = document["models"], document["rule"]
    criterion = rule if document["criteria"] and rule in document["criteria"][0] else None
    validated = all(model["cross_validation"] for model in models)
    grouped = document["data"]["n_groups"] is not None
    grid = empty_grid()
    grid.add_column("features", justify="right", style="bold")
    if grouped:
        grid.add_column("groups", justify="right")
    if criterion is not None:
        grid.add_column("log-loss" if document["classes"] else "-log lik.", justify="right")
        grid.add_column(criterion.upper(), justify="right")
    grid.add_column("training", justify="right")
    if validated:
        grid.add_column("cross-validated", justify="right")
    loss = _LOSSES.get(document["chosen_by"])
    if loss is not None:
        grid.add_column(loss, justify="right")
    uncertified = document["parameters"]["measure"] or document["parameters"]["method"] == "bilevel"
    certified = not uncertified
    if certified:
        grid.add_column("certified gap", justify="right")
    grid.add_column("model" if rule == "all" else "", overflow="fold")
    rows = document["criteria"] or [{}] * len(models)  # A measure has none.
    for model, row in zip(models, rows, strict=True):
        cells = [str(model["n_features"])]
        if grouped:
            by_class = rows_by_class(model["features"]).values()
            cells.append(str(max(map(count_groups, by_class))))
        if criterion is not None:
            cells += [f"{row['log_loss']:,.2f}", f"{row[criterion]:,.2f}"]
        cells.append(f"{_on_training(model):.3f}")
        if validated:
            cells.append(mean_error(model["cross_validation"]))
        if loss is not None:
            cells.append(_deviance(model["cross_validation"]))
        if certified:
            cells.append(largest_gap(model["certificates"]))
        chosen = rule != "all" and model["size"] == document["chosen"]
        if rule == "all":
            cells.append(show(model["file"] or "not written"))
        elif chosen:
            cells.append("chosen")
        grid.add_row(*cells, style="bold" if chosen else "")
    console.print(grid)


def _score_facts(
    document: Mapping[str, Any], model: Mapping[str, Any], words: Words
) -> list[tuple[str, str | Text]]:
    """Return why the size was chosen, and how good its models are."""
    classes = document["classes"]
    validation = model["cross_validation"]
    accuracy: list[str | tuple[str, str]] = []
    if validation is not None:
        accuracy += score_beside_chance(document, model, words.score)
    accuracy.append(f"{_on_training(model):.3f} on the training data")
    if "training_scores" in model:
        accuracy.append(f": {_by_response(document, model)}")
    if "offset_score" in model:
        alone = " and ".join(show(name, 40) for name in document["data"]["columns"].values())
        accuracy.append(f", {model['offset_score']:.3f} by {alone} without features")
    if words.baseline and model["measure"] is None and not (classes and validation):
        accuracy.append((f"\n{words.baseline}", "dim"))
    facts: list[tuple[str, str | Text]] = [(model["measure"] or words.score, styled(*accuracy))]
    if model["permutations"] is not None:
        facts.append(("permutations", permutations_text(model["permutations"], words.score)))
    beside = model["for_accuracy"]
    if beside is not None:
        other = f"{mean_error(beside)} with a selection of as many features for accuracy"
        facts.append(("beside it", styled(other)))
    if len(document["models"]) > 1:
        facts.insert(0, ("size", _choice(document)))
    return facts


def _facts(
    document: Mapping[str, Any], model: Mapping[str, Any], words: Words, quiet: bool
) -> list[tuple[str, str | Text]]:
    """Return what stands under the table of features."""
    classes, facts = document["classes"], _score_facts(document, model, words)
    if document["stability"] is not None:
        facts.append(("stability", stability_text(document["stability"])))
    if model["thresholds"]:
        facts.append(("thresholds", thresholds_text(classes, model["thresholds"])))
    facts += scaled_facts(model["calibration"], document["parameters"], bool(classes))
    forced = [one for one in document["categories"] if one["option"] == "--force"]
    if forced:
        facts.insert(0, ("forced", category_words(forced)))
    method = document["parameters"]["method"]
    by_folds = document["by_folds"]
    if method != "auto":
        found = _SENTENCES[method].format(k=model["n_features"], groups=model["n_groups"])
        if by_folds is not None and by_folds["parameter"] == "method":
            found += f"\n{by_words(by_folds)}"
        facts.insert(0, ("method", found))

    certificates, proofs = model["certificates"], model["proofs"]
    gap = document["parameters"].get("gap")
    total = document["data"]["n_features"] - document["n_covariates"]
    labels = (classes if len(classes) > 2 else classes[1:]) or [None]
    if document["outputs"] or model["thresholds"]:
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
        text = certificate_text(prefix, certificate, proof, total, model["n_features"])
        if gap is not None and proof is None:
            text.append(", not searched: interrupted" if prefix else "\nnot searched: interrupted")
        facts.append((name, text))
    known = [certificate for certificate in certificates if certificate is not None]
    if known:
        facts.append(("", styled((scope(known[0], by_folds), "dim"))))
        loose = max(one["gap"] for one in known) >= _LOOSE and proofs.count(None) == len(proofs)
        # Of a list for each class there is no command.
        if loose and len(labels) == 1 and model["file"] is not None and not quiet:
            own = show(shlex.quote(model["file"]))
            facts.append(("", styled(("tighten it: ", "dim"), f"zeronorm certify DATA {own}")))
    facts += duplicate_facts(
        labels, [proof["equivalents"] for proof in proofs if proof is not None]
    )

    if not quiet:
        certified = any(certificate is not None for certificate in certificates)
        facts.append(seconds_fact(document, "to select" + " and certify" * certified))
    if document["features_file"] is not None:
        facts.append(("features", styled((show(document["features_file"]), "bold"))))
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


# What compares sizes, where the user does not say.
_LOSSES = {
    "log_loss": "log-loss",
    "squared_error": "half squared error",
    "deviance": "half deviance",
    "partial_likelihood": "-log partial lik.",
}


def _deviance(validation: Mapping[str, Any]) -> str:
    """Return the loss of a held-out sample and its standard error; of what overflows a dash."""
    mean, error = validation["deviance"], validation["deviance_error"]
    return "-" if mean is None or error is None else f"{mean:.4g} ± {error:.2g}"


def _rank(validation: Mapping[str, Any], loss: str | None) -> float:
    """Return what a size is the better by, the larger it is."""
    if loss is None:
        return float(validation["mean"])
    return -inf if validation["deviance"] is None else -float(validation["deviance"])


def _choice(document: Mapping[str, Any]) -> Text:
    """Return how the size was chosen, or which other one the folds would choose."""
    models, rule, chosen = document["models"], document["rule"], document["chosen"]
    sizes = [model["size"] for model in models]
    among = f"of the {len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
    of_groups = isinstance(document["parameters"]["n_groups"], list)
    smallest, own = "the smallest size", counted(chosen, "group" if of_groups else "feature")
    if document["parameters"]["n_groups"] == "auto":
        (n_groups,) = (model["n_groups"] for model in models if model["size"] == chosen)
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
    reason = f"the smallest {rule.upper()}"
    if document["chosen_by"] is not None:
        loss = _LOSSES.get(document["chosen_by"])
        score = "cross-validated score" if loss is None else f"held-out {loss}"
        reason = f"the best {score}"
        if rule == "1se":
            best = max(models, key=lambda model: _rank(model["cross_validation"], loss))
            reason = (
                f"{smallest} within one standard error of the difference to the best {score} (at "
                f"{best['size']})"
            )
    return styled((own, "bold"), f": {reason} {among}{last}")


def certificate_text(
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
        gap = "proven" if certificate["proven"] else f"gap {percent(certificate['gap'])}"
        search = "" if proof is None else f"; {search_end(proof)}"
        return styled(
            prefix,
            (gap, "bold"),
            f", objective {certificate['objective']:.5g}, {excluded:,} of {total:,} ruled out"
            f"{search}",
        )
    left = "" if proof is None else f"{certificate['candidates']:,} candidates left, "
    text = styled(
        state_claim(certificate, k, wanted=proof is not None and proof["status"] == "GAP"),
        f"\nobjective {certificate['objective']:.6g}, "
        f"lower bound {at_least(certificate['bound'])}; "
        f"{excluded:,} of {total:,} features ruled out, {left}"
        f"{certificate['fixed_in']} proven to belong",
    )
    if proof is not None:
        text.append(f"\n{search_end(proof)}")
    return text


def _bound_facts(
    document: Mapping[str, Any], model: Mapping[str, Any], labels: Sequence[Any]
) -> list[tuple[str, str | Text]]:
    """Return how far the models for a measure can be from the best of their size."""
    facts: list[tuple[str, str | Text]] = []
    for label, bound in zip(labels, model["bounds"], strict=True):
        values = f"objective {bound['objective']:.6g}, lower bound {at_least(bound['bound'])}"
        if len(labels) > 1:
            gap = (f"gap {percent(bound['gap'])}", "bold")
            text = styled(f"{show(str(label), 30)}: ", gap, f", {values}")
        else:
            claim = state_claim(bound, model["n_features"])
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


def _on_training(model: Mapping[str, Any]) -> float:
    """Return the measure of a model on the training data, or its accuracy or score."""
    if model["training_measure"] is not None:
        return float(model["training_measure"])
    return float(model.get("training_accuracy", model.get("training_score")))


def _by_response(document: Mapping[str, Any], model: Mapping[str, Any]) -> str:
    """Return the score of every response, of as many as a line or two can have."""
    scores = zip(document["outputs"], model["training_scores"], strict=True)
    return some([f"{show(name, 20)} {score:.3f}" for name, score in scores], _MAX_RESPONSES)
