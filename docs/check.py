"""Run every example of the documentation as it stands: README.md, docs/, examples/, docstrings.

    python docs/check.py [--write] [FILE ...]

In a Markdown file, blocks fenced as `python` that hold `>>>` are sessions of Python, and blocks
fenced as `console` are commands behind `$ `, each with the output that follows it. The blocks of
one file run in order, in one empty folder (with `examples` in it) and one namespace, as a reader
would type them. In the output shown, `...` stands for anything (seconds differ), and runs of white
space count as one space. A command without output shown only has to succeed; one with output is
compared and may fail: pages show the exit code with `echo "exit code $?"`. A plain call of
`zeronorm` runs in a process forked from one that has imported the package, for most commands take
less time than the imports; what needs a shell has one. Files are checked side by side, one on each
core.

A page about data that are not in the repository says so in its first line, as in
`<!-- data: tecator riboflavin -->`. It finds them in its folder as `tecator.npz` and
`riboflavin.npz`, links to `tecator/arrays.npz` and so on below `$ZERONORM_DATA`, with their folders
beside them, for other files than arrays; where one is not there, the page is skipped.

The examples in docstrings of the package are run by the same rules. Another Python file is run in
an empty folder, with warnings as errors, and has to end with exit code 0.

`--write` puts the real output where it differs: look at the difference before you keep it.
"""

from __future__ import annotations

import doctest
import importlib
import itertools
import multiprocessing
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from zeronorm import cli

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDED = re.compile(r"\A<!-- data: (.*) -->\n")
DATA = Path(os.environ.get("ZERONORM_DATA", "none")).resolve()
TIMEOUT = 300  # seconds for one command or one example script
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
IMPORTED = multiprocessing.get_context("forkserver")
IMPORTED.set_forkserver_preload(["zeronorm.model_selection.search", "zeronorm.cli"])


@dataclass(frozen=True, slots=True)
class Example:
    """One statement or command, the output shown and the one that came."""

    source: str  # with its prompts, as on the page
    shown: str
    got: str
    agrees: bool


