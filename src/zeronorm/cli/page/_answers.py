"""What a page says of the models of each size: sentences, and rows of its table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._messages import counted, show, some
from .._threshold import sentence
from ..reports._chance import score_beside_chance
from ..reports._claims import (
    CHOSE_IT,
    percent,
    search_end,
    state_claim,
    threshold_rates,
    weaker_penalty_text,
)
from ..reports._words import words_of

NAME, TEXT = 60, 120  # characters of a name and of a description, at most
_WORDS, _PAIRS = 36, 3  # characters of a description in a sentence; substitutes in one
_NAMED = 12  # features that a sentence names
MOST_ROWS = 500  # features of a model in its table, at most
_MOST_OUTPUTS = 8  # that have a column each
_CLOSE = 0.01  # A list whose objective is within this share of the best one's is as good.
_OBJECTIVE = "objective (training loss and penalty)"
_STABLE, _UNSTABLE = 0.75, 0.4  # as the source of the index reads it


class Cell(NamedTuple):
    """A cell of a table: what is shown, what it is sorted by, and its class in the style."""

    text: str
    value: float | None = None
    kind: str = "n"


def name_cell(name: str) -> Cell:
    return Cell(show(name, NAME), None, "name")


def text_cell(text: str) -> Cell:
    return Cell(show(text, TEXT), None, "text")


def number(value: float | None, form: str = ".3f") -> Cell:
    known = value is not None and math.isfinite(value)
    return Cell(format(value, form), value) if known else Cell("-", None)


def share(value: float) -> Cell:
    return Cell(f"{100 * value:.0f}%", value)


def cost(value: float) -> str:
    """Return a change of the objective, in percent."""
    return f"{100 * value:+.2g}%"


class Answers:
    """What a page says of the models in the document of a selection.

    document : of `zeronorm select`. trust : as of `describe_trust`.
    """

    def __init__(self, document: Mapping[str, Any], trust: Mapping[str, Any]) -> None:
        self.document, self.trust = document, trust
        parameters = document["parameters"]
        self.words = words_of(
            document["data"],
            parameters.get("loss") or "logistic",
            document["score"],
            parameters["level"],
        )
        self.outputs = [str(one) for one in document["outputs"]]
        self.by_class = any(row["class"] is not None for row in self._all_rows()) and (
            len({row["class"] for row in self._all_rows()}) > 1
        )
        known = trust["stability"] or {}
        # What half-samples choose, features or whole groups.
        self._unit = known.get("unit", "features")[:-1]
        rows = known.get("features")
        self._frequency = rows and {self._chosen(row): row["frequency"] for row in rows}

    def _all_rows(self) -> list[Mapping[str, Any]]:
        return [row for model in self.document["models"] for row in model["features"]]

    def texts(self, model: Mapping[str, Any]) -> dict[str, str]:
        """Return the answers for a model, by what they answer."""
        k = model["n_features"]
        return {
            "size": counted(k),
            "which": self._which(model),
            "new": self._new(model),
            "sure": self._sure(model),
            "instead": self._instead(model),
            "better": self.better(model),
        }

    def _which(self, model: Mapping[str, Any]) -> str:
        return some(list(dict.fromkeys(map(_with_words, model["features"]))), _NAMED)

    def _new(self, model: Mapping[str, Any]) -> str:
        if model["cross_validation"] is None:
            return " ".join([*self._acting(model), "Not known: there was no cross-validation."])
        parts = score_beside_chance(self.document, model, self.words.score)
        text = "".join(part if isinstance(part, str) else part[0] for part in parts)
        name = model["measure"] or self.words.score
        lines = text.strip().splitlines()
        at = next(place for place, line in enumerate(lines) if line.startswith("in "))
        acting = self._acting(model)
        said = [f"{name} {'; '.join(lines[:at])}, {lines[at]}", *lines[at + 1 :]]
        if any(one["threshold"] for one in self.document["models"]):
            said[0] = f"from 0.5 on {said[0]}"
        said = [f"{one[0].upper()}{one[1:]}." for one in said]
        return " ".join([*acting, *said, *self._penalty(model)])

    def _acting(self, model: Mapping[str, Any]) -> list[str]:
        """Return from where on a model acts, and how good that is; of 0.5 nothing."""
        record, classes = model["threshold"], self.document["classes"]
        if record is None:
            return []
        counts = self.document["data"]["class_counts"]
        rates = threshold_rates(record, classes, counts)
        said = [f"The model predicts {sentence(record, classes)}."]
        if rates:
            said.append(f"So, on held-out samples, {rates} ({CHOSE_IT}).")
        return said

    def _penalty(self, model: Mapping[str, Any]) -> list[str]:
        """Return that a larger C does better on held-out rows, where that is known of a size."""
        weaker = self.document.get("weaker_penalty")
        if weaker is None or model["size"] != self.document["chosen"]:
            return []
        C = self.document["parameters"]["C"]
        text = weaker_penalty_text(weaker, C, self.document["score"])
        return [f"{text[0].upper()}{text[1:]}; select again with C = {weaker['C']:g}."]

    def _sure(self, model: Mapping[str, Any]) -> str:
        known = self.trust["stability"]
        if known is None:
            return "Not known: no half-samples were drawn."
        if "reason" in known:
            return f"Not known: {show(known['reason'], 300)}"
        shares = {self._key(row): self.frequency(row) for row in model["features"]}
        stable = sum(one >= known["threshold"] for one in shares.values())
        other = "" if known["n_chosen"] == model["size"] else " (of another length)"
        names = {
            self._key(row): show(row["group"] if self._unit == "group" else row["name"], NAME)
            for row in model["features"]
        }
        order = sorted(shares, key=lambda index: -shares[index])
        each = some([f"{names[index]} {shares[index]:.0%}" for index in order], _NAMED)
        are, of = "is" if stable == 1 else "are", " groups" if self._unit == "group" else ""
        return (
            f"{stable} of {len(shares)}{of} {are} in at least {known['threshold']:.0%} of the "
            f"{2 * known['n_pairs']} lists that half of the samples give{other}: {each}. As a "
            f"whole the lists are {stable_words(known)}."
        )

    def frequency(self, row: Mapping[str, Any]) -> float:
        """Return the share of the half-samples that chose a feature."""
        return float((self._frequency or {}).get(self._key(row), 0.0))

    def _key(self, row: Mapping[str, Any]) -> Any:
        """Return what a feature of a model is in the half-samples: itself, or its group."""
        return row["group"] if self._unit == "group" else row["index"]

    def _chosen(self, row: Mapping[str, Any]) -> Any:
        """Return the same of a row of the half-samples."""
        return row["name"] if self._unit == "group" else row["index"]

    def _instead(self, model: Mapping[str, Any]) -> str:
        own = self.trust["models"].get(model["size"])
        if own is None:
            if isinstance(self.document["parameters"].get("n_groups"), list):
                return "Not known: substitutes are of single features, not of whole groups."
            return "Not known: no bounds are known for this kind of selection."
        rows = [row for part in own["substitutes"] for row in part]
        some_ = sum(row["n_exchangeable"] > 0 for row in rows)
        text = (
            f"{some_} of {len(rows)} could {'each ' * (some_ > 1)}give way to another feature at "
            f"a cost of at most {rows[0]['within']:.0%} of the objective{_cheapest(rows, model)}."
            if rows
            else "All features were asked for."
        )
        near = self.trust["near"]
        if near and model["size"] == self.document["chosen"]:
            text += " " + " ".join(near_words(one) for one in near)
        return text

    def better(self, model: Mapping[str, Any]) -> str:
        """Return whether there is a better list of this length, as far as it is known."""
        k = model["n_features"]
        own = self.trust["models"].get(k, {})
        labels = [str(one) for one in self.document["classes"]]
        said = []
        if "proofs" in own:
            said = [_better(proof, k) for proof in own["proofs"]]
        else:
            for certificate in model["certificates"]:
                if certificate is not None:
                    claim = state_claim(certificate, k)[0]
                    said.append(claim[0].upper() + claim[1:] + ".")
        if not said:
            return "Not known: no bounds are known for this kind of selection."
        if len(said) > 1:
            said = [f"{show(label, 30)}: {one}" for label, one in zip(labels, said, strict=True)]
        return " ".join(said)

    def gap(self, model: Mapping[str, Any]) -> Cell:
        """Return by how much another list could be better, the largest of the classes."""
        own = self.trust["models"].get(model["size"], {})
        known = [
            (proof["gain"] if proof["added"] else 0.0, proof["certificate"])
            for proof in own.get("proofs", ())
        ]
        known = known or [(0.0, one) for one in model["certificates"]]
        if not known or any(one is None for _, one in known):
            return Cell("-", None)
        gain = max(gain for gain, _ in known)
        worst = max(certificate["gap"] for _, certificate in known)
        if all(certificate["proven"] for _, certificate in known):
            return Cell("yes, proven" if gain == 0 else f"no, by {100 * gain:.2g}%", gain)
        most = percent(gain + worst)
        if gain == 0:
            return Cell(f"within {most}", worst)
        return Cell(f"no, by {100 * gain:.2g}%, at most {most}", gain + worst)

    def heads(self) -> list[tuple[str, str]]:
        """Return the heads of the table of features, each with its class in the style."""
        heads = [("", "n"), ("feature", "")]
        if self.by_class:
            heads.append(("class", ""))
        if self._described():
            heads.append(("description", ""))
        if self.outputs:
            heads += [(show(f"{self.words.head}, {one}", 40), "n") for one in self._columns()]
        else:
            heads += [("coefficient", "n"), (self.words.head, "n")]
        if self._frequency:
            heads.append(("in half-samples", "n"))
        if self.trust["models"]:
            heads += [("without it", "n"), ("best instead", ""), ("at a cost of", "n")]
            heads.append(("others within 1%", "n"))
        return heads

    def _columns(self) -> list[str]:
        return self.outputs if len(self.outputs) <= _MOST_OUTPUTS else ["largest", "of"]

    def _described(self) -> bool:
        return any(row["description"] for row in self._all_rows())

    def rows(self, model: Mapping[str, Any]) -> list[list[Cell]]:
        """Return the rows of the table of features."""
        own = self.trust["models"].get(model["size"])
        labels = list(dict.fromkeys(row["class"] for row in model["features"]))
        instead: dict[tuple[Any, int], Mapping[str, Any]] = {}
        if own is not None:
            for label, part in zip(labels, own["substitutes"], strict=False):
                instead |= {(label, row["index"]): row for row in part}
        described = self._described()
        rows = []
        for row in model["features"][:MOST_ROWS]:
            cells = [Cell(str(row["rank"]), row["rank"]), name_cell(row["name"])]
            if self.by_class:
                cells.append(text_cell(str(row["class"])))
            if described:
                cells.append(text_cell(row["description"] or ""))
            cells += self._effects(row)
            if self._frequency:
                cells.append(share(self.frequency(row)))
            if self.trust["models"]:
                cells += _instead_cells(instead.get((row["class"], row["index"])))
            rows.append(cells)
        return rows

    def _effects(self, row: Mapping[str, Any]) -> list[Cell]:
        effects = row["per_deviation"]
        if not self.outputs:
            return [number(row["coefficient"], "+.4g"), self._effect(effects)]
        if len(self.outputs) <= _MOST_OUTPUTS:
            return [self._effect(one) for one in effects]
        place = max(range(len(effects)), key=lambda at: abs(effects[at]))
        return [self._effect(effects[place]), Cell(show(self.outputs[place], NAME), None)]

    def _effect(self, value: float) -> Cell:
        if not self.words.ratio:
            return number(value, "+.3f")
        ratio = math.exp(min(value, 700.0))
        return number(ratio, ".3g")


def _instead_cells(row: Mapping[str, Any] | None) -> list[Cell]:
    """Return what a feature is worth, and what could take its place; none of a forced one."""
    if row is None:
        return [Cell("-", None), Cell("-", None, "name"), Cell("-", None), Cell("-", None)]
    first = row["names"][:1]
    sure = "" if row["proven"] else " or more"
    return [
        Cell(cost(row["without"]), row["without"]),
        Cell(show(first[0], NAME) if first else "none", None, "name"),
        Cell(cost(row["costs"][0]), row["costs"][0]) if first else Cell("-", None),
        Cell(f"{row['n_exchangeable']:,}{sure}", row["n_exchangeable"]),
    ]


def _with_words(row: Mapping[str, Any]) -> str:
    """Return the name of a feature, and the beginning of what it is in words."""
    name = show(row["name"], NAME)
    return f"{name} ({show(row['description'], _WORDS)})" if row["description"] else name


def _cheapest(rows: Sequence[Mapping[str, Any]], model: Mapping[str, Any]) -> str:
    """Return the substitutes that cost least, each with the feature that it stands for."""
    names = {row["index"]: show(row["name"], NAME) for row in model["features"]}
    known = sorted((row for row in rows if row["names"]), key=lambda row: row["costs"][0])
    pairs = [
        f"{show(row['names'][0], NAME)} for {names[row['index']]} ({cost(row['costs'][0])})"
        for row in known[:_PAIRS]
        if row["n_exchangeable"]
    ]
    return (
        f", the cheapest {'ones ' * (len(pairs) > 1)}{some(pairs, _PAIRS)}; see the table"
        if pairs
        else ""
    )


def _better(proof: Mapping[str, Any], k: int) -> str:
    """Return whether a list is the best one, by a search, and which of two is to be used."""
    certificate, gain = proof["certificate"], proof["gain"]
    what = "feature" if k == 1 else counted(k)
    left = percent(certificate["gap"])
    if not proof["added"]:
        if certificate["proven"]:
            have = "has" if k == 1 else "have"
            return f"Yes: it is proven that no other {what} {have} a lower {_OBJECTIVE}."
        return (
            f"As far as is known: no better one was found ({search_end(proof)}), and it is "
            f"certified that none has an {_OBJECTIVE} that is lower by more than {left}."
        )
    added, dropped = (
        some([show(name, NAME) for name in proof[one]], _NAMED) for one in ("added", "dropped")
    )
    found = (
        f"with {added} in place of {dropped} the {_OBJECTIVE} is {100 * gain:.2g}% lower, and "
        + (
            "no list does better (proven)"
            if certificate["proven"]
            else f"at most {left} more is to be won"
        )
    )
    if gain <= _CLOSE:
        return (
            f"Nearly: {found}; use the list shown, which all scores here are of, as so little does "
            "not tell which of the two does better on new rows."
        )
    return (
        f"No: {found}; select again with --prove for that list and scores of its own, as those "
        "here are of the list shown."
    )


def near_words(near: Mapping[str, Any]) -> str:
    """Return how many lists are nearly as good as the best one, and whether these are all."""
    n = len(near["lists"])
    lists = "1 list is" if n == 1 else f"{n:,} lists are"
    in_all = [show(row["name"], NAME) for row in near["features"] if row["n_lists"] == n]
    text = f"{lists} within {near['within']:.0%} of the best objective"
    if not near["complete"]:
        text += " that was found" if n == 1 else " that were found"
        if near["complete_within"] > 0:
            text += f" (complete within {100 * near['complete_within']:.2g}%)"
    else:
        text += ", and no others, which is proven"
    if in_all:
        text += f"; {'it has' if n == 1 else 'all of them have'} {some(in_all, _NAMED)}"
    return text + "."


def stable_words(stability: Mapping[str, Any]) -> str:
    """Return how stable lists are, as the source of `Stability.index` reads it.

    Of a pair of halves, and of an interval from unstable to stable, nothing is to be read.
    """
    index, (low, high) = stability["index"], stability["interval"]
    if index is None:
        return "of all features"
    if stability["n_pairs"] == 1 or (low < _UNSTABLE and high >= _STABLE):
        return f"too few to judge whether they are stable (index {index:.2f}; 1: always the same)"
    level = "stable" if index >= _STABLE else "unstable" if index < _UNSTABLE else "fairly stable"
    return f"{level} (index {index:.2f}; 1: always the same)"
