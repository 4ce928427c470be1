"""The checker of the documentation, on pages that need data which are not in the repository."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "docs", "tests", "benchmarks", "examples")


@pytest.fixture
def check(tmp_path, monkeypatch):
    """The checker as a module, for pages in a folder of its own; its data are below `data`."""
    spec = importlib.util.spec_from_file_location("check", ROOT / "docs" / "check.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "check", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "DATA", tmp_path / "data")
    return module


def test_pages_run_on_data_that_are_there_and_are_skipped_elsewhere(check, tmp_path, capsys):
    """A page on real data would fail for everyone else, or never be run."""
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- data: meat -->\n```python\n>>> import numpy as np\n"
        '>>> np.load("meat.npz")["y"].sum()\nnp.int64(4)\n```\n'
    )
    assert check.main([str(page)]) == 0
    assert "skipped page.md, no meat in ZERONORM_DATA" in capsys.readouterr().out
    (tmp_path / "data" / "meat").mkdir(parents=True)
    np.savez(tmp_path / "data" / "meat" / "arrays.npz", y=np.arange(4))
    assert check.main([str(page)]) == 1
    assert "np.int64(6)" in capsys.readouterr().out
    assert check.main(["--write", str(page)]) == 1
    assert check.main([str(page)]) == 0
    assert page.read_text().startswith("<!-- data: meat -->\n")


def test_links_lead_somewhere():
    """A reader would be sent to a page, or to a section of one, that is not there."""
    pages = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks").glob("*.md"),
    ]
    broken = []
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert not broken


def test_files_that_are_named_are_there():
    """A reader would look for a file, or a module, of an older tree."""
    files = [one for name in FOLDERS for one in (ROOT / name).rglob("*")]
    there = {one.relative_to(one.parents[n]).as_posix() for one in files for n in range(5)}
    there |= {one.stem for one in files} | {"data/x.py", "benchmarks/results/fast.md"}  # made up
    lost = []
    for page in [*ROOT.glob("*.md"), *files]:
        if page.suffix in (".md", ".py", ".pyi", ".hpp", ".cpp") and "results" not in page.parts:
            text = re.sub(r"(\.\./)+", "", page.read_text(encoding="utf-8"))
            found = re.findall(r"(?<![\w./*{}-])[\w-]+(?:/[\w.-]+)+\.(?:py|hpp|cpp|md)\b", text)
            found += re.findall(r"`(_[a-z]\w*)\.\w+`", text)
            lost += [f"{page.relative_to(ROOT)}: {name}" for name in found if name not in there]
    assert not lost


def anchors(page):
    """Return the names by which the sections of a page are linked."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    heads = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", head.lower()).strip() for head in heads]
    return {head.replace(" ", "-") for head in plain}
