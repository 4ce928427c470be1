"""The source as a tree of files: what CONTRIBUTING.md says of it, and how long a file may be."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "zeronorm"
CODE = {".py", ".pyi", ".cpp", ".hpp"}
LONGEST = 400
# These files are to be divided; no other one may become as long.
TO_DIVIDE = {
    "_kernels/bilevel.hpp", "_kernels/ridge.hpp", "_kernels/reference/_descent.py",
    "designs/_sparse.py", "solvers/_l1.py", "solvers/_l1_path.py", "solvers/_splitting.py",
}  # fmt: skip


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
    assert long <= TO_DIVIDE
