"""What made a result: the commit, and hashes of the code it ran, without comments and docstrings.

A result is of today where the hashes of its record are those of the tree (`check.py`). A record
names the script, the modules of this folder that were loaded or ran as peers, and the package but
for the parts that this script does not load: importing one estimator loads nearly all of it anyway.

Only the standard library is imported, because the peers' environments use `_common.py` too.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
UNUSED = {"cli", "persistence"}  # parts of the package that no script loads
SELDOM = {"files"}  # parts that few scripts load
NO_FIGURES = {"_sources.py", "check.py"}  # files of this folder that change no figure
START = time.time()

Record = dict[str, Any]

# A string or a character is kept as it is; a comment goes.
_CPP = re.compile(
    r""""(?:\\.|[^"\\\n])*"|'(?:\\[^'\n]*|[^'\\\n])'|//[^\n]*|/\*.*?\*/|\s+""", re.DOTALL
)


def digest(path: Path) -> str:
    """Return a hash of the code in a file, the same for any comments, docstrings and layout."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        code = repr(_plain(ast.parse(text)))
    elif path.suffix in {".cpp", ".hpp"}:
        code = _CPP.sub(lambda found: found[0] if found[0][0] in "\"'" else "", text)
    else:  # CMakeLists.txt
        code = "".join(re.sub(r"#[^\n]*", "", text).split())
    return hashlib.sha256(code.encode()).hexdigest()[:12]


def _plain(node: Any) -> Any:
    """Return a syntax tree as lists; fields that are empty go, as Pythons differ in them."""
    if isinstance(node, list):
        return [_plain(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = fields["body"][1:]
    full = {name: value for name, value in fields.items() if value is not None and value != []}
    return [type(node).__name__, *((name, _plain(value)) for name, value in full.items())]


def git(*arguments: str, root: Path = ROOT) -> str | None:
    """Return what git prints; None without git or outside of a repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")


COMMIT = git("rev-parse", "HEAD")  # when the run began


@cache
def _package() -> dict[str, Path]:
    """Return the sources of the package: its modules where they are installed, and the native."""
    spec = importlib.util.find_spec("zeronorm")
    tree = ROOT / "src" / "zeronorm"
    folder = Path(spec.origin).parent if spec and spec.origin else tree
    found = {
        f"src/zeronorm/{path.relative_to(folder).as_posix()}": path
        for path in folder.rglob("*.py")
        if _is_used(path.relative_to(folder).parts[0])
    }
    native = [ROOT / "CMakeLists.txt", *tree.glob("_kernels/*.[ch]pp")]
    return found | {path.relative_to(ROOT).as_posix(): path for path in native}


def _is_used(part: str) -> bool:
    """Return whether figures may depend on a part of the package."""
    return part not in UNUSED and (part not in SELDOM or f"zeronorm.{part}" in sys.modules)


def _scripts(also: Iterable[Path]) -> dict[str, Path]:
    """Return the files of this folder that are loaded, and others that ran."""
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    paths = {Path(file).resolve() for file in loaded if file} | {path.resolve() for path in also}
    return {
        path.relative_to(ROOT).as_posix(): path
        for path in paths
        if path.is_relative_to(HERE) and path.suffix == ".py" and path.name not in NO_FIGURES
    }


def record(also: Iterable[Path] = (), package: bool = True) -> Record:
    """Return what made the results that this process is about to write.

    also : scripts that ran in other processes.
    package : whether the figures depend on the code of zeronorm, not only on the scripts'.
    """
    files = _scripts(also) | (_package() if package else {})
    names = sorted(files)
    state = git("status", "--porcelain", "--", *names)
    main = Path(sys.argv[0]).resolve()
    return {
        "script": main.relative_to(ROOT).as_posix() if main.is_relative_to(ROOT) else main.name,
        "date": date.today().isoformat(),
        "load_at_end": round(os.getloadavg()[0], 2),
        "commit": COMMIT,
        "uncommitted": None if state is None else [line[3:] for line in state.splitlines()],
        # What was read may be older than what is hashed here.
        "edited_meanwhile": [name for name in names if files[name].stat().st_mtime > START],
        "files": {name: _digest_once(files[name]) for name in names},
    }


def unknown(name: str) -> Record:
    """Return what stands for the record of a result that has none."""
    return {"result": name, "files": None, "edited_meanwhile": []}


def merged(records: Iterable[Record]) -> list[Record]:
    """Return the records without those that say the same of the code as one before."""
    result: list[Record] = []
    for one in records:
        if all(_code(one) != _code(other) for other in result):
            result.append(one)
    return result


def _code(one: Record) -> tuple[Any, Any]:
    return one["files"] or one["result"], one["edited_meanwhile"]


def changed(one: Mapping[str, Any], root: Path = ROOT) -> list[str]:
    """Return the files of a record whose code is not what it was, each with what happened."""
    result = [f"{name} (edited during the run)" for name in one["edited_meanwhile"]]
    for name, then in one["files"].items():
        now = _digest_once(root / name)
        if now != then and name not in one["edited_meanwhile"]:
            result.append(name if now else f"{name} (gone)")
    return result


@cache
def _digest_once(path: Path) -> str:
    return digest(path) if path.exists() else ""


def short(records: Sequence[Mapping[str, Any]]) -> str:
    """Return what a report says of how it was made: the commit, and what to be wary of."""
    now = records[0]
    text = f"Commit {now['commit'][:7]}" if now["commit"] else "No commit"
    if now["uncommitted"]:
        text += " with uncommitted changes"
    text += ", parts of earlier runs." if len(records) > 1 else "."
    if now["load_at_end"] > 1.5 * (os.cpu_count() or 1):
        text += f" Load at the end {now['load_at_end']}: other work ran too, seconds are too long."
    return text
