"""The command of scripts that measure splits of many sets, one set after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import _common as common

Row = dict[str, Any]


def run(
    parser: common.Parser,
    name: str,
    sets: Iterable[str],
    splits: int,
    measure: Callable[[Path, str, int], list[Row]],
    report: Callable[[list[Row]], str],
    prepare: Callable[[Any], None] = lambda _: None,
) -> int:
    """Read the options, measure, print, and write the results.

    sets, splits : by default. measure : gives the rows of a set, read from a folder, of so many
    splits. prepare : is told the options before.
    """
    parser.add_argument("--sets", default="", help="names, separated by commas; default: all")
    parser.add_argument("--splits", type=int, default=splits)
    parser.add_argument("--name", default=name, help="name of the result files")
    options = parser.parse_args()
    folder = common.data_folder(options.data)
    prepare(options)
    rows: list[Row] = []
    for one in options.sets.split(",") if options.sets else sets:
        with common.log(one):
            rows += measure(folder, one, options.splits)
    text = report(rows)
    print(text)
    common.write(options.results, options.name, {"machine": common.machine(), "rows": rows}, text)
    return 0
