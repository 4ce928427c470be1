"""The source as a tree of folders: imports go one way."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "zeronorm"
# A folder, or a file at the top, imports those before it; the rooms of `solvers` likewise.
LAYERS = (
    *("_version", "_kernels", "core", "verification", "datasets", "data", "io", "measures"),
    *("losses", "solvers", "methods", "estimators", "published", "model_selection"),
    *("inspection", "inference", "persistence", "export", "plotting", "reporting", "cli"),
)
ROOMS = ("pool", "certify", "minimax", "l0", "l1", "bilevel", "measure", "procedures")


def imported(path):
    """The modules of the package that a file imports, anywhere in it, as parts of their names."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*parts[: -node.level], *(node.module or "").split(".")]
            yield from ([part for part in (*base, alias.name) if part] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("zeronorm"), f"{path}: absolute"


def test_imports_go_one_way():
    """Whoever reads a folder needs those before it in the list, and no other."""
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).with_suffix("").parts
        if len(own) == 1 and own[0] in ("__init__", "__main__"):
            continue
        before = LAYERS[: LAYERS.index(own[0]) + 1]
        for _, other, *rest in imported(path):
            assert other in before, f"{'/'.join(own)} imports {other}"
            if own[0] == other == "solvers" and own[1] in ROOMS and rest and rest[0] in ROOMS:
                assert ROOMS.index(rest[0]) <= ROOMS.index(own[1]), f"{path} imports {rest[0]}"
            private = [part for part in rest if part.startswith("_") and part[1] != "_"]
            assert not private or own[0] == other or other == "_kernels", f"{path}: {private}"
