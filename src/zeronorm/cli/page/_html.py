"""A selection as one page to forward: HTML with its style, script and figures inside.

Nothing is loaded from anywhere. A policy in the page lets nothing but its own style and script
run, by their hashes, and whatever comes from data is escaped. Without script, and in print, the
page says everything of the chosen size, and the names of the features of all others.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from ...methods import METHODS
from .._messages import show, some
from ..reports._chance import mean_error
from ..reports._claims import scope
from ..reports._words import describe_target, target_name
from ._answers import (
    MOST_ROWS,
    NAME,
    TEXT,
    Answers,
    Cell,
    cost,
    fitting,
    name_cell,
    near_words,
    number,
    share,
    stable_words,
)
from ._elements import fact_list, figures_in, note, paragraph, table
from ._figures import Figure

_SLIDER_ROWS = 1500  # of all sizes that the slider moves over, at most
_NOTES = 50
_UNFOLDED = 3  # rows that a table beside a picture may have and stay open
SECTIONS = ("features", "new", "sure", "instead")  # that have figures
_NEAR = 20  # features of the near-optimal lists that are shown


def render(
    document: Mapping[str, Any],
    trust: Mapping[str, Any],
    figures: Sequence[Figure],
    again: Sequence[tuple[str, str]],
    facts: Mapping[str, str],
) -> bytes:
    """Return the page.

    document : of `zeronorm select`; its chosen size is that of the page.
    trust : as of `describe_trust`. figures : as of `figures_of`.
    again : what commands and code are for, and these.
    facts : versions and digests, by what they are of.
    """
    answers = Answers(document, trust)
    models = fitting(document["models"], document["chosen"], _SLIDER_ROWS)
    (chosen,) = (one for one in models if one["n_features"] == document["chosen"])
    sizes = [
        {
            "k": model["n_features"],
            "texts": answers.texts(model),
            "tables": {"features": answers.rows(model)},
        }
        for model in models
    ]
    css, script = _own("page.css"), _own("page.js")
    # Inside a script element only "<" could end it, or begin a comment.
    data = json.dumps(sizes, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    drawn = {section: figures_in(figures, section) for section in SECTIONS}
    texts = {name: escape(text) for name, text in answers.texts(chosen).items()}
    page = Template(_own("page.html")).substitute(
        policy=policy,
        version=escape(document["zeronorm"]),
        title=escape(_title(document, chosen)),
        lead=escape(_lead(document)),
        css=css,
        script=script,
        data=data,
        slider=_slider(answers, models, chosen),
        features=_features(answers, chosen) + drawn["features"],
        scores=_scores(answers, document, drawn["new"]),
        stability=_sure(answers, trust, chosen, drawn["sure"]),
        near=_near(trust, document, drawn["instead"]),
        asked=_asked(document),
        again=_again(again, facts),
        **texts,
    )
    return page.encode("utf-8", "backslashreplace")  # a name may have half of a character


def _own(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _title(document: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    k, data = chosen["n_features"], document["data"]
    what = f"{k:,} of {data['n_features'] - document['n_covariates']:,} features"
    classes = [show(str(one), 30) for one in document["classes"]]
    if len(classes) == 2 and data["task"] == "classes":
        label = show(str(chosen["features"][0]["class"]), 30)  # for which coefficients speak
        other = classes[0 if label == classes[1] else 1]
        return f"{what} that tell {label} from {other}"
    return f"{what} that predict {target_name(data)}"


def _lead(document: Mapping[str, Any]) -> str:
    data = document["data"]
    if data["class_counts"]:
        counts = [f"{n:,} {show(label, 30)}" for label, n in data["class_counts"].items()]
        target = f"{target_name(data)}: {some(counts, 8)}"
    else:
        target = f"{target_name(data)}, {describe_target(data)}"
    return f"{data['n_samples']:,} samples of {show(data['source'], 200)}; {target}."


def _slider(
    answers: Answers, models: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]
) -> str:
    """Return the slider over the sizes; none where there is one size."""
    if len(models) < 2:
        return ""
    size = escape(answers.texts(chosen)["size"])
    return (
        '<div class="slider scripted" hidden><label for="size">Number of features</label>'
        f'<input type="range" id="size" min="0" max="{len(models) - 1}" '
        f'value="{models.index(chosen)}"><output for="size" data-text="size">{size}</output></div>'
    )


def _features(answers: Answers, chosen: Mapping[str, Any]) -> str:
    words, document = answers.words, answers.document
    said = [f"{words.head}: {words.effect}."]
    if words.sign:
        said.append(f"{words.sign[0].upper()}{words.sign[1:]}.")
    elif len(document["classes"]) == 2:
        said.append(f"Positive speaks for {show(str(chosen['features'][0]['class']), 30)}.")
    if answers.trust["models"]:
        said.append(
            "Without it: by how much the objective of the selection grows where the feature is "
            "left out; best instead: the feature that takes its place at the least cost, all "
            "others staying (below 0 the list gets better)."
        )
    if len(chosen["features"]) > MOST_ROWS:
        said.append(f"The {MOST_ROWS} of the largest effects; the model file has all.")
    shown = table(
        "The features of the model, by falling effect",
        answers.heads(),
        answers.rows(chosen),
        rows_of="features",
    )
    filters = (
        '<label class="filter scripted" hidden>Filter<input type="search" id="filter"></label>'
    )
    return filters + shown + note(" ".join(said)) + _covariates(chosen)


def _covariates(chosen: Mapping[str, Any]) -> str:
    if not chosen["covariates"]:
        return ""
    names = [show(row["name"], NAME) for row in chosen["covariates"]]
    return note(f"In every model, uncounted and without a penalty: {some(names, 20)}.")


def _scores(answers: Answers, document: Mapping[str, Any], drawn: str) -> str:
    """Return the scores of all sizes, drawn and in a table, beside those without features."""
    word = answers.words.score
    heads = [("features", "n"), (f"{word}, held out", "n")]
    heads.append(("covariates alone" if document["n_covariates"] else "without features", "n"))
    own = [model["cross_validation"] for model in document["models"]]
    more = {"balanced_accuracy": "balanced accuracy", "auc": "AUC"}
    more = {
        key: name for key, name in more.items() if any(one and one[key] is not None for one in own)
    }
    heads += [(name, "n") for name in more.values()]
    heads += [(f"{word}, training", "n"), ("the best?", "n"), ("which", "")]
    rows, keys = [], []
    for model in document["models"]:
        held, k = model["cross_validation"], model["n_features"]
        row = [Cell(f"{k:,}", k)]
        row += (
            [number(None), number(None), *(number(None) for _ in more)]
            if held is None
            else [
                Cell(mean_error(held), held["mean"]),
                number(held["baseline"]),
                *(
                    number(None) if held[key] is None else Cell(mean_error(held, key), held[key])
                    for key in more
                ),
            ]
        )
        training = model.get("training_accuracy", model.get("training_score"))
        names = [show(one["name"], NAME) for one in model["features"]]
        row += [number(training), answers.gap(model), Cell(some(names, MOST_ROWS), None, "which")]
        rows.append(row)
        keys.append(k)
    text = (
        "Held out: the selection is repeated on the other folds, features and all, so that these "
        "rows had no say; ± one standard error over the folds. Training: on the rows that chose "
        "the features, which flatters. The best: whether no other list of the length has a lower "
        "objective of the selection, or by how much one has or could have."
    )
    shown = table(
        "All sizes that were compared",
        heads,
        rows,
        keys=keys,
        chosen=document["chosen"],
        folded=bool(drawn) and len(rows) > _UNFOLDED,
    )
    return drawn + shown + note(text)


def _sure(answers: Answers, trust: Mapping[str, Any], chosen: Mapping[str, Any], drawn: str) -> str:
    """Return what half-samples say of the list, and what is certified."""
    parts = []
    known = trust["stability"]
    if known is not None and "reason" not in known:
        low, high = known["interval"]
        interval = "" if low is None else f"; 95 % interval {low:.2f} to {high:.2f}"
        chosen_once = [show(row["name"], NAME) for row in known["features"] if row["frequency"]]
        parts.append(
            paragraph(
                f"{known['n_pairs']} times the samples were cut in two halves of "
                f"{known['n_rows']:,}, and {known['n_chosen']:,} features were selected on each. "
                f"The {2 * known['n_pairs']} lists are {stable_words(known['index'])}{interval}. "
                f"They have {len(chosen_once):,} features in all; most often "
                f"{some(chosen_once, 8)}. Of the features that {known['threshold']:.0%} of the "
                f"lists have, at most {known['expected_low']:.2g} are expected to be no likelier "
                "than by lot."
            )
        )
        parts.append(
            note(
                "An unstable list predicts as well as it does all the same: where many features "
                "say the same, which of them is in the list is chance."
            )
        )
    parts.append(drawn)
    parts.append("<h3>The certificate</h3>")
    parts.append(f'<p data-text="better">{escape(answers.better(chosen))}</p>')
    certificates = [one for one in chosen["certificates"] if one is not None]
    if certificates:
        one = certificates[0]
        parts.append(note(scope(one)))
    return "".join(parts)


def _near(trust: Mapping[str, Any], document: Mapping[str, Any], drawn: str) -> str:
    """Return the lists that are nearly as good, drawn, and which features they have."""
    parts = [
        paragraph(
            "For each feature the table above has the best substitute, all others staying. Where "
            "several may change at once:"
        )
        if trust["near"]
        else paragraph("See the table above for the best substitute of each feature.")
        if trust["models"]
        else paragraph("Not known: no bounds are known for this kind of selection.")
    ]
    chosen = next(m for m in document["models"] if m["n_features"] == document["chosen"])
    own = {row["index"] for row in chosen["features"]}
    parts += [paragraph(near_words(near)) for near in trust["near"] or ()]
    parts.append(drawn)
    for near in trust["near"] or ():
        rows = []
        for row in near["features"][:_NEAR]:
            inside = Cell("yes" if row["index"] in own else "no", None, "")
            part = row["n_lists"] / len(near["lists"])
            rows.append([name_cell(row["name"]), share(part), inside])
        left = len(near["features"]) - len(rows)
        more = f"; {left:,} more are in fewer" if left else ""
        heads = [("feature", ""), ("in so many of these lists", "n"), ("in the model", "")]
        parts.append(table(f"Features of these lists{more}", heads, rows, folded=True))
        lists = [
            [Cell(cost(one["worse_by"]), one["worse_by"]), _list_cell(one["features"])]
            for one in near["lists"][:5]
        ]
        heads = [("above the best", "n"), ("features", "")]
        parts.append(table("The best of these lists", heads, lists, folded=True))
    return "".join(parts)


def _list_cell(names: Sequence[str]) -> Cell:
    return Cell(some([show(name, NAME) for name in names], 30), None, "text")


def _asked(document: Mapping[str, Any]) -> str:
    """Return what was asked for, and what the data are."""
    data, parameters = document["data"], document["parameters"]
    sizes = [f"{model['n_features']:,}" for model in document["models"]]
    method = parameters["method"]
    sentence = METHODS[method].sentence if method in METHODS else str(method)
    facts = {"numbers of features": some(sizes, 30), "chosen": f"{document['chosen']:,}"}
    if document["rule"] not in (None, "all"):
        facts["by the rule"] = document["rule"]
    facts["method"] = sentence.replace("{k}", "k")
    hidden = ("method", "n_threads", "warm_start", "groups")
    facts |= {
        name.replace("_", " "): show(str(value), TEXT)
        for name, value in parameters.items()
        if value is not None and name not in hidden
    }
    of_data = {
        "data": show(data["source"], 300),
        "size": f"{data['n_samples']:,} samples, {data['n_features']:,} features, "
        f"{data['storage']}",
        "target": target_name(data),
    }
    if data["class_counts"]:
        counts = [f"{show(label, 30)} {n:,}" for label, n in data["class_counts"].items()]
        of_data["classes"] = some(counts, 20)
    else:
        of_data["range"] = describe_target(data)
    if data["guess"]:
        of_data["taken for"] = f"{data['task']}: {data['guess']}"
    for column, one in data["coded"].items():
        of_data[f"column {show(column, 40)}"] = f"{one['kind']}, {len(one['levels'])} levels"
        if len(of_data) > _NOTES:
            break
    if data["filled"]:
        filled = [f"{show(name, 40)}: {n}" for name, n in data["filled"].items()]
        of_data["filled cells"] = some(filled, 20)
    notes = [show(note, 400) for note in document["notes"][:_NOTES]]
    checks = (
        "<ul class='notes'>" + "".join(f"<li>{escape(note)}.</li>" for note in notes) + "</ul>"
        if notes
        else paragraph(
            "No empty or unreadable cells, no labels that differ by a letter, no feature that is "
            "the target in disguise were found."
        )
    )
    return (
        fact_list(of_data) + "<h3>Checks of the data</h3>" + checks + "<h3>The selection</h3>"
        + fact_list(facts)
    )  # fmt: skip


def _again(again: Sequence[tuple[str, str]], facts: Mapping[str, str]) -> str:
    parts = [f"<h3>{escape(what)}</h3><pre>{escape(_lines(text))}</pre>" for what, text in again]
    return "".join(parts) + "<h3>Versions and digests</h3>" + fact_list(facts)


def _lines(text: str) -> str:
    return "\n".join(show(line, 4000) for line in text.split("\n"))
