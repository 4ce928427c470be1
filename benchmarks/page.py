"""What a page of `zeronorm report` takes: seconds, bytes, memory, of few genes and many variants.

    python benchmarks/page.py [--turns N] [--folder FOLDER]

The data of Golub et al., five genes of 3,051, in processes of their own; beside them what starting
takes: the imports of the command, and those of matplotlib after them. And a simulated file of
genotypes, ten of 1,000,000 variants of 500 samples (125 MB), as in `genotypes.py`. Selections are
written before; a page repeats one, with five folds, 50 pairs of half-samples and a search of a
second for a better list and for lists that are nearly as good. Half-samples that are solved
together take up to a quarter of the memory of the machine, so that the most that a page takes at
many variants is this and what the rest needs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import _common as common
from genotypes import simulate

SAMPLES, VARIANTS = 500, 1_000_000
SECONDS, BYTES = 5.0, 500_000  # asked of the page of Golub's data, and of both pages
COMMAND = "from zeronorm.cli import report, selection"
STARTS = {
    "imports of the command": COMMAND,
    "these and matplotlib": f"{COMMAND}\nimport matplotlib.pyplot",
}


def run(arguments: Sequence[str], folder: Path) -> dict[str, Any]:
    """Return the seconds and the most memory of a process, and what it printed."""
    begin, output = time.perf_counter(), folder / "output"
    with output.open("w") as file:
        process = subprocess.Popen([sys.executable, *arguments], cwd=folder, stdout=file)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(arguments)} ended with status {status}")
    return {
        "wall": time.perf_counter() - begin,
        "cpu": usage.ru_utime + usage.ru_stime,
        "resident_mb": usage.ru_maxrss / 1024,
        "output": output.read_text(),
    }


def page(data: str, k: int, turns: int, folder: Path) -> list[dict[str, Any]]:
    """Return what pages of a selection take, after one that is not counted; of 0 turns this one."""
    command = ["-m", "zeronorm"]
    select = ["select", data, "-k", str(k), "-o", "m.npz", "--quiet", "--no-cv", "--no-calibrate"]
    run([*command, *select], folder)
    found = []
    for turn in range(turns + 1):
        with common.log(f"{data}, page {turn} of {turns}"):
            one = run([*command, "report", "m.npz", data, "-o", "page.html", "--json"], folder)
        document = json.loads(one.pop("output"))
        found.append({**one, "bytes": document["n_bytes"], "seconds": document["seconds"]})
    return found[turns > 0 :]


def starts(turns: int, folder: Path) -> list[dict[str, Any]]:
    """Return the median seconds of imports, after one turn that is not counted."""
    rows = []
    for name, code in STARTS.items():
        ran = [run(["-c", code], folder) for _ in range(turns + 1)][1:]
        median = {key: common.median([one[key] for one in ran]) for key in ("wall", "cpu")}
        rows.append({"what": name, **median})
    return rows


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--turns", type=int, default=5, help="pages of Golub's data")
    parser.add_argument("--folder", type=Path, help="where the simulated file is, and stays")
    options = parser.parse_args()
    about = common.machine()
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        imports = starts(options.turns, scratch)
        golub = page(str(common.GOLUB), 5, options.turns, scratch)
        stem = (options.folder or scratch) / f"page_{SAMPLES}_{VARIANTS}"
        if not stem.with_suffix(".npz").exists():
            with common.log("simulating"):
                simulate(stem, SAMPLES, VARIANTS, 0)
        variants = page(f"{stem}.bed", 10, 0, scratch)
    rows = []
    for name, ran in (("golub, 5 of 3,051", golub), ("variants, 10 of 1,000,000", variants)):
        wall, cpu, size, memory = (
            common.median([one[key] for one in ran])
            for key in ("wall", "cpu", "bytes", "resident_mb")
        )
        parts = {
            part: common.median([one["seconds"].get(part, 0.0) for one in ran])
            for part in ("imports", "read", "cross-validation", "report")
        }
        rows.append(
            [name, f"{wall:.1f}", f"{cpu:.1f}", *(f"{one:.2f}" for one in parts.values()),
             f"{size / 1000:,.0f} kB", f"{memory:,.0f} MB"]
        )  # fmt: skip
    wall = common.median([one["wall"] for one in golub])
    largest = max(one["bytes"] for one in [*golub, *variants])
    bars = [
        common.bar("page of golub", f"under {SECONDS:g} s", f"{wall:.1f} s", wall < SECONDS),
        common.bar("size of a page", f"at most {BYTES // 1000} kB", f"{largest / 1000:,.0f} kB",
                   largest <= BYTES),
    ]  # fmt: skip
    text = [
        "# The page of a selection",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.bars_table(bars),
        common.table(
            ["data", "wall s", "CPU s", "imports", "reading", "folds", "half-samples, searches, "
             "drawing", "page", "most memory"],
            rows,
        ),
        common.table(
            ["process", "wall s", "CPU s"],
            [[one["what"], f"{one['wall']:.2f}", f"{one['cpu']:.2f}"] for one in imports],
        ),
        f"Medians of {options.turns}; of variants one run. The imports of matplotlib are a part of "
        "the last phase.",
    ]  # fmt: skip
    data = {
        "machine": about,
        "bars": bars,
        "imports": imports,
        "golub": golub,
        "variants": variants,
    }
    common.write(options.results, "page", data, "\n\n".join(text))


if __name__ == "__main__":
    main()
