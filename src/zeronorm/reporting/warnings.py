"""Notes about data that are as they should be, but hardly meant so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..core.messages import Doubt, Leaked, show, some

if TYPE_CHECKING:
    from ..io.input import Response, Samples
    from ..io.table import Dataset
    from .records import ChosenPoint, Feature, ModelFound

_MOST = 4  # labels or columns that a note names
_WAY = "if made from it, or known only after it, leave out by --drop"
NUMBERS = "if it measures nothing, say --id or --drop"


def alike_labels(response: Response) -> list[str]:
    """Return a note for each set of labels that differ only in case or blanks."""
    import numpy as np

    from ..io.texts import alike

    if not response.labelled or response.y.dtype.kind != "U":
        return []
    return [
        Doubt(f"the labels {labels} differ only in case or blanks, and are different classes")
        for labels in alike(np.unique(response.y).tolist())
    ]


def too_many_features(models: Sequence[ModelFound], n_samples: int) -> list[str]:
    """Return a note where models have more features than there are samples."""
    sizes = [model.n_features + len(model.covariates) for model in models]
    if max(sizes) <= n_samples:
        return []
    return [
        Doubt(
            f"{max(sizes):,} features are more than the {n_samples:,} samples: that many fit any "
            "target, noise as well, and only the penalty makes the coefficients unique; choose "
            "fewer features"
        )
    ]


class RepeatedNames:
    """Names of samples that come block by block, kept as hashes, and whether any come again."""

    def __init__(self) -> None:
        self._hashes: list[Any] = []

    def take(self, table: Dataset) -> None:
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


def targets_in_disguise(
    models: Sequence[ModelFound | ChosenPoint | Sequence[Feature]],
    samples: Samples,
    kept: Collection[str] = (),
) -> list[str]:
    """Return notes about selected columns that tell the target as only a part of it could.

    They are those of `estimators.leaks`, by the names of columns; beside them columns of text of
    which each level has one class.
    """
    import numpy as np

    from ..core.targets import check_survival
    from ..estimators import leaks
    from ..io.opening import as_design

    rows = [row for one in models for row in (one if isinstance(one, Sequence) else one.features)]
    names = {row.index: row.name for row in rows}
    response, table = samples.response, samples.table
    texts = _determining(names.values(), samples) if response.labelled else {}
    indices = [j for j in sorted(names) if names[j] not in texts]
    kind = "classes" if response.labelled else "numbers"
    y = response.y
    if response.task == "survival":
        kind, y = "survival", check_survival(y, len(y))
    of_all = table.feature_names
    dates = [name for name in table.codings if _is_date(name, table)]
    said = _said_columns(texts, kept, table)
    every = [str(j + table.first_index) for j in range(table.X.shape[1])] if said else []
    known = [j for j, name in enumerate((of_all or every) if said else ()) if name in said]
    found = leaks.find(
        as_design(table.X), np.array(indices, np.int64), y, kind, of_all, _target_names(samples),
        dates, known,
    )  # fmt: skip
    others = [j for one in found for j in one.features if j not in names]
    names |= {j: str(j + table.first_index) if of_all is None else of_all[j] for j in others}
    notes: list[str] = [
        Leaked(
            f"{'columns' if len(one.features) > 1 else 'column'} "
            f"{some([_shown(names[j]) for j in one.features], _MOST)} {one.words}; "
            f"{NUMBERS if one.numbers_rows else _WAY}"
        )
        for one in found
    ]
    return notes + [
        Leaked(
            f"column {_shown(column)} alone determines the target (each of its levels has one "
            f"class); {_WAY}"
        )
        for column in dict.fromkeys(texts.values())
    ]


def _said_columns(texts: Mapping[str, str], kept: Collection[str], table: Dataset) -> set[str]:
    """Return the features that are asked for by name, or of which a note says what they are."""
    names = {name for name, one in table.codings.items() if one.column in texts.values()}
    leaked = [one for one in table.notes if isinstance(one, Leaked)]
    return {*kept, *names, *(one.partition("'")[2].partition("'")[0] for one in leaked)}


def _is_date(name: str, table: Dataset) -> bool:
    """Return whether a feature is the days of a column of dates."""
    coding = table.codings.get(name)
    return coding is not None and coding.kind == "date" and coding.number == name


def _target_names(samples: Samples) -> list[str]:
    """Return what the columns are called that the target is made of."""
    table = samples.table
    own = table.target_name or ()
    names = [own] if isinstance(own, str) else [*own]
    return names + [
        table.column_names[role] for role in ("time", "event") if role in table.column_names
    ]


def _determining(names: Iterable[str], samples: Samples) -> dict[str, str]:
    """Return the columns of text of which each level has one class, by their features in `names`.

    With enough levels any column is one: L levels can have C classes in C^L ways.
    """
    import numpy as np

    from ..estimators.leaks import is_no_chance
    from ..io.opening import dense_columns

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
            no_chance = is_no_chance(counts, table.X.shape[1], ways)
            known[coding.column] = n_pairs == n_levels and no_chance
        if known[coding.column]:
            found[name] = coding.column
    return found


def _shown(name: str) -> str:
    return repr(show(name, 40))
