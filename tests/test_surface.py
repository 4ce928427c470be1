"""The public surface: what is imported where, and what every estimator has after `fit`."""

from __future__ import annotations

import ast
from pathlib import Path

import zeronorm

SOURCE = Path(zeronorm.__file__).parent


def imported(path: Path) -> set[str]:
    """Return the modules that a file of the package imports, with their full names."""
    package = ("zeronorm", *path.relative_to(SOURCE).parts[:-1])
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def test_nothing_imports_the_published_algorithms() -> None:
    # A user of the main path would load them, and could not do without them.
    for path in SOURCE.rglob("*.py"):
        if path.is_relative_to(SOURCE / "published") or path == SOURCE / "__init__.py":
            continue
        assert not any(name.startswith("zeronorm.published") for name in imported(path)), path


def test_public_names() -> None:
    # A name that is not there, or one that nobody has decided to make public.
    assert len(zeronorm.__all__) <= 20
    for name in zeronorm.__all__:
        assert getattr(zeronorm, name) is not None
