"""Run every example of the documentation as it stands: README.md, docs/ and examples/.

    python docs/check.py [FILE ...]

In a Markdown file, blocks fenced as `python` that hold `>>>` are doctests, and blocks fenced as
`console` are commands behind `$ ` with the output that follows them. The blocks of one file run in
order, in one empty folder and one namespace, as a reader would type them. In expected output,
`...` stands for anything (seconds differ), and runs of white space count as one space. A command
without output shown only has to succeed; one with output is compared and may fail (the page on bad
input shows such commands, with `echo "exit $?"`).

A Python file is run in an empty folder and has to end with exit code 0.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT = 300  # seconds for one command or one example script


def environment() -> dict[str, str]:
    """Return the environment of a command: this Python's scripts first, a plain terminal."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in bash, with its two output streams in one."""
    return subprocess.run(
        ["bash", "-c", command],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def check_console(block: str, where: str) -> Iterator[str]:
    """Yield a report for each command of a console block that does not do what is shown."""
    checker = doctest.OutputChecker()
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        # A command goes on after a backslash at the end of its line.
        command, expected = re.fullmatch(r"((?:.*\\\n)*.*)\n?([\s\S]*)", part).groups()
        done = shell(command)
        if expected.strip():
            if not checker.check_output(expected, done.stdout, FLAGS):
                yield f"{where}: $ {command}\nexpected:\n{expected}\ngot:\n{done.stdout}"
        elif done.returncode:
            yield f"{where}: $ {command}\nexit code {done.returncode}:\n{done.stdout}"


def check_page(page: Path) -> Iterator[str]:
    """Yield a report for each example of a Markdown file that fails."""
    text = page.read_text(encoding="utf-8")
    parser, namespace = doctest.DocTestParser(), {"__name__": "__main__"}
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    for found in FENCE.finditer(text):
        kind, block = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if kind == "console":
            yield from check_console(block, f"{page.relative_to(ROOT)}:{line}")
        elif ">>>" in block:
            test = parser.get_doctest(block, namespace, page.name, str(page), line)
            report = StringIO()
            if runner.run(test, out=report.write, clear_globs=False).failed:
                yield report.getvalue()
            namespace = test.globs


def check_script(script: Path) -> Iterator[str]:
    """Yield a report if an example script fails."""
    done = shell(f'"{sys.executable}" -W error "{script}"')
    if done.returncode:
        yield f"{script.relative_to(ROOT)}: exit code {done.returncode}\n{done.stdout}"


def main(names: list[str]) -> int:
    """Check the files named, or all; return 1 if one fails."""
    files = [Path(name).resolve() for name in names] or [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("*.py")),
    ]
    failed = 0
    for file in files:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
            (Path(scratch) / "examples").symlink_to(ROOT / "examples")
            check = check_script if file.suffix == ".py" else check_page
            with redirect_stdout(sys.stderr):
                reports = list(check(file))
        seconds = time.perf_counter() - start
        print(f"{'FAILED' if reports else 'ok':7}{file.relative_to(ROOT)} ({seconds:.1f} s)")
        print("".join(f"\n{report}\n" for report in reports), end="", flush=True)
        failed += len(reports)
    print(f"{len(files)} files, {failed} examples failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
