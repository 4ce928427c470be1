"""Runs of benchmarks that measure less than the whole leave the committed results alone."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
RESULTS = BENCHMARKS / "results"
pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="benchmarks/ is not here")

SCRIPTS = sorted(
    path
    for folder in (BENCHMARKS, BENCHMARKS / "papers")
    for path in folder.glob("*.py")
    if not path.name.startswith("_") and "def main(" in path.read_text()
)
ONLY = ("mslr_scale", "asalm")
REDUCED = ("--tiny", "--small", "--quick", "--only")
# They read results, or compare without measuring.
WITHOUT = {"check.py", "claims.py", "everything.py", "mslr_report.py"}
WITHOUT |= {"snapshot.py", "unchanged.py"}  # they compare


class Stopped(Exception):  # noqa: N818
    """Ends a script where it has read its options."""


@pytest.fixture
def common(monkeypatch):
    """The module that all scripts share, as they find it."""
    for folder in (BENCHMARKS / "papers", BENCHMARKS):
        monkeypatch.syspath_prepend(str(folder))
    known = set(sys.modules)
    yield importlib.import_module("_common")
    for name in set(sys.modules) - known:
        path = getattr(sys.modules[name], "__file__", None)
        if path and Path(path).is_relative_to(BENCHMARKS):
            del sys.modules[name]


def parser_of(script, common, monkeypatch):
    """Return the parser of a script with all its options."""
    found = []

    def stop(self, *args, **more):
        found.append(self)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(common.Parser, "parse_args", stop)
        patch.setattr(sys, "argv", [str(script)])
        with pytest.raises(Stopped):
            importlib.import_module(script.stem).main()
    return found[0]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_reduced_run_has_no_committed_file(script, common, monkeypatch, tmp_path):
    """A look whether a script still runs would replace the figures that the documentation cites."""
    if script.name in WITHOUT:
        return
    try:
        parser = parser_of(script, common, monkeypatch)
    except ImportError as error:
        pytest.skip(str(error))
    required = [
        cell
        for action in parser._actions
        if action.required
        for cell in (action.option_strings[0], "x")
    ]
    default = parser.get_default("results")
    assert default.is_relative_to(RESULTS)
    assert parser.parse_args(required).results == default
    for action in parser._actions:
        option, value = action.option_strings[0], None
        if option in REDUCED:
            value = [] if action.nargs == 0 else ["x"]
        elif option in ("--seeds", "--splits", "--repeats", "--turns", "--rounds"):
            value = ["1"] if action.default != 1 else None
        elif option in ("--sets", "--methods") and (action.default or "").count(","):
            value = [action.default.split(",")[0]]
        if value is None:
            continue
        asked = [*required, option, *value]
        assert not parser.parse_args(asked).results.is_relative_to(RESULTS), option
        assert parser.parse_args([*asked, "--results", str(tmp_path)]).results == tmp_path


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_write_where_they_are_told(script):
    """A script would write to the committed results past its options."""
    if script.name in WITHOUT:
        return
    tree = ast.parse(script.read_text())
    defaults = [
        node
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "set_defaults"
        for node in ast.walk(call)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "RESULTS":
            assert node in defaults
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "ArgumentParser":
            pytest.fail("the parser is not that of all scripts")
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("common.write"):
            folder = ast.unparse(node.args[0])
            assert folder in ("options.results", "chosen.results", "folder")


@pytest.mark.slow
def test_a_tiny_run_prints(tmp_path):
    """The report of a run that is not kept would be nowhere, or replace that of the whole."""
    before = {path: path.stat().st_mtime_ns for path in RESULTS.rglob("*")}
    command = [sys.executable, str(BENCHMARKS / "products.py"), "--tiny"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.startswith("# ")
    assert "nothing is written without --results" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in RESULTS.rglob("*")} == before


@pytest.fixture
def papers(common, monkeypatch, tmp_path):
    """The script that runs all of papers/, with a cache of its own and scripts that only write."""
    module = importlib.import_module("everything")
    monkeypatch.setattr(common, "CACHE", tmp_path / "cache")
    called = []

    def call(step, size, folder, data, *, goes_on):
        called.append((step.name, goes_on))
        folder.mkdir(exist_ok=True)
        (folder / f"{step.name}.json").write_text("{}")
        return 0

    monkeypatch.setattr(module, "call", call)
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: None)

    def main(*options):
        called.clear()
        monkeypatch.setattr(sys, "argv", ["everything.py", "--only", ",".join(ONLY), *options])
        return module.main(), list(called)

    return main


def test_all_papers_go_on_and_overwrite_nothing(papers, common, monkeypatch, tmp_path, capsys):
    """An ended run would begin anew, or results of other code be replaced without a word."""
    folder = ("--results", str(tmp_path / "out"))
    assert papers(*folder) == (0, [("mslr_scale", False), ("asalm", False)])
    minutes = sum(step.minutes for step in sys.modules["everything"].STEPS if step.name in ONLY)
    assert f"2 of 2 scripts to run, about {minutes} minutes" in capsys.readouterr().err
    assert papers(*folder) == (0, [])
    with pytest.raises(SystemExit, match="results of other code or options: mslr_scale, asalm"):
        papers(*folder, "--full")
    assert papers(*folder, "--full", "--again")[1] == [("mslr_scale", False), ("asalm", False)]
    monkeypatch.setattr(common, "code_digest", lambda: "another")
    with pytest.raises(SystemExit, match="--again to measure them anew"):
        papers(*folder, "--full")
    with pytest.raises(SystemExit, match="results of other code"):
        papers("--committed")


def test_an_ended_run_of_all_papers_is_told_from_a_finished_one(papers, monkeypatch, tmp_path):
    """A script that was ended would count as done."""
    folder = ("--results", str(tmp_path / "out"))
    module = sys.modules["everything"]

    def ended(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(module, "call", ended)
        assert papers(*folder)[0] == 130
        assert papers("--results", str(tmp_path / "two"), "--at-once", "2")[0] == 130
    assert papers(*folder) == (0, [("mslr_scale", True), ("asalm", False)])


def test_scripts_run_side_by_side(papers, monkeypatch, tmp_path):
    """Half of a machine would idle, or a script be lost or run twice."""
    module, both = sys.modules["everything"], threading.Barrier(2, timeout=60)

    def call(step, size, folder, data, *, goes_on):
        both.wait()
        return int(step.name == "asalm")

    folder = ("--results", str(tmp_path / "out"), "--at-once", "2")
    with monkeypatch.context() as patch:
        patch.setattr(module, "call", call)
        assert papers(*folder)[0] == 1
    assert papers(*folder) == (0, [("asalm", True)])
    with pytest.raises(SystemExit):
        papers("--at-once", "0")


def test_every_script_of_the_papers_is_run_with_options_that_it_has(common, monkeypatch):
    """`make papers` would fail after hours, or leave out an experiment."""
    module = importlib.import_module("everything")
    scripts = {path.stem: path for path in SCRIPTS if path.parent.name == "papers"}
    assert {step.name for step in module.STEPS} == {
        name for name, path in scripts.items() if path.name not in WITHOUT
    }
    for step in module.STEPS:
        parser = parser_of(scripts[step.name], common, monkeypatch)
        for size in ("small", "full", "tiny"):
            more = ["--keep"] if step.keeps else []
            parser.parse_args([*module.asked(step, size), "--results", "x", *more])


def test_claims_are_read_from_reports(common):
    """Verdicts would be of the wrong rows, or ours be taken for the paper's."""
    module = importlib.import_module("claims")
    report = """# A report

| a | holds for nobody |
| --- | --- |
| 1 | 2 |

## What the paper says

| what | grids | measured | holds |
| --- | --- | --- | --- |
| A is first | fine | A 1, B 2 | **yes** (2 of 2) |
| zeronorm is first | fine | - | **no** |
| B is last | fine | 0 | **in part** (1 of 2) |

## The same for variants that are ours

| what | measured | holds |
| --- | --- | --- |
| C | 3 | yes |
"""
    assert module.claims_of("one", report) == [
        ("A is first, grids fine", "A 1, B 2", "holds (2 of 2)", "one"),
        ("B is last, grids fine", "0", "holds in part (1 of 2)", "one"),
    ]


