"""The sentences and tables of a page, for the models of each size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.effects import ratio_text
from ...core.messages import counted, show, some
from ..documents.trust import MOST_ROWS
from ..records import (
    Feature,
    Improvement,
    ModelFound,
    NearSets,
    Selected,
    SelectionFound,
    SubstitutesFound,
    Trust,
)
from ..text.certificates import near_claim, percent, search_end, state_claim
from ..text.selection import score_beside_chance, stable_words
from ..text.tables import outputs_legend
from ..text.words import words_of
from .elements import NAME, Cell, cost, name_cell, note, number, paragraph, share, table, text_cell

_WORDS, _PAIRS = 36, 3  # characters of a description in a sentence; substitutes in one
_NAMED, _MEMBERS = 12, 4  # features that a sentence names, and those of each group
_CLOSE = 0.01  # A list whose objective is within this share of the best one's is as good.
_OBJECTIVE = "objective (training loss and penalty)"
_UNBOUNDED = "Unknown: this kind of selection has no bounds."
_MOST_OUTPUTS = 8  # that have a column each
_ROW_MEMBERS = 8  # features of a group that its row names
_OPEN = 12  # rows of a table of a part that stays open, at most
_NEAR = 20  # features of the near-optimal lists that are shown


class Answers:
    """The sentences of a page about the models of a selection.

    document : what was found. trust : how sure that is.
    """

    def __init__(self, document: SelectionFound, trust: Trust) -> None:
        self.document, self.trust = document, trust
        parameters = document.parameters
        self.words = words_of(
            document.data,
            document.loss,
            document.score,
            parameters["quantile"],
        )
        self.outputs = [str(one) for one in document.outputs]
        self.by_class = any(row.label is not None for row in self.all_rows()) and (
            len({row.label for row in self.all_rows()}) > 1
        )
        rows = [] if trust.stability is None else trust.stability.features
        forced = parameters.get("forced_features")
        forced = set() if forced is None else {int(one) for one in forced}
        self._forced = {self.key(row) for row in self.all_rows() if row.index in forced}
        self.frequencies = {self.chosen(row): row.frequency for row in rows}

    @property
    def unit(self) -> str:
        """Return the unit of the budget: a feature, or a (whole) group."""
        return str(self.trust.unit)[:-1]

    @property
    def of_groups(self) -> bool:
        return self.unit == "group"

    def all_rows(self) -> list[Selected]:
        return [row for model in self.document.models for row in model.features]

    def texts(self, model: ModelFound) -> dict[str, str]:
        """Return the answers for a model, by what they answer."""
        k = counted(model.n_features)
        return {
            "size": f"{counted(model.size, 'group')}, {k}" if self.of_groups else k,
            "which": self._which(model),
            "new": self._new(model),
            "sure": self._sure(model),
            "instead": self._instead(model),
            "better": self.better(model),
        }

    def _which(self, model: ModelFound) -> str:
        if not self.of_groups:
            return some(list(dict.fromkeys(map(_with_words, model.features))), _NAMED)
        said = []
        for group in dict.fromkeys(str(row.group) for row in model.features):
            members = [show(row.name, NAME) for row in _members_of(model, group)]
            of = f"{counted(len(members))}: {some(members, _MEMBERS)}"
            said.append(f"{show(group, NAME)} ({of})")
        return "; ".join(said[:_NAMED]) + (
            f"; and {len(said) - _NAMED:,} more" if len(said) > _NAMED else ""
        )

    def _new(self, model: ModelFound) -> str:
        if model.cross_validation is None:
            return "Unknown: there was no cross-validation."
        parts = score_beside_chance(self.document, model, self.words.score, advise=False)
        text = "".join(part if isinstance(part, str) else part[0] for part in parts)
        name = model.measure or self.words.score
        lines = text.strip().splitlines()
        at = next(place for place, line in enumerate(lines) if line.startswith("in "))
        said = [f"{name} {'; '.join(lines[:at])}, {lines[at]}", *lines[at + 1 :]]
        return " ".join(f"{one[0].upper()}{one[1:]}." for one in said)

    def _sure(self, model: ModelFound) -> str:
        known = self.trust.stability
        if known is None:
            reason = self.trust.reason
            return f"Unknown: {show(reason or 'no half-samples were drawn.', 300)}"
        known_shares = {self.key(row): self.frequency(row) for row in model.features}
        shares = {key: one for key, one in known_shares.items() if one is not None}
        stable = sum(one >= known.threshold for one in shares.values())
        other = "" if model.size == self.document.chosen else " (at another size)"
        names = self.names(model)
        order = sorted(shares, key=lambda index: -shares[index])
        each = some([f"{names[index]} {shares[index]:.0%}" for index in order], _NAMED)
        if len(shares) < len(names):
            each += f" ({counted(len(names) - len(shares), self.unit)} forced into all)"
        are, of = "is" if stable == 1 else "are", " groups" if self.of_groups else ""
        return (
            f"{stable} of {len(shares)}{of} {are} selected on at least {known.threshold:.0%} of "
            f"the {2 * known.n_pairs} half-samples{other}: {each}. Their sets are "
            f"{stable_words(known)}."
        )

    def frequency(self, row: Selected) -> float | None:
        """Return the share of the half-samples that chose a feature; None of a forced one."""
        key = self.key(row)
        return None if key in self._forced else self.frequencies.get(key, 0.0)

    def key(self, row: Selected) -> Any:
        """Return what the budget counts of a feature of a model: itself, or its group."""
        return row.group if self.of_groups else row.index

    def chosen(self, row: Feature) -> Any:
        """Return the same of a row of the half-samples, or of lists that are nearly as good."""
        return row.name if self.of_groups else row.index

    def names(self, model: ModelFound) -> dict[Any, str]:
        """Return the names of what the budget counts of a model."""
        return {
            self.key(row): show(str(row.group) if self.of_groups else row.name, NAME)
            for row in model.features
        }

    def _instead(self, model: ModelFound) -> str:
        own = self.trust.models.get(model.size)
        if own is None:
            return _UNBOUNDED
        rows = [row for part in own.substitutes for row in part]
        some_ = sum(row.n_exchangeable > 0 for row in rows)
        text = (
            f"{some_} of {len(rows)} can {'each ' * (some_ > 1)}be replaced by another {self.unit} "
            f"at a cost of at most {rows[0].within:.0%} of the objective"
            f"{_cheapest(rows, self.names(model))}."
            if rows
            else f"All {self.unit}s were forced."
        )
        near = self.trust.near
        if near and model.size == self.document.chosen:
            text += " " + " ".join(near_words(one, self.unit) for one in near)
        return text

    def better(self, model: ModelFound) -> str:
        """Return whether a better feature set of this size exists, as far as it is known."""
        own = self.trust.models.get(model.size)
        labels = [str(one) for one in self.document.classes]
        said = []
        if own is not None and own.proofs:
            what = self.unit if model.size == 1 else counted(model.size, self.unit)
            said = [_better(proof, what) for proof in own.proofs]
        else:
            for certificate in model.certificates:
                if certificate is not None:
                    claim = state_claim(certificate, model.n_features)[0]
                    said.append(claim[0].upper() + claim[1:] + ".")
        if not said:
            return _UNBOUNDED
        if len(said) > 1:
            said = [f"{show(label, 30)}: {one}" for label, one in zip(labels, said, strict=True)]
        return " ".join(said)

    def gap(self, model: ModelFound) -> Cell:
        """Return by how much another list could be better, the largest of the classes."""
        own = self.trust.models.get(model.size)
        ends = [] if own is None else own.proofs
        gain = max((end.gain for end in ends if end.added), default=0.0)
        certificates = [end.certificate for end in ends] or model.certificates
        known = [one for one in certificates if one is not None]
        if not known or len(known) < len(certificates):
            return Cell("-", None)
        worst = max(one.gap for one in known)
        if all(one.proven for one in known):
            return Cell("proven" if gain == 0 else f"no, by {100 * gain:.2g}%", gain)
        most = percent(gain + worst)
        if gain == 0:
            return Cell(f"within {most}", worst)
        return Cell(f"no, by {100 * gain:.2g}%, at most {most}", gain + worst)


def _members_of(model: ModelFound, group: str) -> list[Selected]:
    """Return the features of a group of a model, those of the largest effects first."""
    found = {row.index: row for row in model.features if row.group == group}
    return list(found.values())


def _with_words(row: Selected) -> str:
    """Return the name of a feature, and the beginning of what it is in words."""
    name = show(row.name, NAME)
    return f"{name} ({show(row.description, _WORDS)})" if row.description else name


def _cheapest(rows: Sequence[SubstitutesFound], names: Mapping[Any, str]) -> str:
    """Return the substitutes that cost least, each with what it stands for.

    names : of what the model has.
    """
    known = sorted((row for row in rows if row.names), key=lambda row: row.costs[0])
    pairs = [
        f"{show(row.names[0], NAME)} for {names[row.index]} ({cost(row.costs[0])})"
        for row in known[:_PAIRS]
        if row.n_exchangeable
    ]
    return (
        f", the cheapest {'ones ' * (len(pairs) > 1)}{some(pairs, _PAIRS)}; see the table"
        if pairs
        else ""
    )


def _better(proof: Improvement, what: str) -> str:
    """Return whether a list is the best one, by a search, and which of two is to be used.

    what : the list has: feature, or 5 groups.
    """
    certificate, gain = proof.certificate, proof.gain
    if certificate is None:
        return "Unknown: no bound is finite."
    left = percent(certificate.gap)
    if not proof.added:
        if certificate.proven:
            have = "have" if what[0].isdigit() else "has"
            return f"Optimal: no other {what} {have} a lower {_OBJECTIVE} (proven)."
        return (
            f"Unknown: no better set was found ({search_end(proof)}), and none has an {_OBJECTIVE} "
            f"that is lower by more than {left} (certified)."
        )
    added, dropped = (
        some([show(name, NAME) for name in names], _NAMED) for names in (proof.added, proof.dropped)
    )
    found = (
        f"with {added} instead of {dropped} the {_OBJECTIVE} is {100 * gain:.2g}% lower, and "
        + (
            "no set is better (proven)"
            if certificate.proven
            else f"at most {left} more can be gained"
        )
    )
    if gain <= _CLOSE:
        return (
            f"Nearly optimal: {found}; use the set shown: so small a difference does not tell "
            "which of the two predicts new samples better."
        )
    return (
        f"Not optimal: {found}; the scores here are of the set shown; select with --prove (in "
        "Python zeronorm.prove) for those of the better one."
    )


def near_words(near: NearSets, unit: str) -> str:
    """Return how many feature sets are near the best one, and what all of them have."""
    n = len(near.lists)
    text = near_claim(near, counted(len(near.lists[0].features), unit))
    in_all = [show(row.name, NAME) for row in near.features if row.n_lists == n]
    if in_all:
        text += f"; {'it has' if n == 1 else 'all have'} {some(in_all, _NAMED)}"
    return text + "."


def what_was_found(answers: Answers, chosen: ModelFound) -> str:
    """Return the table of the features of a model; of whole groups after that of the groups."""
    found = FeatureTables(answers)
    filters = (
        '<label class="filter scripted" hidden>Filter<input type="search" id="filter"></label>'
    )
    shown = ""
    if answers.of_groups:
        shown = table(
            "The groups of the model, those first that move the scores most",
            found.heads_of_groups(), found.rows_of_groups(chosen), rows_of="groups",
        )  # fmt: skip
        shown += note(" ".join(_said_of_groups(answers, chosen)))
    shown += table(
        "The features of the model, by falling effect",
        found.heads(), found.rows(chosen), rows_of="features",
        folded=answers.of_groups and len(chosen.features) > _OPEN,
    )  # fmt: skip
    return filters + shown + note(" ".join(_said(answers, chosen))) + _covariates(chosen)


def _said(answers: Answers, chosen: ModelFound) -> list[str]:
    """Return what the columns of the table of features mean."""
    words, document = answers.words, answers.document
    said = [f"{_legend(answers)}."]
    if words.sign:
        said.append(f"{words.sign[0].upper()}{words.sign[1:]}.")
    elif len(document.classes) == 2:
        said.append(f"Positive favours {show(str(chosen.features[0].label), 30)}.")
    if not answers.of_groups:
        said += _said_of_substitutes(answers)
    if len(chosen.features) > MOST_ROWS:
        said.append(f"The {MOST_ROWS} of the largest effects; the model file has all.")
    return said


def _legend(answers: Answers) -> str:
    words = answers.words
    text = words.legend
    if answers.outputs:
        text = outputs_legend(words, bool(answers.document.classes))
    return text[0].upper() + text[1:]


def _said_of_groups(answers: Answers, chosen: ModelFound) -> list[str]:
    said = [
        "Moves the scores by: the standard deviation over the samples of the sum that the group "
        f"adds to the score{', for the output where it is largest' if answers.outputs else ''}."
    ]
    said += _said_of_substitutes(answers)
    if len(answers.names(chosen)) > MOST_ROWS:
        said.append(f"The first {MOST_ROWS} groups; the model file has all.")
    return said


def _said_of_substitutes(answers: Answers) -> list[str]:
    if not answers.trust.models:
        return []
    return [
        f"Without it: growth of the objective without the {answers.unit}; best substitute: the "
        f"{answers.unit} that replaces it at the least cost (below 0: the set gets better)."
    ]


def _covariates(chosen: ModelFound) -> str:
    if not chosen.covariates:
        return ""
    names = [show(row.name, NAME) for row in chosen.covariates]
    return note(f"In every model, not counted, not penalised: {some(names, 20)}.")


class FeatureTables:
    """The heads and rows of the tables of what the models have."""

    def __init__(self, answers: Answers) -> None:
        self.answers, self.words, self.trust = answers, answers.words, answers.trust
        self.outputs = answers.outputs
        self.described = any(row.description for row in answers.all_rows())
        self.grouped = any(row.group is not None for row in answers.all_rows())

    def tables(self, model: ModelFound) -> dict[str, list[list[Cell]]]:
        """Return the rows of all tables of a model, which the slider moves."""
        found = {"features": self.rows(model)}
        if self.answers.of_groups:
            found["groups"] = self.rows_of_groups(model)
        return found

    def heads(self) -> list[tuple[str, str]]:
        """Return the heads of the table of features, each with its class in the style."""
        heads = [("", "n"), ("feature", "")]
        if self.grouped:
            heads.append(("group", ""))
        if self.answers.by_class:
            heads.append(("class", ""))
        if self.described:
            heads.append(("description", ""))
        if self.outputs:
            head = self.words.ratio or "coefficient per SD"
            heads += [(show(f"{head}, {one}", 40), "n") for one in self._columns()]
        else:
            of = self.words.ratio
            own = [of, f"{of} per SD"] if of else ["coefficient per SD"]
            heads += [(head, "n") for head in ("coefficient", *own)]
        return heads if self.answers.of_groups else heads + self._heads_of_trust()

    def heads_of_groups(self) -> list[tuple[str, str]]:
        """Return the heads of the table of groups."""
        heads = [("", "n"), ("group", "")]
        if self.answers.by_class:
            heads.append(("class", ""))
        heads += [("features", "n"), ("moves the scores by", "n"), *self._heads_of_trust()]
        return [*heads, ("which", "")]

    def _heads_of_trust(self) -> list[tuple[str, str]]:
        heads = []
        if self.answers.frequencies:
            heads.append(("in half-samples", "n"))
        if self.trust.models:
            heads += [("without it", "n"), ("best substitute", ""), ("at a cost of", "n")]
            heads.append(("others within 1%", "n"))
        return heads

    def _columns(self) -> list[str]:
        return self.outputs if len(self.outputs) <= _MOST_OUTPUTS else ["largest", "of"]

    def rows(self, model: ModelFound) -> list[list[Cell]]:
        """Return the rows of the table of features."""
        instead = self._substitutes(model)
        rows = []
        for row in model.features[:MOST_ROWS]:
            cells = [Cell(str(row.rank), row.rank), name_cell(row.name)]
            if self.grouped:
                cells.append(_label(row.group))
            if self.answers.by_class:
                cells.append(_label(row.label))
            if self.described:
                cells.append(text_cell(row.description or ""))
            cells += self._effects(row)
            if not self.answers.of_groups:
                cells += self._trust(row, instead)
            rows.append(cells)
        return rows

    def rows_of_groups(self, model: ModelFound) -> list[list[Cell]]:
        """Return the rows of the table of groups, of each class those first that move most."""
        instead, moves = self._substitutes(model), self._moves(model)
        first = {(row.label, row.group): row for row in reversed(model.features)}
        rows: list[list[Cell]] = []
        for (label, group), moved in moves.items():
            row = first[label, group]
            own = [one for one in _members_of(model, group) if one.label == label]
            cells = [Cell(str(len(rows) + 1), len(rows) + 1), name_cell(group)]
            if self.answers.by_class:
                cells.append(_label(label))
            cells += [Cell(f"{len(own):,}", len(own)), number(moved)]
            cells += self._trust(row, instead)
            names = [show(one.name, NAME) for one in own]
            rows.append([*cells, Cell(some(names, _ROW_MEMBERS), None, "text")])
        return rows[:MOST_ROWS]

    def _moves(self, model: ModelFound) -> dict[tuple[Any, str], float]:
        """Return by how much the groups of each class move the scores, the largest first."""
        labels = dict.fromkeys(row.label for row in model.features)
        found = {}
        for label, moves in zip(labels, self.trust.moves[model.size], strict=True):
            for group in sorted(moves, key=lambda name: -moves[name]):
                found[label, group] = moves[group]
        return found

    def _substitutes(self, model: ModelFound) -> dict[tuple[Any, Any], SubstitutesFound]:
        """Return what could take the place of what the model has, by class and by what it is."""
        own = self.trust.models.get(model.size)
        labels = list(dict.fromkeys(row.label for row in model.features))
        parts = [] if own is None else own.substitutes
        return {
            (label, row.index): row
            for label, part in zip(labels, parts, strict=False)
            for row in part
        }

    def _trust(
        self, row: Selected, instead: Mapping[tuple[Any, Any], SubstitutesFound]
    ) -> list[Cell]:
        """Return how sure a feature, or its group, is, and what could take its place."""
        cells = []
        if self.answers.frequencies:
            known = self.answers.frequency(row)
            cells.append(number(None) if known is None else share(known))
        if self.trust.models:
            cells += _instead_cells(instead.get((row.label, self.answers.key(row))))
        return cells

    def _effects(self, row: Selected) -> list[Cell]:
        plain, per_sd = row.coefficient, row.coefficient_per_sd
        if not (isinstance(plain, list) and isinstance(per_sd, list)):
            assert isinstance(plain, float)
            assert isinstance(per_sd, float)
            both = [plain, per_sd] if self.words.ratio else [per_sd]
            return [number(plain, "+.4g"), *map(self._effect, both)]
        effects = plain if self.words.ratio else per_sd
        if len(self.outputs) <= _MOST_OUTPUTS:
            return [self._effect(one) for one in effects]
        place = max(range(len(effects)), key=lambda at: abs(per_sd[at]))
        return [self._effect(effects[place]), Cell(show(self.outputs[place], NAME), None)]

    def _effect(self, value: float) -> Cell:
        if not self.words.ratio:
            return number(value, "+.3f")
        return Cell(ratio_text(value), value)  # in the order of their logarithms


def _label(label: Any) -> Cell:
    return Cell(show(str(label), NAME), None, "")


def _instead_cells(row: SubstitutesFound | None) -> list[Cell]:
    """Return what a feature is worth, and what could take its place; none of a forced one."""
    if row is None:
        return [Cell("-", None), Cell("-", None, "name"), Cell("-", None), Cell("-", None)]
    first = row.names[:1]
    sure = "" if row.proven else " or more"
    return [
        Cell(cost(row.without), row.without),
        Cell(show(first[0], NAME) if first else "none", None, "name"),
        Cell(cost(row.costs[0]), row.costs[0]) if first else Cell("-", None),
        Cell(f"{row.n_exchangeable:,}{sure}", row.n_exchangeable),
    ]


def _substitute_name(row: SubstitutesFound, place: int) -> str:
    """Return the name of a substitute, and how many features it has where it is a group."""
    name, members = show(row.names[place], NAME), row.members[place]
    return name if members is None else f"{name} ({counted(members.n_features)})"


def what_instead(answers: Answers, chosen: ModelFound, drawn: str) -> str:
    """Return what could take the place of features or groups, and lists that are as good."""
    trust = answers.trust
    parts = [_substitutes(answers, chosen) if trust.models else paragraph(_UNBOUNDED)]
    if trust.near:
        parts.append(paragraph(f"Several {answers.unit}s replaced at once:"))
    own = answers.names(chosen)
    parts += [paragraph(near_words(near, answers.unit)) for near in trust.near or ()]
    parts.append(drawn)
    for near in trust.near or ():
        rows = []
        for row in near.features[:_NEAR]:
            inside = Cell("yes" if answers.chosen(row) in own else "no", None, "")
            part = row.n_lists / len(near.lists)
            rows.append([name_cell(row.name), share(part), inside])
        left = len(near.features) - len(rows)
        more = f"; {left:,} more are in fewer" if left else ""
        heads = [(answers.unit, ""), ("share of these sets", "n"), ("in the model", "")]
        parts.append(
            table(f"{answers.unit.title()}s of these sets{more}", heads, rows, folded=True)
        )
        lists = [
            [
                Cell(cost(one.worse_by), one.worse_by),
                Cell(some([show(name, NAME) for name in one.features], 30), None, "text"),
            ]
            for one in near.lists[:5]
        ]
        heads = [("above the best", "n"), (f"{answers.unit}s", "")]
        parts.append(table("The best of these sets", heads, lists, folded=True))
    return "".join(parts)


def _substitutes(answers: Answers, chosen: ModelFound) -> str:
    """Return the model, without each part and with each substitute, on held-out samples."""
    trust, names, unit = answers.trust, answers.names(chosen), answers.unit
    own = [row for part in trust.models[chosen.size].substitutes for row in part]
    own.sort(key=lambda row: list(names).index(row.index))
    if not own or own[0].score is None:
        return paragraph(f"The table above has the best substitute of each {unit}.")
    word = trust.compared_by or answers.words.score
    rows = []
    for row in own:
        first = name_cell(names[row.index])
        rows.append([first, Cell("nothing", None, "text"), *_compared(row, None)])
        rows += [
            [first, Cell(_substitute_name(row, place), None, "name"), *_compared(row, place)]
            for place in range(len(row.names))
        ]
    heads = [
        ("replaced", ""), ("by", ""), ("at a cost of", "n"), (f"{word}, held out", "n"),
        ("gain over the model", "n"),
    ]  # fmt: skip
    shown = table(
        f"The model with one {unit} replaced or left out, on held-out samples",
        heads, rows, folded=len(rows) > _OPEN,
    )  # fmt: skip
    held_out = (
        f"Held out: coefficients fitted without the samples that are scored; the model has "
        f"{own[0].score:.3f}. The features were selected with all samples, so these scores compare "
        "the sets, but are too good; ± one standard error over the folds."
    )
    if trust.compared_by is not None:
        held_out += f" By {word}, as no size is more accurate than a model without features."
    return paragraph(_summary(own, unit)) + shown + note(held_out) + _members(own)


def _members(rows: Sequence[SubstitutesFound]) -> str:
    """Return the first features of each group that could take the place of another, once."""
    known = {
        name: members
        for row in rows
        for name, members in zip(row.names, row.members, strict=True)
        if members is not None
    }
    if not known:
        return ""
    cells = []
    for name, members in known.items():
        first = [show(one, NAME) for one in members.first]
        more = members.n_features - len(first)
        names = ", ".join(first) + (f" and {more:,} more" if more else "")
        n = members.n_features
        cells.append([name_cell(name), Cell(f"{n:,}", n), Cell(names, None, "text")])
    heads = [("group", ""), ("features", "n"), ("which", "")]
    return table("The groups that could take a place", heads, cells, folded=True)


def _summary(rows: Sequence[SubstitutesFound], unit: str) -> str:
    """Return how many substitutes do better and worse than the model on held-out samples."""
    errors = [
        (score - row.score, 2 * error)
        for row in rows
        if row.score is not None
        for score, error in zip(row.scores, row.errors, strict=True)
    ]
    better, worse = (
        sum(sign * more > max(error, 1e-9) for more, error in errors) for sign in (1, -1)
    )
    return (
        f"One {unit} replaced at a time: of {counted(len(errors), 'substitute')}, "
        f"{better or 'none'} {'are' if better > 1 else 'is'} better than the model on held-out "
        f"samples by more than two standard errors, and {worse or 'none'} worse."
    )


def _compared(row: SubstitutesFound, place: int | None) -> list[Cell]:
    """Return the cost of a substitute, its score, and what that is more than the model's.

    place : which one; None: none.
    """
    worse, score, error = row.without, row.score_without, row.error_without
    if place is not None:
        worse, score, error = row.costs[place], row.scores[place], row.errors[place]
    if row.score is None or score is None or error is None:
        return [Cell(cost(worse), worse), number(None), number(None)]
    more = score - row.score
    return [Cell(cost(worse), worse), number(score), Cell(f"{more:+.3f} ± {error:.3f}", more)]
