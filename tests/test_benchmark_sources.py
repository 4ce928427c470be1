"""Results of benchmarks record the code that made them, and are listed when it changes."""

from __future__ import annotations

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="benchmarks/ is not here")

PYTHON = '''"""A module."""


def add(a, b):
    """Add two numbers."""
    return a + b, "# no comment"
'''
CPP = """// adds
int add(int a, int b) {
    return a + b;  /* no
    more */
}
const char* text = "// kept";
char quote = '"';
"""


@pytest.fixture
def sources(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("_sources", "check"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import _sources

    return _sources


@pytest.fixture
def check(sources):
    import check

    return check


def digests(sources, tmp_path, suffix, *texts):
    found = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}{suffix}"
        path.write_text(text)
        found.append(sources.digest(path))
    return found


def test_every_name_that_a_benchmark_imports_is_there():
    """A benchmark, or what it runs in a process of its own, would not start."""
    missing = []
    for path in [*BENCHMARKS.rglob("*.py"), *BENCHMARKS.parent.glob("examples/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level or node.module is None:
                continue
            if node.module.split(".")[0] == "zeronorm":
                home = importlib.import_module(node.module)
                for alias in node.names:
                    if not hasattr(home, alias.name):
                        try:
                            importlib.import_module(f"{node.module}.{alias.name}")
                        except ImportError:
                            missing.append((path.name, node.module, alias.name))
    assert not missing


def test_comments_docstrings_and_layout_of_python_do_not_count(sources, tmp_path):
    """A comment would make every result doubtful."""
    other = PYTHON.replace("A module", "Another").replace("Add two numbers.", "Add.")
    other = other.replace("(a, b):", "(  # of what?\n    a,\n    b,\n):")
    one, same, bare = digests(
        sources, tmp_path, ".py", PYTHON, other, PYTHON.replace('    """Add two numbers."""\n', "")
    )
    assert one == same == bare


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a + b", "a - b"),
        ("a + b", "None"),
        ("# no comment", "# some"),
        ("def add", "def plus"),
        ("(a, b)", "(a, b=1)"),
    ],
)
def test_a_change_of_python_code_counts(sources, tmp_path, old, new):
    """Results of other code would pass for those of the present one."""
    one, other = digests(sources, tmp_path, ".py", PYTHON, PYTHON.replace(old, new, 1))
    assert one != other


def test_comments_and_layout_of_cpp_do_not_count(sources, tmp_path):
    """A comment in a kernel would make every result doubtful."""
    other = CPP.replace("// adds\n", "").replace("/* no\n    more */", "// it's \" other")
    other = other.replace("{\n    return a + b;", "{ return a+b;")
    one, same = digests(sources, tmp_path, ".cpp", CPP, other)
    assert one == same


@pytest.mark.parametrize(
    ("old", "new"), [("a + b", "a - b"), ("// kept", "// lost"), ("'\"'", "'x'")]
)
def test_a_change_of_cpp_code_counts(sources, tmp_path, old, new):
    """Results of other kernels would pass for those of the present ones."""
    one, other = digests(sources, tmp_path, ".hpp", CPP, CPP.replace(old, new))
    assert one != other


@pytest.mark.slow
def test_record_has_the_package_the_kernels_and_the_scripts_that_ran(sources):
    """A change of a file that ran would not be noticed."""
    made = sources.record([BENCHMARKS / "_peers.py"])
    assert {
        "CMakeLists.txt",
        "benchmarks/_peers.py",
        "src/zeronorm/solvers/selection.py",
        "src/zeronorm/_kernels/scan.hpp",
    } <= made["files"].keys()
    assert not any("/cli/" in name for name in made["files"])
    assert sources.changed(made) == []
    assert all("zeronorm" not in name for name in sources.record(package=False)["files"])


def test_writing_a_result_adds_its_record_and_that_of_what_is_kept(sources, monkeypatch, tmp_path):
    """A process of its own: `_common` is a script's, and reads what ran from sys.modules."""
    code = (
        "import pathlib, _common as common\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "data = {'records': common.kept(folder, 'old')}\n"
        "common.write(folder, 'new', data, '# New', package=False)\n"
    )
    (tmp_path / "old.json").write_text(json.dumps({"records": [1]}))
    subprocess.run([sys.executable, "-c", code], check=True, cwd=BENCHMARKS)
    new = json.loads((tmp_path / "new.json").read_text())
    now, old = new["made"]
    assert now["files"]["benchmarks/_common.py"]
    assert (old["result"], old["files"]) == ("old", None)
    assert "parts of earlier runs" in (tmp_path / "new.md").read_text()


def test_records_that_say_the_same_of_the_code_are_kept_once(sources):
    """Files of results would grow with every run."""
    one = {"date": "a", "files": {"code.py": "1"}, "edited_meanwhile": []}
    other = {**one, "files": {"code.py": "2"}}
    lost = [sources.unknown("a"), sources.unknown("b")]
    found = sources.merged([one, *lost, {**one, "date": "b"}, lost[0], other])
    assert found == [one, *lost, other]


def test_a_report_says_what_to_be_wary_of(sources):
    """Timings on a busy machine would look like any others."""
    quiet = {"commit": "0123456789", "uncommitted": [], "load_at_end": 0.1}
    busy = {"commit": None, "uncommitted": ["code.py"], "load_at_end": 1e6}
    assert sources.short([quiet]) == "Commit 0123456."
    assert sources.short([busy]).startswith("No commit with uncommitted changes.")
    assert "seconds are too long" in sources.short([busy])


def tree(sources, root, *, edited=()):
    """A tree with one source, one page, and a result that records them."""
    (root / "results").mkdir()
    (root / "code.py").write_text(PYTHON)
    (root / "README.md").write_text("A row.\n[fast](benchmarks/results/fast.md)\n")
    made = {
        "date": "2026-01-02",
        "commit": "0123456789",
        "edited_meanwhile": list(edited),
        "files": {"code.py": sources.digest(root / "code.py")},
    }
    path = root / "results" / "fast.json"
    path.write_text(json.dumps({"made": [made]}))
    return path


def test_results_of_the_present_code_are_not_listed(check, sources, tmp_path):
    """The list would name results that are in order."""
    path = tree(sources, tmp_path)
    assert check.verdict(path, tmp_path) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.write_text(PYTHON.replace("+", "-")), "since 2026-01-02, 0123456: code"),
        (lambda file: file.unlink(), "code.py (gone)"),
    ],
)
def test_results_of_other_code_are_listed_with_the_files(check, sources, tmp_path, change, words):
    """The list would not say which change made a result doubtful."""
    path = tree(sources, tmp_path)
    change(tmp_path / "code.py")
    assert words in check.verdict(path, tmp_path)