def shell(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in bash: this Python's scripts first, a plain terminal, one output stream."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return subprocess.run(
        ["bash", "-c", command],
        env=os.environ | {"PATH": path} | TERMINAL,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def forked(arguments: list[str], folder: str, output: str) -> None:
    """Be the command `zeronorm` in a folder, in a process of its own, writing to a file."""
    os.chdir(folder)
    os.environ.update(TERMINAL)
    for number, name in enumerate((os.devnull, output, output)):
        os.dup2(os.open(name, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_APPEND), number)
    sys.argv = ["zeronorm", *arguments]
    cli.main()


def call(command: str) -> tuple[int, str]:
    """Run a command as a plain terminal would; return its exit code and what it wrote."""
    command = command.replace("\\\n", " ")
    if not command.startswith("zeronorm ") or re.search(r"[][|<>;&$*?`#~!(){}\\]", command):
        done = shell(command)
        return done.returncode, done.stdout
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
        arguments = shlex.split(command)[1:]
        process = IMPORTED.Process(target=forked, args=(arguments, os.getcwd(), output.name))
        process.start()
        process.join(TIMEOUT)
        process.kill()
        return process.exitcode if process.exitcode is not None else 1, output.read()


def run_console(block: str) -> Iterator[Example]:
    """Yield the commands of a block, after running each."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        # A command goes on after a backslash at the end of its line.
        found = re.fullmatch(r"((?:.*\\\n)*.*)\n?([\s\S]*)", part)
        assert found is not None
        command, shown = found.groups()
        code, got = call(command)
        if shown.strip():
            agrees = doctest.OutputChecker().check_output(shown, got, FLAGS)
        else:
            agrees = code == 0
        yield Example(f"$ {command}\n", shown, got, agrees)


def run_python(block: str, namespace: dict[str, Any]) -> Iterator[Example]:
    """Yield the statements of a block, after running each in the namespace."""
    for example in doctest.DocTestParser().get_examples(block):
        output = StringIO()
        with redirect_stdout(output):
            try:
                exec(compile(example.source, "<page>", "single"), namespace)
            except Exception as error:
                print("".join(traceback.format_exception_only(error)), end="")
        first, *rest = example.source.rstrip("\n").split("\n")
        source = "".join([f">>> {first}\n", *(f"... {line}".rstrip() + "\n" for line in rest)])
        got = output.getvalue()
        agrees = doctest.OutputChecker().check_output(example.want, got, FLAGS)
        yield Example(source, example.want, got, agrees)


def check_page(page: Path, write: bool) -> Iterator[str]:
    """Yield a report for each example of a Markdown file that does not give what is shown."""
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    pieces, end = [], 0
    for found in FENCE.finditer(text):
        kind, block = found.groups()
        pieces.append(text[end : found.start(2)])
        end = found.end(2)
        if kind == "python" and ">>>" not in block:
            pieces.append(block)
            continue
        line = text.count("\n", 0, found.start()) + 1
        for example in run_python(block, namespace) if kind == "python" else run_console(block):
            pieces.append(example.source + (example.shown if example.agrees else example.got))
            if not example.agrees:
                yield (
                    f"{page.relative_to(ROOT)}, block at line {line}:\n{example.source}"
                    f"shown:\n{example.shown}got:\n{example.got}"
                )
    if write:
        page.write_text("".join([*pieces, text[end:]]), encoding="utf-8")


def link_data(page: Path, folder: Path) -> list[str]:
    """Put the data that a page needs into its folder; return the names of those that lack."""
    found = NEEDED.match(page.read_text(encoding="utf-8")) if page.suffix == ".md" else None
    files = {name: DATA / name / "arrays.npz" for name in (found[1].split() if found else ())}
    for name, file in files.items():
        (folder / f"{name}.npz").symlink_to(file)
        (folder / name).symlink_to(file.parent)
    return [name for name, file in files.items() if not file.is_file()]


def check_script(script: Path) -> Iterator[str]:
    """Yield a report if an example script fails."""
    done = shell(f'"{sys.executable}" -W error "{script}"')
    if done.returncode:
        yield f"{script.relative_to(ROOT)}: exit code {done.returncode}\n{done.stdout}"


def check_docstrings(module: Path) -> Iterator[str]:
    """Yield a report if an example of the docstrings of a module fails."""
    parts = module.relative_to(ROOT / "src").with_suffix("").parts
    name, output = ".".join(parts).removesuffix(".__init__"), StringIO()
    with redirect_stdout(output):
        failed = doctest.testmod(importlib.import_module(name), optionflags=FLAGS).failed
    if failed:
        yield output.getvalue()


def check_file(file: Path, write: bool) -> tuple[str, int]:
    """Check a file in a folder of its own; return what is to be said, and the failed examples."""
    name, start = file.relative_to(ROOT), time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        (Path(scratch) / "examples").symlink_to(ROOT / "examples")
        lacking = link_data(file, Path(scratch))
        if lacking:
            return f"skipped {name}, no {', '.join(lacking)} in ZERONORM_DATA\n", 0
        if file.is_relative_to(ROOT / "src"):
            reports = list(check_docstrings(file))
        else:
            reports = list(check_script(file) if file.suffix == ".py" else check_page(file, write))
    seconds = time.perf_counter() - start
    lines = [f"{'FAILED' if reports else 'ok':8}{name} ({seconds:.1f} s)\n"]
    return "".join([*lines, *(f"\n{report}\n" for report in reports)]), len(reports)


def main(arguments: list[str]) -> int:
    """Check the files named, or all; return 1 if one fails, 2 for what is no file."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    for name in arguments:
        if name != "--write" and not Path(name).is_file():
            print(f"{name}: no such file; --help says how to call this.", file=sys.stderr)
            return 2
    write = "--write" in arguments
    files = [Path(name).resolve() for name in arguments if name != "--write"] or [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "examples").glob("*.py")),
        *(file for file in (ROOT / "src").rglob("*.py") if ">>> " in file.read_text()),
    ]
    files.sort(key=lambda file: -file.stat().st_size)  # none that takes long is the last to begin
    failed = 0
    with ProcessPoolExecutor() as pool:
        for text, n_failed in pool.map(check_file, files, itertools.repeat(write)):
            print(text, end="", flush=True)
            failed += n_failed
    print(f"{len(files)} files, {failed} examples failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
