"""What a page says that could take the place of the features of the model, one or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.messages import counted, show, some
from .answers import Answers, near_words
from .cells import NAME, Cell, cost, name_cell, number, share
from .elements import note, paragraph, table
from .found import substitute_name

_NEAR = 20  # features of the near-optimal lists that are shown
_OPEN = 12  # rows that the table of substitutes has and stays open


def what_instead(
    answers: Answers, trust: Mapping[str, Any], chosen: Mapping[str, Any], drawn: str
) -> str:
    """Return what could take the place of features or groups, and lists that are as good."""
    parts = [
        _substitutes(answers, trust, chosen)
        if trust["models"]
        else paragraph("Not known: no bounds are known for this kind of selection.")
    ]
    if trust["near"]:
        parts.append(paragraph(f"Where several {answers.unit}s may change at once:"))
    own = answers.names(chosen)
    parts += [paragraph(near_words(near)) for near in trust["near"] or ()]
    parts.append(drawn)
    for near in trust["near"] or ():
        rows = []
        for row in near["features"][:_NEAR]:
            inside = Cell("yes" if answers.chosen(row) in own else "no", None, "")
            part = row["n_lists"] / len(near["lists"])
            rows.append([name_cell(row["name"]), share(part), inside])
        left = len(near["features"]) - len(rows)
        more = f"; {left:,} more are in fewer" if left else ""
        heads = [(answers.unit, ""), ("in so many of these lists", "n"), ("in the model", "")]
        parts.append(
            table(f"{answers.unit.title()}s of these lists{more}", heads, rows, folded=True)
        )
        lists = [
            [Cell(cost(one["worse_by"]), one["worse_by"]), _list_cell(one["features"])]
            for one in near["lists"][:5]
        ]
        heads = [("above the best", "n"), (f"{answers.unit}s", "")]
        parts.append(table("The best of these lists", heads, lists, folded=True))
    return "".join(parts)


def _list_cell(names: Sequence[str]) -> Cell:
    return Cell(some([show(name, NAME) for name in names], 30), None, "text")


def _substitutes(answers: Answers, trust: Mapping[str, Any], chosen: Mapping[str, Any]) -> str:
    """Return the model, without each part and with each substitute, on held-out samples."""
    names, unit = answers.names(chosen), answers.unit
    own = [row for part in trust["models"][chosen["size"]]["substitutes"] for row in part]
    own.sort(key=lambda row: list(names).index(row["index"]))
    if not own or own[0]["score"] is None:
        return paragraph(
            f"The table above has the best substitute of each {unit}, all others staying."
        )
    word = trust["compared_by"] or answers.words.score
    rows = []
    for row in own:
        first = name_cell(names[row["index"]])
        rows.append([first, Cell("nothing", None, "text"), *_compared(row, "without")])
        rows += [
            [first, Cell(substitute_name(row, place), None, "name"), *_compared(row, place)]
            for place in range(len(row["names"]))
        ]
    heads = [
        ("in place of", ""), ("is put", ""), ("at a cost of", "n"), (f"{word}, held out", "n"),
        ("more than the model", "n"),
    ]  # fmt: skip
    shown = table(
        f"The model with one {unit} replaced or left out, on held-out samples",
        heads, rows, folded=len(rows) > _OPEN,
    )  # fmt: skip
    held_out = (
        f"Held out: the coefficients are fitted again without the samples that are scored; that of "
        f"the model is {own[0]['score']:.3f}. The features were chosen with all samples, so that "
        "this says how the lists compare and flatters them; ± one standard error over the folds."
    )
    if trust["compared_by"] is not None:
        held_out += f" By {word}, as no size is more accurate than a model without features."
    return paragraph(_summary(own, unit)) + shown + note(held_out) + _members(own)


def _members(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the first features of each group that could take the place of another, once."""
    known = {
        name: members
        for row in rows
        for name, members in zip(row["names"], row["members"], strict=True)
        if members is not None
    }
    if not known:
        return ""
    cells = []
    for name, members in known.items():
        first = [show(one, NAME) for one in members["first"]]
        more = members["n_features"] - len(first)
        names = ", ".join(first) + (f" and {more:,} more" if more else "")
        n = members["n_features"]
        cells.append([name_cell(name), Cell(f"{n:,}", n), Cell(names, None, "text")])
    heads = [("group", ""), ("features", "n"), ("which", "")]
    return table("The groups that could take a place", heads, cells, folded=True)


def _summary(rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    """Return how many substitutes do better and worse than the model on held-out samples."""
    errors = [
        (score - row["score"], 2 * error)
        for row in rows
        for score, error in zip(row["scores"], row["errors"], strict=True)
    ]
    better, worse = (
        sum(sign * more > max(error, 1e-9) for more, error in errors) for sign in (1, -1)
    )
    return (
        f"One {unit} replaced, all others staying: of {counted(len(errors), 'substitute')} "
        f"{better or 'none'} {'do' if better > 1 else 'does'} better than the model on held-out "
        f"samples by more than two standard errors, and {worse or 'none'} so much worse."
    )


def _compared(row: Mapping[str, Any], place: int | str) -> list[Cell]:
    """Return the cost of a substitute, its score, and what that is more than the model's.

    place : which one; "without": of none.
    """
    without = place == "without"
    worse = row["without"] if without else row["costs"][place]
    score = row["score_without"] if without else row["scores"][place]
    error = row["error_without"] if without else row["errors"][place]
    more = score - row["score"]
    return [Cell(cost(worse), worse), number(score), Cell(f"{more:+.3f} ± {error:.3f}", more)]
