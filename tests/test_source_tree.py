"""The source as a tree of folders: imports go one way."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "zeronorm"
# A folder, or a file at the top, imports those before it.
LAYERS = (
    *("_version", "_kernels", "core", "verification", "data", "io", "datasets", "measures"),
    *("losses", "solvers", "methods", "estimators", "published", "model_selection"),
    *("inspection", "inference", "persistence", "export", "plotting", "reporting", "cli"),
)


@cache
def nodes_of(path):
    """The imports of a file, anywhere in it, and those of them that are for types alone."""
    tree = ast.parse(path.read_text())
    ifs = [one for one in tree.body if isinstance(one, ast.If)]
    typed = [one for one in ifs if "TYPE_CHECKING" in ast.dump(one.test)]
    parts = (tree, *typed)
    whole, *some = ({n for n in ast.walk(part) if isinstance(n, ast.ImportFrom)} for part in parts)
    return whole, set().union(*some)


def imported(path, types=True):
    """The modules of the package that a file imports, anywhere in it, as parts of their names."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    nodes, of_types = nodes_of(path)
    for node in nodes if types else nodes - of_types:
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
            private = [part for part in rest if part.startswith("_") and part[1] != "_"]
            assert not private or own[0] == other or other == "_kernels", f"{path}: {private}"


def test_no_import_goes_in_a_circle():
    """Two files could only be read, and moved, together."""
    graph = {}
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__init__.py":  # these pass names on
            names = [PACKAGE.parent.joinpath(*found) for found in imported(path, types=False)]
            graph[path] = {one.with_suffix(".py") for name in names for one in (name, name.parent)}
    TopologicalSorter(graph).prepare()
