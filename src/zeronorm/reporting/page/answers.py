"""What a page says of the models of each size, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.messages import counted, show, some
from ..text.chance import score_beside_chance
from ..text.claims import percent, search_end, state_claim
from ..text.words import loss_of, words_of
from .cells import NAME, Cell, cost

_WORDS, _PAIRS = 36, 3  # characters of a description in a sentence; substitutes in one
_NAMED, _MEMBERS = 12, 4  # features that a sentence names, and those of each group
_CLOSE = 0.01  # A list whose objective is within this share of the best one's is as good.
_OBJECTIVE = "objective (training loss and penalty)"
_STABLE, _UNSTABLE = 0.75, 0.4  # as the source of the index reads it


class Answers:
    """What a page says of the models in the document of a selection.

    document : of `zeronorm select`. trust : as of `describe_trust`.
    """

    def __init__(self, document: Mapping[str, Any], trust: Mapping[str, Any]) -> None:
        self.document, self.trust = document, trust
        parameters = document["parameters"]
        self.words = words_of(
            document["data"],
            loss_of(document),
            document["score"],
            parameters["level"],
        )
        self.outputs = [str(one) for one in document["outputs"]]
        self.by_class = any(row["class"] is not None for row in self.all_rows()) and (
            len({row["class"] for row in self.all_rows()}) > 1
        )
        rows = (trust["stability"] or {}).get("features")
        forced = parameters.get("forced_features")
        forced = set() if forced is None else {int(one) for one in forced}
        self._forced = {self.key(row) for row in self.all_rows() if row["index"] in forced}
        self.frequencies = rows and {self.chosen(row): row["frequency"] for row in rows}

    @property
    def unit(self) -> str:
        """What the budget counts: a feature, or a (whole) group."""
        return str(self.trust["unit"])[:-1]

    @property
    def of_groups(self) -> bool:
        return self.unit == "group"

    def all_rows(self) -> list[Mapping[str, Any]]:
        return [row for model in self.document["models"] for row in model["features"]]

    def texts(self, model: Mapping[str, Any]) -> dict[str, str]:
        """Return the answers for a model, by what they answer."""
        k = counted(model["n_features"])
        return {
            "size": f"{counted(model['size'], 'group')}, {k}" if self.of_groups else k,
            "which": self._which(model),
            "new": self._new(model),
            "sure": self._sure(model),
            "instead": self._instead(model),
            "better": self.better(model),
        }

    def _which(self, model: Mapping[str, Any]) -> str:
        if not self.of_groups:
            return some(list(dict.fromkeys(map(_with_words, model["features"]))), _NAMED)
        said = []
        for group in dict.fromkeys(row["group"] for row in model["features"]):
            members = [show(row["name"], NAME) for row in members_of(model, group)]
            of = f"{counted(len(members))}: {some(members, _MEMBERS)}"
            said.append(f"{show(group, NAME)} ({of})")
        return "; ".join(said[:_NAMED]) + (
            f"; and {len(said) - _NAMED:,} more" if len(said) > _NAMED else ""
        )

    def _new(self, model: Mapping[str, Any]) -> str:
        if model["cross_validation"] is None:
            return "Not known: there was no cross-validation."
        parts = score_beside_chance(self.document, model, self.words.score, advise=False)
        text = "".join(part if isinstance(part, str) else part[0] for part in parts)
        name = model["measure"] or self.words.score
        lines = text.strip().splitlines()
        at = next(place for place, line in enumerate(lines) if line.startswith("in "))
        said = [f"{name} {'; '.join(lines[:at])}, {lines[at]}", *lines[at + 1 :]]
        return " ".join(f"{one[0].upper()}{one[1:]}." for one in said)

    def _sure(self, model: Mapping[str, Any]) -> str:
        known = self.trust["stability"]
        if known is None:
            return "Not known: no half-samples were drawn."
        if "reason" in known:
            return f"Not known: {show(known['reason'], 300)}"
        known_shares = {self.key(row): self.frequency(row) for row in model["features"]}
        shares = {key: one for key, one in known_shares.items() if one is not None}
        stable = sum(one >= known["threshold"] for one in shares.values())
        other = "" if model["size"] == self.document["chosen"] else " (of another length)"
        names = self.names(model)
        order = sorted(shares, key=lambda index: -shares[index])
        each = some([f"{names[index]} {shares[index]:.0%}" for index in order], _NAMED)
        if len(shares) < len(names):
            each += f" ({counted(len(names) - len(shares), self.unit)} forced into all of them)"
        are, of = "is" if stable == 1 else "are", " groups" if self.of_groups else ""
        return (
            f"{stable} of {len(shares)}{of} {are} in at least {known['threshold']:.0%} of the "
            f"{2 * known['n_pairs']} lists that half of the samples give{other}: {each}. As a "
            f"whole the lists are {stable_words(known)}."
        )

    def frequency(self, row: Mapping[str, Any]) -> float | None:
        """Return the share of the half-samples that chose a feature; None of a forced one."""
        key = self.key(row)
        return None if key in self._forced else (self.frequencies or {}).get(key, 0.0)

    def key(self, row: Mapping[str, Any]) -> Any:
        """Return what the budget counts of a feature of a model: itself, or its group."""
        return row["group"] if self.of_groups else row["index"]

    def chosen(self, row: Mapping[str, Any]) -> Any:
        """Return the same of a row of the half-samples, or of lists that are nearly as good."""
        return row["name"] if self.of_groups else row["index"]

    def names(self, model: Mapping[str, Any]) -> dict[Any, str]:
        """Return the names of what the budget counts of a model."""
        name = "group" if self.of_groups else "name"
        return {self.key(row): show(row[name], NAME) for row in model["features"]}

    def _instead(self, model: Mapping[str, Any]) -> str:
        own = self.trust["models"].get(model["size"])
        if own is None:
            return "Not known: no bounds are known for this kind of selection."
        rows = [row for part in own["substitutes"] for row in part]
        some_ = sum(row["n_exchangeable"] > 0 for row in rows)
        text = (
            f"{some_} of {len(rows)} could {'each ' * (some_ > 1)}give way to another {self.unit} "
            f"at a cost of at most {rows[0]['within']:.0%} of the objective"
            f"{_cheapest(rows, self.names(model))}."
            if rows
            else f"All {self.unit}s were asked for."
        )
        near = self.trust["near"]
        if near and model["size"] == self.document["chosen"]:
            text += " " + " ".join(near_words(one) for one in near)
        return text

    def better(self, model: Mapping[str, Any]) -> str:
        """Return whether there is a better list of this length, as far as it is known."""
        own = self.trust["models"].get(model["size"], {})
        labels = [str(one) for one in self.document["classes"]]
        said = []
        if "proofs" in own:
            what = self.unit if model["size"] == 1 else counted(model["size"], self.unit)
            said = [_better(proof, what) for proof in own["proofs"]]
        else:
            for certificate in model["certificates"]:
                if certificate is not None:
                    claim = state_claim(certificate, model["n_features"])[0]
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


def members_of(model: Mapping[str, Any], group: str) -> list[Mapping[str, Any]]:
    """Return the features of a group of a model, those of the largest effects first."""
    found = {row["index"]: row for row in model["features"] if row["group"] == group}
    return list(found.values())


def _with_words(row: Mapping[str, Any]) -> str:
    """Return the name of a feature, and the beginning of what it is in words."""
    name = show(row["name"], NAME)
    return f"{name} ({show(row['description'], _WORDS)})" if row["description"] else name


def _cheapest(rows: Sequence[Mapping[str, Any]], names: Mapping[Any, str]) -> str:
    """Return the substitutes that cost least, each with what it stands for.

    names : of what the model has.
    """
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


def _better(proof: Mapping[str, Any], what: str) -> str:
    """Return whether a list is the best one, by a search, and which of two is to be used.

    what : the list has: feature, or 5 groups.
    """
    certificate, gain = proof["certificate"], proof["gain"]
    left = percent(certificate["gap"])
    if not proof["added"]:
        if certificate["proven"]:
            have = "have" if what[0].isdigit() else "has"
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
            "not tell which of the two does better on new samples."
        )
    return (
        f"No: {found}; prove that list while it is selected (--prove, in Python zeronorm.prove) "
        "for scores of its own, as those here are of the list shown."
    )


def near_words(near: Mapping[str, Any]) -> str:
    """Return how many lists are nearly as good as the best one, and whether these are all."""
    n = len(near["lists"])
    lists, are = ("1 list", "is") if n == 1 else (f"{n:,} lists", "are")
    in_all = [show(row["name"], NAME) for row in near["features"] if row["n_lists"] == n]
    within = f"within {near['within']:.0%} of the best objective"
    if near["complete"]:
        text = f"{lists} {are} {within}, and no others, which is proven"
    else:
        known = near["complete_within"]
        text = f"{lists} {within} {'was' if n == 1 else 'were'} found, and there may be others"
        text += f" (up to {100 * known:.2g}% none is missing)" if known > 0 else ""
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
