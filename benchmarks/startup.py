"""How long the command and the package take to start.

    python benchmarks/startup.py [--turns N]

Every line is a process of its own, in turn with the others, after one that is not counted and that
writes what Python compiles of the modules: medians of wall seconds and of seconds of CPU, which a
busy machine changes less. `select golub` is of `examples/data/golub.npz`, whose fit and five folds
take a part of a second. "Beyond others" is the import where all modules of NumPy,
SciPy and scikit-learn that it needs are there already.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

import _common as common

USE = "from zeronorm import BudgetClassifier"
SELECT = ["-m", "zeronorm", "select", str(common.GOLUB), "-k", "5", "--quiet", "--no-save"]
PROCESSES = {
    "python, nothing": ["-c", "pass"],
    "`zeronorm --help`": ["-m", "zeronorm", "--help"],
    "`zeronorm select --help`": ["-m", "zeronorm", "select", "--help"],
    "`zeronorm select golub -k 5`": SELECT,
    "`zeronorm select golub -k 5 --no-cv --no-calibrate`": [*SELECT, "--no-cv", "--no-calibrate"],
    "`import zeronorm`": ["-c", "import zeronorm"],
    f"`{USE}`": ["-c", USE],
    "`import numpy`": ["-c", "import numpy"],
    "`import sklearn.base`": ["-c", "import sklearn.base"],
}
HELP, ASKED = "`zeronorm --help`", 0.3
# Says how long the import takes after the modules of others, by wall and by CPU.
_BEYOND = f"""
import importlib, sys, time
for name in sys.argv[1].split(","):
    importlib.import_module(name)
wall, cpu = time.perf_counter(), time.process_time()
{USE}
print(time.perf_counter() - wall, time.process_time() - cpu)
"""
_MODULES = f"""
import sys
{USE}
print(",".join(n for n in sys.modules if n.split(".")[0] in ("numpy", "scipy", "sklearn")))
"""


def run(arguments: list[str], environment: Mapping[str, str]) -> tuple[float, float, str]:
    """Return the seconds of a process, wall and CPU, and what it printed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, check=True, capture_output=True, text=True
    )
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, done.stdout


def measure(turns: int) -> list[dict[str, Any]]:
    """Return the seconds of every process and of the import beyond others, in all turns."""
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in PROCESSES}
    beyond = f"`{USE}`, beyond others"
    seconds[beyond] = []
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        modules = run(["-c", _MODULES], environment)[2].strip()
        for turn in range(turns + 1):
            for name, arguments in PROCESSES.items():
                wall, cpu, _ = run(arguments, environment)
                seconds[name].append((wall, cpu))
            wall, cpu = map(float, run(["-c", _BEYOND, modules], environment)[2].split())
            seconds[beyond].append((wall, cpu))
            print(f"turn {turn} of {turns}", file=sys.stderr)
    return [
        {"what": name, "wall": [w for w, _ in found[1:]], "cpu": [c for _, c in found[1:]]}
        for name, found in seconds.items()
    ]


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--turns", type=int, default=10)
    options = parser.parse_args()
    about = common.machine()
    records = measure(options.turns)
    middle = {
        row["what"]: (common.median(row["wall"]), common.median(row["cpu"])) for row in records
    }
    taken = middle[HELP][0]
    bars = [common.bar(HELP, f"under {ASKED} s", f"{taken:.2f} s", taken < ASKED)]
    text = [
        "# Start-up",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.bars_table(bars),
        common.table(
            ["process", "wall s", "CPU s"],
            [[name, f"{wall:.2f}", f"{cpu:.2f}"] for name, (wall, cpu) in middle.items()],
        ),
        f"Medians of {options.turns}.",
    ]
    data = {"machine": about, "bars": bars, "records": records}
    common.write(options.results, "startup", data, "\n\n".join(text))


if __name__ == "__main__":
    main()
