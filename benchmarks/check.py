"""List the results whose code has changed since they were measured.

    python benchmarks/check.py              # what is listed is for a reader to judge
    python benchmarks/check.py --strict     # exit code 1 if anything is listed

A result is listed with the files whose code is not that of its record (comments, docstrings and
layout do not count), and with the lines of the documentation that link to it. Not every change of a
file changes a figure: nearly all of the package is loaded with any part of it. A result without a
record is listed with the commit that wrote it last, and with how many sources of the package differ
since.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _sources as sources

SHOWN = 8  # changed files in a line of the list


def results(folder: Path) -> Iterator[Path]:
    """Return one file of every result: the JSON, or a report that has none."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".json" or (
            path.suffix == ".md" and not path.with_suffix(".json").exists()
        ):
            yield path


def verdict(path: Path, root: Path = sources.ROOT) -> str:
    """Return what is wrong with the record of a result; "" where it is of today's code."""
    data: dict[str, Any] = json.loads(path.read_text()) if path.suffix == ".json" else {}
    made = data.get("made", [])
    if not made:
        return f"no record; {_last_written(path, root)}"
    kept = [f"no record of what it keeps of {one['result']}" for one in made if not one["files"]]
    files = sorted({name for one in made if one["files"] for name in sources.changed(one, root)})
    if files:
        rest = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        commit = f", {made[0]['commit'][:7]}" if made[0]["commit"] else ""
        since = f"{made[0]['date']}{commit}"
        kept.insert(0, f"changed since {since}: {', '.join(files[:SHOWN])}{rest}")
    return "; ".join(kept)


def _last_written(path: Path, root: Path) -> str:
    found = sources.git("log", "-1", "--format=%h %as", "--", str(path), root=root)
    if not found:
        return "no commit of it either"
    commit, day = found.split()
    differ = sources.git("diff", "--name-only", commit, "--", "src/zeronorm", root=root) or ""
    return f"written {day}, {commit}; {len(differ.splitlines())} sources differ since"


def citations(path: Path, root: Path = sources.ROOT) -> list[str]:
    """Return the lines of the documentation that link to the report of a result, as FILE:LINE."""
    link = f"{path.parent.name}/{path.stem}.md"
    return [
        f"{page.relative_to(root)}:{number}"
        for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
        if page.exists()
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1)
        if link in line
    ]


def main(arguments: list[str] | None = None) -> int:
    """Print the list; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--strict", action="store_true", help="exit code 1 if anything is listed")
    parser.add_argument("--results", type=Path, default=sources.HERE / "results")
    options = parser.parse_args(arguments)
    found = {path: verdict(path) for path in results(options.results)}
    listed = {path: words for path, words in found.items() if words}
    for path, words in listed.items():
        print(f"{path.relative_to(options.results)}: {words}")
        if lines := citations(path):
            print(f"    linked at {', '.join(lines)}")
    print(f"{len(listed)} of {len(found)} results are not shown to be of today's code")
    return int(options.strict and bool(listed))


if __name__ == "__main__":
    sys.exit(main())
