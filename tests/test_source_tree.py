"""The source as a tree of folders: imports go one way."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "zeronorm"
MODULES = list(PACKAGE.rglob("*.py"))
# A folder, or a file at the top, imports those before it.
LAYERS = (
    *("_version", "_kernels", "core", "verification", "datasets", "data", "io", "measures"),
    *("losses", "solvers", "methods", "estimators", "published", "model_selection"),
    *("inspection", "inference", "persistence", "export", "plotting", "reporting", "cli"),
)


def names_types(condition):
    """Whether a condition is TYPE_CHECKING."""
    return isinstance(condition, ast.Name) and condition.id == "TYPE_CHECKING"


def imported(path):
    """The modules of the package that a file imports, anywhere in it, as parts of their names."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    tree = ast.parse(path.read_text())
    types = [one for one in ast.walk(tree) if isinstance(one, ast.If) and names_types(one.test)]
    of_types = {inner for one in types for inner in ast.walk(one)}
    for node in ast.walk(tree):
        if node in of_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*parts[: -node.level], *(node.module or "").split(".")]
            yield from ([part for part in (*base, alias.name) if part] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not (node.module or "").startswith("zeronorm"), f"{path}: absolute"


def test_imports_go_one_way():
    """Whoever reads a folder needs those before it in the list, and no other."""
    for path in MODULES:
        own = path.relative_to(PACKAGE).with_suffix("").parts
        if len(own) == 1 and own[0] in ("__init__", "__main__"):
            continue
        before = LAYERS[: LAYERS.index(own[0]) + 1]
        for _, other, *rest in imported(path):
            assert other in before, f"{'/'.join(own)} imports {other}"
            private = [part for part in rest if part.startswith("_") and part[1] != "_"]
            assert not private or own[0] == other or other == "_kernels", f"{path}: {private}"


def test_no_imports_go_in_a_circle():
    """Files of a circle can only be read, moved or loaded together; imports in functions count."""
    files = {path.relative_to(PACKAGE.parent).with_suffix("").parts: path for path in MODULES}
    files = {one[:-1] if one[-1] == "__init__" else one: path for one, path in files.items()}
    graph = {}
    for own, path in files.items():
        found = [tuple(one) for one in imported(path)]
        graph[own] = {one if one in files else one[:-1] for one in found} - {own}
    TopologicalSorter(graph).prepare()  # raises CycleError
