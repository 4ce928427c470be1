"""The source as a tree of files: what CONTRIBUTING.md says of it, and how long a file may be."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "zeronorm"
CODE = {".py", ".pyi", ".cpp", ".hpp"}
LONGEST = 400
LONGEST_FUNCTION = 80  # without its docstring
# A room of solvers may import from those before it, and from what all share.
ROOMS = ("pool", "certify", "minimax", "l0", "l1", "bilevel", "measure", "procedures")


def files():
    """All files of the package, as paths in it, but for what is built."""
    found = (path for path in PACKAGE.rglob("*") if path.is_file())
    return {
        str(path.relative_to(PACKAGE))
        for path in found
        if path.parent.name != "__pycache__" and path.suffix != ".so"
    }


def mapped():
    """The files that the map in CONTRIBUTING.md names below src/zeronorm, as paths in it."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    lines = re.search(r"\nsrc/zeronorm/\n(.*?)\n\n", text, re.DOTALL)[1].splitlines()
    folders, named = [], []
    for line in lines:
        indent, name = re.match(r"( +)(\S+)(?: |$)", line).groups()
        del folders[len(indent) // 2 - 1 :]
        if name.endswith("/"):
            folders.append(name)
        else:
            named.append("".join([*folders, name]))
    return named


def test_the_map_names_every_file_once():
    """A newcomer would look for what is gone, and miss what the map does not name."""
    named = mapped()
    assert len(named) == len(set(named))
    assert sorted(named) == sorted(files())


def test_no_file_is_long():
    """A file of thousands of lines has several concepts, none of which is found in a minute."""
    long = {
        name
        for name in files()
        if Path(name).suffix in CODE and len((PACKAGE / name).read_text().splitlines()) > LONGEST
    }
    assert not long


def test_no_function_is_long():
    """A reader would have to hold more in mind than a screen shows."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[1 if ast.get_docstring(node) and len(node.body) > 1 else 0]
                assert node.end_lineno - first.lineno < LONGEST_FUNCTION, (path, node.name)


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