def test_a_run_that_could_write_nothing_ends_at_once(common, tmp_path, monkeypatch, capsys):
    """Hours of measurements would be lost where they are written, or nothing be measured."""
    file = tmp_path / "file"
    file.write_text("kept")
    parser = common.parser(None)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1.0)
    for path in (file, file / "below"):
        with pytest.raises(SystemExit, match=f"{file} is a file, not a folder"):
            parser.parse_args(["--results", str(path)])
    monkeypatch.setattr(common.os, "access", lambda *_: False)
    with pytest.raises(SystemExit, match="nothing can be written"):
        parser.parse_args(["--results", str(tmp_path / "new")])
    for option, told in (("--seeds", "--seeds must be at least 1; got 0"), ("--limit", "got 0")):
        with pytest.raises(SystemExit):
            parser.parse_args([option, "0"])
        assert told in capsys.readouterr().err


def test_the_folder_of_the_data_is_the_one_that_is_named(common, tmp_path, monkeypatch):
    """Another folder would be measured without a word, or a set be missed after hours."""
    monkeypatch.setenv("ZERONORM_DATA", str(tmp_path))
    assert common.data_folder(None) == tmp_path
    with pytest.raises(SystemExit, match=r"--data is .*absent, which is no folder"):
        common.data_folder(str(tmp_path / "absent"))
    monkeypatch.setenv("ZERONORM_DATA", str(tmp_path / "absent"))
    with pytest.raises(SystemExit, match=r"ZERONORM_DATA is .*absent, which is no folder"):
        common.data_folder(None)
    mslr = importlib.import_module("_mslr")
    (tmp_path / "pcmac").mkdir()
    (tmp_path / "pcmac" / "arrays.npz").touch()
    assert mslr.folder_of(str(tmp_path), ["pcmac"]) == tmp_path
    with pytest.raises(SystemExit, match="has no leukemia_golub_split, mice: leave it out by"):
        mslr.folder_of(str(tmp_path), ["leukemia", "pcmac", "leukemia_rows", "mice"])


