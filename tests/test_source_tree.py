"""The source as a tree of files: which imports which."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "zeronorm"
# A room of solvers may import from those before it, and from what all share.
ROOMS = ("pool", "certify", "minimax", "l0", "l1", "bilevel", "measure", "procedures")


def imported(path):
    """The modules of the package that a file imports, anywhere in it, as dotted names."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = parts[: -node.level] if node.level else ()
            yield from (
                ".".join([*base, *(node.module or "").split("."), a.name]) for a in node.names
            )
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_rooms_of_solvers_are_in_order():
    """A circle of families would have to be understood, and changed, as one."""
    for path in (PACKAGE / "solvers").rglob("*.py"):
        room = path.parent.name
        allowed = ROOMS[: ROOMS.index(room) + 1] if room in ROOMS else ()
        if path == PACKAGE / "solvers" / "__init__.py":
            continue  # it names the public ones of all rooms
        for module in imported(path):
            inside = re.match(r"zeronorm\.solvers\.(\w+)", module)
            if inside and inside[1] in ROOMS:
                assert inside[1] in allowed, f"{path.relative_to(PACKAGE)} imports {module}"


def test_nothing_below_the_estimators_imports_them():
    """Solvers, designs and kernels would not stand by themselves."""
    for folder in ("solvers", "designs", "_kernels", "measures", "validate", "verification"):
        for path in (PACKAGE / folder).rglob("*.py"):
            for module in imported(path):
                assert not module.startswith("zeronorm.estimators"), path
                assert folder in {"solvers"} or not module.startswith("zeronorm.solvers"), path
