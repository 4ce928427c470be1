"""The tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

FILES = sorted(Path(__file__).parent.glob("test_*.py"))


def test_every_test_says_what_would_be_broken():
    """A test that fails would not say why anybody should care."""
    without = [
        f"{path.name}: {node.name}"
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]
    assert not without