def test_a_run_that_is_ended_while_it_writes_leaves_the_results_before(
    common, tmp_path, monkeypatch
):
    """Half a file would be neither the old results nor the new ones."""
    common.write(tmp_path, "one", {"rows": [1]}, "# One", package=False)
    before = (tmp_path / "one.json").read_text()

    def ended(self, text):
        with open(self, "w") as file:
            file.write(text[:3])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", ended)
        with pytest.raises(KeyboardInterrupt):
            common.write(tmp_path, "one", {"rows": [2]}, "# One", package=False)
    assert (tmp_path / "one.json").read_text() == before
    assert common.earlier(tmp_path, "one")["rows"] == [1]


def test_reports_tell_files_of_other_versions(common, tmp_path, monkeypatch):
    """A traceback would not say which script is to run again."""
    claims, report = (importlib.import_module(name) for name in ("claims", "mslr_report"))
    file = tmp_path / "mslr_real.json"
    monkeypatch.setattr(sys, "argv", ["mslr_report.py", "--results", str(tmp_path)])
    rows = '{"machine": 0, "options": 0, "runs": [{"set": "x"}]}'
    for text, told in (
        ('{"runs": [', r"mslr_real\.json cannot be read"),
        ("[]", r"mslr_real\.json has no results"),
        ('{"runs": []}', r"of another version\. Run mslr_real\.py again"),
        (rows, r"of another version\. Run mslr_real\.py again"),
    ):
        file.write_text(text)
        with pytest.raises(SystemExit, match=told):
            report.main()
    table = "| what | measured | holds |\n| --- | --- | --- |\n| a | b | maybe |\n"
    with pytest.raises(SystemExit, match=r"one\.md has the verdict 'maybe'.* Run one\.py again"):
        claims.claims_of("one", table)


def test_the_rates_are_those_of_the_theorems(common):
    """The verdicts on the theorems would be of other quantities than the paper's."""
    rates = importlib.import_module("mslr_rates")
    X, y = rates.drawn(0)
    inner = rates.Inner(X[:40, :60], y[:40], 1.0)
    assert inner.gap < 1e-12
    inner.sweep(0.5)
    a, q, h = inner.alpha.copy(), 0.5, 1e-6

    def smoothed(alpha):
        scores = (inner.Z.T @ (alpha * inner.y)) ** 2 @ inner.E / 2
        entropy = alpha @ np.log(alpha) + (1 - alpha) @ np.log1p(-alpha)
        return np.log(np.exp(q * scores).sum()) / q + entropy

    assert inner.value(q) == pytest.approx(smoothed(a), rel=1e-12)
    slope = [(smoothed(a + h * e) - smoothed(a - h * e)) / (2 * h) for e in np.eye(a.size)]
    assert inner.left(q) == pytest.approx(np.square(slope).sum() / 8, rel=1e-5)
    with rates.exact_minima():
        at_once = rates.published(inner, 0.5, 80)
        waits = rates.resolved(inner, 400)
        fixed = rates.fixed(inner, 0.1, 400)
    assert at_once["last"] > rates.REACHED
    assert at_once["inside"]
    assert at_once["falls"]
    assert waits["ratio"] <= 1.0
    assert waits["last"] < at_once["last"]
    assert fixed["error"] <= 0.1
    outer = rates.outer(X[:40, :60], y[:40], 2, 1.0, 60)
    assert 0 <= outer["last"] <= rates.REACHED
