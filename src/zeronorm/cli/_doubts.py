"""Notes about data that are as they should be, but hardly meant so."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._messages import Doubt, show, some

if TYPE_CHECKING:
    from ..files import Table
    from ._selection import Samples
    from ._target import Response

_ROUNDING = 1e-8  # by which a correlation of 1 may be less: values with four digits
_VALUES = 10  # so many different ones that follow each other are no chance
_CHANCE = 1e-3  # columns that may be the target by chance
_ROWS = 30  # of every class that a single column may be said to tell apart
_NEAR = 0.9  # the AUC of another column that comes near
_RIVALS = 50  # other columns that are looked at, those that correlate most
_MOST = 4  # A note names so many labels or columns.


def alike_labels(response: Response) -> list[str]:
    """Return a note for each set of labels that differ only in case or blanks."""
    import numpy as np

    if not response.labelled or response.y.dtype.kind != "U":
        return []
    alike: dict[str, list[str]] = {}
    for label in np.unique(response.y).tolist():
        alike.setdefault("".join(label.casefold().split()), []).append(repr(show(label, 40)))
    return [
        Doubt(
            f"the labels {some(labels, _MOST)} differ only in case or blanks, and are different "
            "classes"
        )
        for labels in alike.values()
        if len(labels) > 1
    ]


class RepeatedNames:
    """Names of samples that come block by block, kept as hashes, and whether any come again."""

    def __init__(self) -> None:
        self._hashes: list[Any] = []

    def take(self, table: Table) -> None:
        """Take the names of a block; rows of one sample that differ in their start are meant so."""
        import numpy as np

        if table.sample_names and "start" not in table.columns:
            self._hashes.append(np.fromiter(map(hash, table.sample_names), np.int64))

    def notes(self) -> list[str]:
        """Return a note where names stand on several rows, with the first two such rows."""
        import numpy as np

        if not self._hashes:
            return []
        hashes = np.concatenate(self._hashes)
        _, place, count = np.unique(hashes, return_inverse=True, return_counts=True)
        repeated = int((count > 1).sum())
        if not repeated:
            return []
        first = int((count[place] > 1).argmax())
        second = int(np.flatnonzero(place == place[first])[1])
        many = "one name of a sample stands" if repeated == 1 else f"{repeated:,} names stand"
        return [
            Doubt(
                f"{many} on several rows, as on the samples {first + 1:,} and {second + 1:,}: each "
                "row counts as a sample of its own"
            )
        ]


def targets_in_disguise(models: Sequence[Mapping[str, Any]], samples: Samples) -> list[str]:
    """Return notes about selected columns that are the target itself, or seem to be made from it.

    Of numbers and times those that are a linear or a rising or falling function of it; of classes
    those with one value in each, columns of text of which each level has one class, and those that
    alone tell them apart where no other comes near.
    """
    import numpy as np

    from ._features_out import dense_columns

    names = {row["index"]: row["name"] for model in models for row in model["features"]}
    indices = np.array(sorted(names), np.int64)
    response, X = samples.response, samples.table.X
    found: dict[str, list[str]] = {}
    separating: dict[int, Any] = {}
    texts = _determining(names.values(), samples) if response.labelled else {}
    indices = indices[[names[j] not in texts for j in indices.tolist()]]
    for j, column in zip(indices.tolist(), dense_columns(X, indices), strict=True):
        if response.task == "survival":
            what = _is_time_or_event(column, response.y, X.shape[1])
        elif response.labelled:
            what = _is_class(column, response.y, X.shape[1])
            if not what and _is_apart(column, response.y):
                separating[j] = column
        else:
            what = _is_number(column, response.y, X.shape[1])
        if what:
            found.setdefault(what, []).append(_shown(names[j]))
    notes: list[str] = [
        Doubt(
            f"{_columns(some(columns, _MOST), len(columns))} {what}; if made from it, leave out by "
            "--drop"
        )
        for what, columns in found.items()
    ]
    notes += [
        Doubt(
            f"column {_shown(column)} alone determines the target (each of its levels has one "
            "class); if made from it, leave out by --drop"
        )
        for column in dict.fromkeys(texts.values())
    ]
    if separating:
        notes += _only_separating(separating, names, X, response.y)
    return notes


def _determining(names: Iterable[str], samples: Samples) -> dict[str, str]:
    """Return the columns of text of which each level has one class, by their features in `names`.

    With enough levels any column is one: L levels can have C classes in C^L ways.
    """
    import numpy as np

    from ._features_out import dense_columns

    table = samples.table
    places = {name: j for j, name in enumerate(table.feature_names or ())}
    classes, code, counts = np.unique(samples.response.y, return_inverse=True, return_counts=True)
    known: dict[str, bool] = {}
    found = {}
    for name in names:
        coding = table.codings.get(name)
        if coding is None or coding.kind != "category":
            continue
        if coding.column not in known:
            own = np.array(sorted(places[one] for one in coding.names() if one in places))
            features = np.column_stack(list(dense_columns(table.X, own)))
            level = np.unique(features, axis=0, return_inverse=True)[1].ravel()
            n_levels = int(level.max()) + 1
            n_pairs = np.unique(np.column_stack([level, code]), axis=0).shape[0]
            ways = n_levels * float(np.log(classes.size))
            no_chance = _is_no_chance(counts, table.X.shape[1], ways)
            known[coding.column] = n_pairs == n_levels and no_chance
        if known[coding.column]:
            found[name] = coding.column
    return found


def _shown(name: str) -> str:
    return repr(show(name, 40))


def _columns(names: str, count: int) -> str:
    return f"column {names} is" if count == 1 else f"columns {names} are each"


def _only_separating(
    separating: Mapping[int, Any], names: Mapping[int, str], X: Any, y: Any
) -> list[str]:
    """Return a note where the columns that tell classes apart are far beyond all others.

    In expression data the next gene has an AUC of 0.97 or more where one of them separates classes.
    """
    import numpy as np

    from ..designs import as_design
    from ..designs._operations import center_scale, scan, top_features
    from ._features_out import dense_columns

    classes, y = np.unique(y, return_inverse=True)
    first = next(iter(separating.values()))
    order = np.argsort(np.argsort([first[y == c].min() for c in range(classes.size)]))
    code = order[y]  # of the classes as they lie along the column
    ones = np.ones(code.size)
    scores = scan(center_scale(as_design(X), ones, center=True), code - code.mean())
    scores[list(separating)] = 0.0
    others = np.sort(top_features(scores, min(_RIVALS, X.shape[1])))
    others = others[scores[others] != 0]
    known = (_auc(column, code) for column in dense_columns(X, others))
    rivals = [auc for auc in known if auc < 1]
    if not rivals or max(rivals) >= _NEAR:
        return []
    columns = [_shown(names[j]) for j in separating]
    verb = "column {} tells" if len(columns) == 1 else "columns {} each tell"
    return [
        Doubt(
            f"{verb.format(some(columns, _MOST))} the classes apart without an error, and no other "
            f"comes near (AUC 1, the next {max(rivals):.2f}); if made from the target, leave out "
            "by --drop"
        )
    ]


def _auc(column: Any, code: Any) -> float:
    """Return the AUC of a column, for several ordered classes the mean over neighbours."""
    import numpy as np
    from scipy.stats import rankdata

    found = []
    for low in range(int(code.max())):
        pair = (code == low) | (code == low + 1)
        above = code[pair] > low
        m = int(above.sum())
        ranks = rankdata(column[pair])[above].sum() - m * (m + 1) / 2
        auc = ranks / (m * (above.size - m))
        found.append(max(auc, 1 - auc))
    return float(np.mean(found))


def _is_apart(column: Any, y: Any) -> bool:
    """Return whether the values of each class, of enough rows, lie in an interval of their own."""
    import numpy as np

    classes, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < _ROWS:
        return False
    spans = sorted((column[code == c].min(), column[code == c].max()) for c in range(classes.size))
    return all(high < low for (_, high), (low, _) in itertools.pairwise(spans))


def _is_class(column: Any, y: Any, n_features: int) -> str:
    """Return what a column is that has one value in every class; "" for others."""
    import numpy as np

    classes, code, counts = np.unique(y, return_inverse=True, return_counts=True)
    first = np.empty(classes.size)
    first[code] = column
    itself = bool((column == first[code]).all()) and np.unique(first).size == classes.size
    if not itself or not _is_no_chance(counts, n_features):
        return ""
    sure = "one value in each class" if classes.size > 2 else "correlation 1"
    return f"the target itself ({sure})"


def _is_time_or_event(column: Any, y: Any, n_features: int) -> str:
    """Return what a column is that says the time, or who had the event; "" for others."""
    event = y["event"]
    if event.any() and not event.all() and _is_class(column, event, n_features):
        return "the event itself (one value where it was observed, one where not)"
    return _is_number(column, y["time"], n_features).replace("target", "time")


def _is_number(column: Any, y: Any, n_features: int) -> str:
    """Return what a column is that is a function of any of the responses; "" for others."""
    import numpy as np

    a = column - column.mean()
    values = np.unique(column).size
    for one in [y] if y.ndim == 1 else y.T:
        b = one - one.mean()
        norm = float(np.sqrt((a @ a) * (b @ b)))
        counts = np.unique(one, return_counts=True)[1]
        if not norm or not _is_no_chance(counts, n_features):
            continue
        if abs(float(a @ b)) >= (1 - _ROUNDING) * norm:
            return "the target itself (correlation 1)"
        if min(values, counts.size) >= _VALUES and (_follows(column, one) or _follows(one, column)):
            return "the target itself on another scale (same order of the rows)"
    return ""


def _is_no_chance(counts: Any, n_features: int, ways: float = 0.0) -> bool:
    """Return whether hardly any column would be the target, were its values in random order.

    counts : how often each of its values occurs. ways : the log of how many orders are the target.
    """
    import numpy as np
    from scipy.special import gammaln

    arrangements = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    return bool(arrangements - ways > np.log(2 * n_features / _CHANCE))


def _follows(a: Any, b: Any) -> bool:
    """Return whether b is a rising or a falling function of a."""
    import numpy as np

    order = np.argsort(a, kind="stable")
    steps, same = np.diff(b[order]), np.diff(a[order]) == 0
    return not steps[same].any() and bool((steps >= 0).all() or (steps <= 0).all())
