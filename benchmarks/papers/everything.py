"""Run every script of this folder, and write the page of claims.

    make papers                          # the small sizes, two scripts at a time
    make papers-full                     # the papers' sizes, one by one, for a night or two
    python benchmarks/papers/everything.py --only newglmnet,asalm
    python benchmarks/papers/everything.py --committed --again   # over the committed results

Results go to benchmarks/.cache/papers (papers-full), which git ignores, unless --results or
--committed says otherwise. What is finished there, by the same code and options, is not run again,
so that a run that was ended goes on with the same command; scripts with --keep go on within.
Results that other code or other options made are left alone, and the run ends with a line that
names them, unless --again is given.

The small sizes are those of the committed results with fewer draws, or looks (--tiny) that say
little of the claims; the full ones are those of the papers, and of the committed results where
these have them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _mslr import common, pick

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Step:
    """A script, its options, and about how many minutes of two slow cores it takes."""

    name: str
    small: str
    minutes: float
    full: str
    full_minutes: float
    data: bool = True
    keeps: bool = False


STEPS = (
    Step("mslr_scale", "--seeds 1 --limit 30", 2, "--full", 40, data=False, keeps=True),
    Step("mslr_synthetic", "--seeds 1 --limit 30", 3, "--full --limit 300", 150, data=False,
         keeps=True),
    Step("mslr_convergence", "", 1, "--full", 60),
    Step("mslr_bisection", "", 0.1, "", 0.1, data=False),
    Step("mslr_rates", "--seeds 1", 2, "--full", 40),
    Step("mslr_real", "--seeds 1 --limit 10", 12, "--full", 240, keeps=True),
    Step("mslr_sensitivity", "--seeds 1", 2, "--full", 30, keeps=True),
    Step("mslr_tables", "--seeds 4", 6, "--full", 60, keeps=True),
    Step("asalm", "--seeds 1", 3, "--seeds 10", 20, data=False),
    Step("newglmnet", "", 8, "--full", 60, keeps=True),
    Step("measures_text", "--classes 3", 1, "", 60, keeps=True),
    Step("measures_text_sizes", "--tiny", 0.2, "", 60, keeps=True),
    Step("measures_binary", "", 7, "", 30),
    Step("measures_sensitivity", "", 2, "--full", 60, keeps=True),
    Step("measures_images", "--tiny", 0.2, "", 60, keeps=True),
    Step("measures_theorem", "--tiny", 0.2, "", 5),
    Step("bilevel_isometry", "--seeds 2", 1, "--seeds 50", 15, data=False),
    Step("bilevel_projection", "--tiny", 0.2, "", 30, data=False),
    Step("bilevel_convergence", "--tiny", 0.2, "", 40, data=False),
    Step("bilevel_simulation", "--seeds 1", 4, "", 40, data=False),
    Step("bilevel_housing", "--seeds 1", 2, "", 30),
)  # fmt: skip


def asked(step: Step, size: str) -> list[str]:
    """Return the options of a script that decide what it measures."""
    return {"small": step.small, "full": step.full, "tiny": "--tiny"}[size].split()


def state(step: Step, size: str, known: dict[str, Any], folder: Path, code: str) -> str:
    """Return "done", "new", "goes on", or "other": made by other code or options."""
    entry = known.get(step.name)
    if entry is None:
        return "other" if (folder / f"{step.name}.json").exists() else "new"
    if (entry["options"], entry["code"]) != (asked(step, size), code):
        return "other"
    return "goes on" if entry["seconds"] is None else "done"


def call(step: Step, size: str, folder: Path, data: Path | None, *, goes_on: bool) -> int:
    """Run a script; return its exit code."""
    command = [sys.executable, str(HERE / f"{step.name}.py"), *asked(step, size)]
    command += ["--results", str(folder)]
    command += ["--data", str(data)] if step.data and data is not None else []
    command += ["--keep"] if step.keeps and goes_on else []
    return subprocess.run(command, check=False).returncode


def minutes(step: Step, size: str) -> float:
    """Return about how long a script takes."""
    return {"small": step.minutes, "full": step.full_minutes, "tiny": 0.2}[size]


def main() -> int:
    """Run what is not done yet; return 0, 1 where a script failed, 130 where it was ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--full", action="store_true", help="the sizes of the papers")
    how.add_argument("--tiny", action="store_true", help="minutes: do the scripts run")
    parser.add_argument("--data", default=None, help="folder of the data sets")
    parser.add_argument("--only", default=None, help="names of scripts, with commas")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--results", type=Path, default=None, help="folder of the results")
    where.add_argument("--committed", action="store_true", help="write to results/papers")
    parser.add_argument(
        "--again", action="store_true", help="measure anew what other code or options made"
    )
    parser.add_argument(
        "--at-once", type=int, default=1, help="scripts side by side, each with one thread"
    )
    options = parser.parse_args()
    if options.at_once < 1:
        parser.error(f"--at-once must be at least 1; got {options.at_once}")
    size = "full" if options.full else "tiny" if options.tiny else "small"
    names = [step.name for step in STEPS]
    wanted = names if options.only is None else pick("--only", options.only, names)
    steps = [step for step in STEPS if step.name in wanted]
    own = common.cache_folder() / ("papers" if size == "small" else f"papers-{size}")
    folder = common.RESULTS / "papers" if options.committed else options.results or own
    folder = folder.resolve()
    common.check_folder(folder)
    data = common.data_folder(options.data) if any(step.data for step in steps) else None
    journal = common.cache_folder() / "papers.json"
    journals = common.read_json(journal) if journal.exists() else {}
    known = journals.setdefault(str(folder), {})
    code = common.code_digest()
    states = {step.name: state(step, size, known, folder, code) for step in steps}
    others = [name for name, one in states.items() if one == "other"]
    if others and not options.again:
        sys.exit(f"{folder} has results of other code or options: {', '.join(others)}. Give "
                 "--again to measure them anew, or another --results.")  # fmt: skip
    left = [step for step in steps if states[step.name] != "done"]
    total = sum(minutes(step, size) for step in left) / options.at_once
    print(f"{len(left)} of {len(steps)} scripts to run, about {total:.0f} minutes, into {folder}",
          file=sys.stderr)  # fmt: skip

    turn, ended = threading.Lock(), threading.Event()

    def keep(step: Step, seconds: float | None) -> None:
        entry = {"options": asked(step, size), "code": code, "seconds": seconds}
        with turn:
            known[step.name] = entry
            common.replace_text(journal, json.dumps(journals, indent=1))

    def run(step: Step) -> bool:
        """Run a script; return whether it failed."""
        if ended.is_set():
            return False
        print(f"{step.name}: about {minutes(step, size):g} minutes", file=sys.stderr)
        keep(step, None)
        begin = time.time()
        try:
            exit_code = call(step, size, folder, data, goes_on=states[step.name] == "goes on")
        except KeyboardInterrupt:
            ended.set()
            raise
        if exit_code == 0:
            keep(step, round(time.time() - begin, 1))
            print(f"{step.name}: {(time.time() - begin) / 60:.1f} minutes", file=sys.stderr)
        elif not ended.is_set():
            print(f"{step.name} failed with exit code {exit_code}", file=sys.stderr)
        return exit_code != 0

    if options.at_once > 1:  # the longest first, so that none of them is alone at the end
        left.sort(key=lambda step: -minutes(step, size))
    try:
        with ThreadPoolExecutor(options.at_once) as pool:
            running = [pool.submit(run, step) for step in left]
            try:
                failed = [
                    step.name for step, one in zip(left, running, strict=True) if one.result()
                ]
            except KeyboardInterrupt:
                ended.set()
                raise
    except KeyboardInterrupt:
        print(f"ended; what is done is in {folder}, and the same command goes on.",
              file=sys.stderr)  # fmt: skip
        return 130
    for report in ("mslr_report", "claims"):
        subprocess.run([sys.executable, str(HERE / f"{report}.py"), "--results", str(folder)],
                       check=False)  # fmt: skip
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
