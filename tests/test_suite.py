"""The tests themselves."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent
TESTS = {
    f"{path.name}::{node.name}": node
    for path in sorted(FOLDER.glob("test_*.py"))
    for node in ast.parse(path.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
}


def test_every_test_says_what_would_be_broken():
    """A test that fails would not say why anybody should care."""
    assert not [name for name, node in TESTS.items() if not ast.get_docstring(node)]