def test_files_edited_during_the_run_are_listed(check, sources, tmp_path):
    """A result of half-edited code would pass for a good one."""
    path = tree(sources, tmp_path, edited=["code.py"])
    assert "code.py (edited during the run)" in check.verdict(path, tmp_path)


def test_results_without_a_record_say_when_they_were_written(check, tmp_path):
    """Old results would look like new ones."""
    path = tmp_path / "results" / "old.json"
    path.parent.mkdir()
    path.write_text("{}")
    assert check.verdict(path, tmp_path) == "no record; no commit of it either"  # no git here
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    commit = [*identity, "commit", "-qm", "Measure"]
    for command in (["init", "-q"], ["add", "-A"], commit):
        if git(tmp_path, command) != 0:
            pytest.skip("git is not here")
    assert "no record; written 20" in check.verdict(path, tmp_path)


def git(root, command):
    try:
        return subprocess.run(["git", "-C", str(root), *command], check=False).returncode
    except OSError:
        return 1


def test_the_list_names_the_pages_and_strict_fails(check, sources, tmp_path, monkeypatch, capsys):
    """Pages with doubtful figures would not be found."""
    path = tree(sources, tmp_path)
    assert check.citations(path, tmp_path) == ["README.md:2"]
    report = path.parent / "made_by_hand.md"
    arguments = ["--results", str(path.parent)]
    path.write_text(json.dumps({"made": []}))
    assert check.main(arguments) == 0
    assert check.main([*arguments, "--strict"]) == 1
    assert "fast.json: no record" in capsys.readouterr().out
    report.write_text("# A report without JSON")
    assert {found.name for found in check.results(path.parent)} == {"fast.json", report.name}
