"""Tables of the samples: which of their columns name these, and what the others say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..core.text import some
from .sample_file import SampleFile

MISSING = {"", "na", "nan", "n/a", ".", "null"}
_FAMILY, _NAMES = "fid", ("iid", "id", "sample", "sample_id")


@dataclass(frozen=True, slots=True)
class SampleTable:
    """A file with a line for each sample: family and name, or the name alone, then values."""

    path: str
    keys: list[tuple[str, ...]]
    columns: dict[str, Any]  # of text
    notes: tuple[str, ...] = ()

    @classmethod
    def of_people(cls, file: SampleFile) -> SampleTable:
        """Return the columns of a file that begins with those of family and name, or the name."""
        from ..core.files import FileError, quote

        header = file.header
        low = [cell.lower() for cell in header]
        by_family = low[0] == _FAMILY and len(low) > 1 and low[1] in _NAMES
        if not by_family and low[0] not in _NAMES:
            raise FileError(
                f"{file.path}: the first line must name the columns, FID and IID or IID first; got "
                f"{quote(' '.join(header))}. Write such a line at the top."
            )
        return cls._by(file, [0, 1] if by_family else [0])

    @classmethod
    def of_names(
        cls, file: SampleFile, names: Collection[str], others: Collection[str] = ()
    ) -> SampleTable:
        """Return the columns of a file, one of which has the names of samples: most of them.

        Where none has any, the one that has most of them but for case and blanks.

        others : names of the columns of the data, for the error where it has none.
        """
        from ..core.files import FileError, quote
        from .texts import folded

        header, rows = file.header, file.rows
        for as_read in (str, folded):
            wanted = {*map(as_read, names)}
            found = [sum(as_read(one) in wanted for one in own) for own in zip(*rows, strict=True)]
            most = max(range(len(header)), key=found.__getitem__)
            if found[most]:
                break
        else:
            there, here = quote(rows[0][0]), quote(next(iter(names)))
            across = f" and their columns with {quote(next(iter(others)))}" if others else ""
            raise FileError(
                f"{file.path}: no sample of the data is in it: it begins with {there}, the rows of "
                f"the data with {here}{across}. Write the names of the samples as the data have "
                "them."
            )
        return cls._by(file, [most])

    @classmethod
    def _by(cls, file: SampleFile, own: list[int]) -> SampleTable:
        """Return a table whose samples some columns name."""
        import numpy as np

        from ..core.files import FileError, quote
        from .decimal_commas import NOTE

        path, header = file.path, file.header
        body = np.array(file.rows, str).reshape(-1, len(header))
        keys = [tuple(row) for row in body[:, own].tolist()]
        twice, count = Counter(keys).most_common(1)[0]
        if count > 1:
            lines = [str(line) for line, key in enumerate(keys, 2) if key == twice]
            raise FileError(
                f"{path}: the sample {quote(' '.join(twice))} has several lines: "
                f"{some(lines, 5)}. Leave one."
            )
        named = {name: body[:, place] for place, name in enumerate(header) if place not in own}
        pointed = {name: _with_points(column) for name, column in named.items()}
        changed = any(pointed[name] is not column for name, column in named.items())
        return cls(path, keys, pointed, (f"{path}: {NOTE}",) if changed else ())


def _with_points(column: Any) -> Any:
    """Return a column with points for the commas of its numbers; itself where it has none."""
    import numpy as np

    from .decimal_commas import with_points
    from .texts import Texts

    texts = Texts.of(column.tolist())
    found = with_points(texts.mapped(lambda text: "" if text.lower() in MISSING else text))
    return column if found is None else np.array(found.tolist())
