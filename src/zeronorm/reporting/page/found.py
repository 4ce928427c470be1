"""What a page says was found: tables of the features of a model, and of its groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.effects import ratio_text
from ...core.messages import counted, show, some
from ..text.outputs import outputs_legend
from .answers import Answers, members_of
from .cells import NAME, Cell, cost, name_cell, number, share, text_cell
from .elements import note, table

MOST_ROWS = 500  # features, or groups, of a model in a table, at most
_MOST_OUTPUTS = 8  # that have a column each
_MEMBERS = 8  # features of a group that its row names
_OPEN = 12  # features of groups that have a table that is open


def what_was_found(answers: Answers, chosen: Mapping[str, Any]) -> str:
    """Return the table of the features of a model; of whole groups after that of the groups."""
    found = Found(answers)
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
        folded=answers.of_groups and len(chosen["features"]) > _OPEN,
    )  # fmt: skip
    return filters + shown + note(" ".join(_said(answers, chosen))) + _covariates(chosen)


def _said(answers: Answers, chosen: Mapping[str, Any]) -> list[str]:
    """Return what the columns of the table of features mean."""
    words, document = answers.words, answers.document
    said = [f"{_legend(answers)}."]
    if words.sign:
        said.append(f"{words.sign[0].upper()}{words.sign[1:]}.")
    elif len(document["classes"]) == 2:
        said.append(f"Positive speaks for {show(str(chosen['features'][0]['class']), 30)}.")
    if not answers.of_groups:
        said += _said_of_substitutes(answers)
    if len(chosen["features"]) > MOST_ROWS:
        said.append(f"The {MOST_ROWS} of the largest effects; the model file has all.")
    return said


def _legend(answers: Answers) -> str:
    words = answers.words
    text = words.legend
    if answers.outputs:
        text = outputs_legend(words, bool(answers.document["classes"]))
    return text[0].upper() + text[1:]


def _said_of_groups(answers: Answers, chosen: Mapping[str, Any]) -> list[str]:
    said = [
        "Moves the scores by: the standard deviation over the samples of what the features of the "
        f"group add to the score{', of the output where it is largest' if answers.outputs else ''}."
    ]
    said += _said_of_substitutes(answers)
    if len(answers.names(chosen)) > MOST_ROWS:
        said.append(f"The first {MOST_ROWS} groups; the model file has all.")
    return said


def _said_of_substitutes(answers: Answers) -> list[str]:
    if not answers.trust["models"]:
        return []
    return [
        f"Without it: by how much the objective of the selection grows where the {answers.unit} is "
        f"left out; best instead: the {answers.unit} that takes its place at the least cost, all "
        "others staying (below 0 the list gets better)."
    ]


def _covariates(chosen: Mapping[str, Any]) -> str:
    if not chosen["covariates"]:
        return ""
    names = [show(row["name"], NAME) for row in chosen["covariates"]]
    return note(f"In every model, uncounted and without a penalty: {some(names, 20)}.")


class Found:
    """The heads and rows of the tables of what the models have."""

    def __init__(self, answers: Answers) -> None:
        self.answers, self.words, self.trust = answers, answers.words, answers.trust
        self.outputs = answers.outputs
        self.described = any(row["description"] for row in answers.all_rows())
        self.grouped = any(row["group"] is not None for row in answers.all_rows())

    def tables(self, model: Mapping[str, Any]) -> dict[str, list[list[Cell]]]:
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
        if self.trust["models"]:
            heads += [("without it", "n"), ("best instead", ""), ("at a cost of", "n")]
            heads.append(("others within 1%", "n"))
        return heads

    def _columns(self) -> list[str]:
        return self.outputs if len(self.outputs) <= _MOST_OUTPUTS else ["largest", "of"]

    def rows(self, model: Mapping[str, Any]) -> list[list[Cell]]:
        """Return the rows of the table of features."""
        instead = self._substitutes(model)
        rows = []
        for row in model["features"][:MOST_ROWS]:
            cells = [Cell(str(row["rank"]), row["rank"]), name_cell(row["name"])]
            if self.grouped:
                cells.append(_label(row["group"]))
            if self.answers.by_class:
                cells.append(_label(row["class"]))
            if self.described:
                cells.append(text_cell(row["description"] or ""))
            cells += self._effects(row)
            if not self.answers.of_groups:
                cells += self._trust(row, instead)
            rows.append(cells)
        return rows

    def rows_of_groups(self, model: Mapping[str, Any]) -> list[list[Cell]]:
        """Return the rows of the table of groups, of each class those first that move most."""
        instead, moves = self._substitutes(model), self._moves(model)
        first = {(row["class"], row["group"]): row for row in reversed(model["features"])}
        rows: list[list[Cell]] = []
        for (label, group), moved in moves.items():
            row = first[label, group]
            own = [one for one in members_of(model, group) if one["class"] == label]
            cells = [Cell(str(len(rows) + 1), len(rows) + 1), name_cell(group)]
            if self.answers.by_class:
                cells.append(_label(label))
            cells += [Cell(f"{len(own):,}", len(own)), number(moved)]
            cells += self._trust(row, instead)
            names = [show(one["name"], NAME) for one in own]
            rows.append([*cells, Cell(some(names, _MEMBERS), None, "text")])
        return rows[:MOST_ROWS]

    def _moves(self, model: Mapping[str, Any]) -> dict[tuple[Any, str], float]:
        """Return by how much the groups of each class move the scores, the largest first."""
        labels = dict.fromkeys(row["class"] for row in model["features"])
        found = {}
        for label, moves in zip(labels, self.trust["moves"][model["size"]], strict=True):
            for group in sorted(moves, key=lambda name: -moves[name]):
                found[label, group] = moves[group]
        return found

    def _substitutes(self, model: Mapping[str, Any]) -> dict[tuple[Any, Any], Mapping[str, Any]]:
        """Return what could take the place of what the model has, by class and by what it is."""
        own = self.trust["models"].get(model["size"])
        labels = list(dict.fromkeys(row["class"] for row in model["features"]))
        parts = [] if own is None else own["substitutes"]
        return {
            (label, row["index"]): row
            for label, part in zip(labels, parts, strict=False)
            for row in part
        }

    def _trust(
        self, row: Mapping[str, Any], instead: Mapping[tuple[Any, Any], Mapping[str, Any]]
    ) -> list[Cell]:
        """Return how sure a feature, or its group, is, and what could take its place."""
        cells = []
        if self.answers.frequencies:
            known = self.answers.frequency(row)
            cells.append(number(None) if known is None else share(known))
        if self.trust["models"]:
            cells += _instead_cells(instead.get((row["class"], self.answers.key(row))))
        return cells

    def _effects(self, row: Mapping[str, Any]) -> list[Cell]:
        plain, per_sd = row["coefficient"], row["coefficient_per_sd"]
        if not self.outputs:
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


def substitute_name(row: Mapping[str, Any], place: int) -> str:
    """Return the name of a substitute, and how many features it has where it is a group."""
    name, members = show(row["names"][place], NAME), row["members"][place]
    return name if members is None else f"{name} ({counted(members['n_features'])})"
