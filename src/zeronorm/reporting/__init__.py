"""Results as records, text and pages.

`records` has the records that `--json` prints and model files keep, and `records.schema()` their
JSON Schema; `create.report` writes a page of a fitted estimator, `zeronorm.report`.
"""

from __future__ import annotations

from . import records

__all__ = ["records"]
