"""A selection as one page to forward: HTML with its style, script and figures inside.

Nothing is loaded from anywhere. A policy in the page lets nothing but its own style and script
run, by their hashes, and whatever comes from data is escaped. Without script, and in print, the
page says everything of the chosen size, and the names of the features of all others.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from sklearn.base import clone

from ..._version import __version__
from ...core.messages import Leaked, counted, show, some
from ...methods import METHODS
from ..documents.trust import MOST_KEPT, MOST_ROWS, fitting
from ..records import ModelFound, SelectionFound, Trust
from ..text.certificates import by_words, scope
from ..text.selection import mean_error, stability_text
from ..text.words import describe_target, target_name
from .answers import Answers, FeatureTables, what_instead, what_was_found
from .elements import (
    TEXT,
    Cell,
    Figure,
    fact_list,
    figures_in,
    note,
    number,
    paragraph,
    table,
)

_NOTES = 50
_UNFOLDED = 3  # rows that a table beside a picture may have and stay open
SECTIONS = ("features", "new", "sure", "instead")  # that have figures

_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def render(
    document: SelectionFound,
    trust: Trust,
    figures: Sequence[Figure],
    again: Sequence[tuple[str, str]],
    facts: Mapping[str, str],
) -> bytes:
    """Return the page.

    document : its chosen size is that of the page. figures : as of `figures_of`.
    again : what commands and code are for, and these.
    facts : versions and digests, by what they are of.
    """
    answers = Answers(document, trust)
    found = FeatureTables(answers)
    models = fitting(document.models, document.chosen, MOST_KEPT)
    chosen = document.model_of(document.chosen)
    sizes = [
        {
            "k": model.size,
            "texts": answers.texts(model),
            "tables": found.tables(model),
        }
        for model in models
    ]
    css, script = _own("page.css"), _own("page.js")
    # Inside a script element only "<" could end it, or begin a comment.
    data = json.dumps(sizes, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; style-src '{_digest(css)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    drawn = {section: figures_in(figures, section) for section in SECTIONS}
    texts = {name: escape(text) for name, text in answers.texts(chosen).items()}
    page = Template(_own("page.html")).substitute(
        policy=policy,
        version=escape(document.zeronorm),
        title=escape(_title(answers, chosen)),
        lead=escape(_lead(document)),
        units=f"{answers.unit}s",
        css=css,
        script=script,
        data=data,
        doubts=_doubts(document),
        slider=_slider(answers, models, chosen),
        features=what_was_found(answers, chosen) + drawn["features"],
        scores=_scores(answers, drawn["new"]),
        stability=_sure(answers, chosen, drawn["sure"]),
        near=what_instead(answers, chosen, drawn["instead"]),
        asked=_asked(answers),
        again=_again(again, facts),
        **texts,
    )
    return page.encode("utf-8", "backslashreplace")  # a name may have half of a character


def _doubts(document: SelectionFound) -> str:
    """Return what makes the whole result doubtful, before anything else; "" without."""
    found = [show(one, 400) for one in document.notes if isinstance(one, Leaked)]
    if not found:
        return ""
    return (
        '<section id="doubts" aria-labelledby="doubts-h"><h2 id="doubts-h">Read this first</h2>'
        + paragraph(
            "A selected column may not be known at the time of a prediction. Then the scores "
            "below are too good, and the other features are not the best ones."
        )
        + _list(found)
        + "</section>"
    )


def _list(notes: Sequence[str]) -> str:
    return "<ul class='notes'>" + "".join(f"<li>{escape(one)}.</li>" for one in notes) + "</ul>"


def _own(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _title(answers: Answers, chosen: ModelFound) -> str:
    document = answers.document
    data, k, unit = document.data, chosen.n_features, "feature"
    many = data.n_features - document.n_covariates
    if answers.of_groups:
        k, many, unit = chosen.size, data.n_groups or 0, "group"
    what = f"{k:,} of {counted(many, unit)}{' of features' * answers.of_groups}"
    classes = [show(str(one), 30) for one in document.classes]
    if len(classes) == 2 and data.task == "classes":
        label = show(str(chosen.features[0].label), 30)  # for which coefficients speak
        other = classes[0 if label == classes[1] else 1]
        return f"{what} that {'tells' if k == 1 else 'tell'} {label} from {other}"
    target = target_name(data)
    if data.task == "survival":
        target = f"survival ({target})"
    return f"{what} that {'predicts' if k == 1 else 'predict'} {target}"


def _lead(document: SelectionFound) -> str:
    data = document.data
    if data.class_counts:
        counts = [f"{n:,} {show(label, 30)}" for label, n in data.class_counts.items()]
        target = f"{target_name(data)}: {some(counts, 8)}"
    else:
        target = f"{target_name(data)}, {describe_target(data)}"
    return f"{counted(data.n_samples, 'sample')} of {show(data.source, 200)}; {target}."


def _slider(answers: Answers, models: Sequence[ModelFound], chosen: ModelFound) -> str:
    """Return the slider over the sizes; none where there is one size."""
    if len(models) < 2:
        return ""
    size = escape(answers.texts(chosen)["size"])
    return (
        f'<div class="slider scripted" hidden><label for="size">Number of {answers.unit}s</label>'
        f'<input type="range" id="size" min="0" max="{len(models) - 1}" '
        f'value="{models.index(chosen)}"><output for="size" data-text="size">{size}</output></div>'
    )


def _scores(answers: Answers, drawn: str) -> str:
    """Return the scores of all sizes, drawn and in a table, beside those without features."""
    document = answers.document
    word = answers.words.score
    heads = [("groups", "n")] if answers.of_groups else []
    heads += [("features", "n"), (f"{word}, held out", "n")]
    heads.append(("covariates alone" if document.n_covariates else "without features", "n"))
    own = [model.cross_validation for model in document.models]
    more = {"balanced_accuracy": "balanced accuracy", "auc": "AUC"}
    more = {
        key: name
        for key, name in more.items()
        if any(one and getattr(one, key) is not None for one in own)
    }
    heads += [(name, "n") for name in more.values()]
    heads += [(f"{word}, training", "n"), ("optimal", "n"), ("which", "")]
    rows, keys = [], []
    for model in document.models:
        held, k = model.cross_validation, model.n_features
        row = [Cell(f"{model.size:,}", model.size)] if answers.of_groups else []
        row.append(Cell(f"{k:,}", k))
        row += (
            [number(None), number(None), *(number(None) for _ in more)]
            if held is None
            else [
                Cell(mean_error(held), held.mean),
                number(held.baseline),
                *(
                    number(None)
                    if getattr(held, key) is None
                    else Cell(mean_error(held, key), getattr(held, key))
                    for key in more
                ),
            ]
        )
        names = list(answers.names(model).values())
        row += [
            number(model.on_training),
            answers.gap(model),
            Cell(some(names, MOST_ROWS), None, "which"),
        ]
        rows.append(row)
        keys.append(model.size)
    text = (
        "Held out: the whole selection is repeated without the samples that are scored; ± one "
        "standard error over the folds. Training: on the samples of the selection, so too good. "
        "Optimal: whether another feature set of this size has, or may have, a lower objective."
    )
    if answers.words.baseline and not document.classes:
        text = f"{word}: {answers.words.baseline}. {text}"
    shown = table(
        "All sizes that were compared",
        heads,
        rows,
        keys=keys,
        chosen=document.chosen,
        folded=bool(drawn) and len(rows) > _UNFOLDED,
    )
    return drawn + shown + note(text)


def _sure(answers: Answers, chosen: ModelFound, drawn: str) -> str:
    """Return the stability of the feature set, and what is certified."""
    parts = []
    known = answers.trust.stability
    if known is not None:
        lines = stability_text(known).plain.rstrip(".").split("\n")
        parts.append(paragraph(" ".join(f"{one[0].upper()}{one[1:]}." for one in lines)))
        parts.append(
            note(
                "An unstable feature set can predict as well as a stable one: among features with "
                "the same information, chance decides which is selected."
            )
        )
    parts.append(drawn)
    parts.append("<h3>Certificate</h3>")
    parts.append(f'<p data-text="better">{escape(answers.better(chosen))}</p>')
    certificates = [one for one in chosen.certificates if one is not None]
    if certificates:
        one = certificates[0]
        parts.append(note(scope(one, answers.document.by_folds)))
    return "".join(parts)


def _asked(answers: Answers) -> str:
    """Return what was asked for, and what the data are."""
    document, units = answers.document, f"{answers.unit}s"
    data, parameters = document.data, document.parameters
    sizes = [f"{model.size:,}" for model in document.models]
    method = parameters["method"]
    sentence = METHODS[method].sentence if method in METHODS else str(method)
    facts = {f"numbers of {units}": some(sizes, 30), "chosen": f"{document.chosen:,}"}
    if document.rule not in (None, "all"):
        facts["by the rule"] = document.rule
    facts["method"] = sentence.replace("{k}", "k")
    if document.by_folds is not None:
        facts[f"{document.by_folds.parameter} is"] = by_words(document.by_folds)
    hidden = ("method", "n_threads", "warm_start", "feature_groups")
    facts |= {
        name.replace("_", " "): show(str(value), TEXT)
        for name, value in parameters.items()
        if value is not None and name not in hidden
    }
    of_data = {
        "data": show(data.source, 300),
        "size": f"{counted(data.n_samples, 'sample')}, {counted(data.n_features)}, {data.storage}",
        "target": target_name(data),
    }
    if data.class_counts:
        counts = [f"{show(label, 30)} {n:,}" for label, n in data.class_counts.items()]
        of_data["classes"] = some(counts, 20)
    else:
        of_data["range"] = describe_target(data)
    if data.guess:
        of_data["read as"] = f"{data.task}: {data.guess}"
    for column, one in data.coded.items():
        levels = f", {counted(len(one.levels), 'level')}" if one.kind == "category" else ""
        of_data[f"column {show(column, 40)}"] = f"{one.kind}{levels}"
        if len(of_data) > _NOTES:
            break
    if data.filled:
        filled = [f"{show(name, 40)}: {n}" for name, n in data.filled.items()]
        of_data["filled cells"] = some(filled, 20)
    notes = [show(note, 400) for note in document.notes[:_NOTES]]
    checks = (
        _list(notes)
        if notes
        else paragraph(
            "No empty or unreadable cells, no labels that differ by a letter, no feature that "
            "gives the target away were found."
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


class _Word(str):
    """A variable of code, as a parameter."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def code_of_model(estimator: Any, model: ModelFound, read: str, *, together: bool = False) -> str:
    """Return the code that fits the model of a size.

    read : the line that has the data. together : whether samples are in groups.
    """
    one = clone(estimator)
    data = "X, y, groups=groups" if together else "X, y"
    if together:
        read += "\n# groups: the group of every sample"
    if getattr(one, "feature_groups", None) is not None:
        read += "\n# feature_groups: the group of every feature, as --group-file has it"
        one.set_params(feature_groups=_Word("feature_groups"))
    if one.n_features is None:
        one.set_params(n_groups=model.size)
    elif model.n_groups is None:
        one.set_params(n_features=model.size)
    return f"from zeronorm import {type(one).__name__}\n{read}\nmodel = {one!r}.fit({data})"


def code_of_report(
    estimator: Any,
    model: ModelFound,
    file: str,
    cv: int | None,
    n_pairs: int,
    time_limit: float,
    *,
    together: bool,
) -> list[tuple[str, str]]:
    """Return what the code of a page from Python is for, and the code."""
    given = f"{file!r}, cv={cv}, n_pairs={n_pairs}, time_limit={time_limit:g}"
    given += ", groups=groups" if together else ""
    read = "# X, y: the samples and their target, as arrays"
    found = [
        ("The model", code_of_model(estimator, model, read, together=together)),
        (
            "This page",
            f"from zeronorm import report\nreport(model, X, y, {given})",
        ),
    ]
    if len(model.certificates) == 1 and model.certificates[0] is not None:
        found.append(
            (
                "The certificate of the feature set, and its check in plain NumPy",
                "from zeronorm import certify, verify\nverify(certify(model, X, y), X, y)",
            )
        )
        found.append(
            ("A longer search for a better feature set",
             "from zeronorm import prove\nprove(model, X, y, gap=0, time_limit=600)")
        )  # fmt: skip
    return found


def versions() -> dict[str, str]:
    """Return the versions of what is at work."""
    found = {"zeronorm": __version__, "Python": platform.python_version()}
    return found | {name: version(name) for name in _LIBRARIES}
