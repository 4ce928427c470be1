"""Tab completion: the scripts for shells, and what the command answers them."""

import os
import shutil
import subprocess
import sys

import pytest

COMMAND = [sys.executable, "-m", "zeronorm"]


def asked(shell, line, *options):
    """Return what the command answers a shell about a line, whose last word is not ended."""
    words = line.split(" ")
    question = {
        "_ZERONORM_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return subprocess.run(
        [sys.executable, *options, "-m", "zeronorm"],
        env=os.environ | question, capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("zeronorm pre", {"predict"}),
        ("zeronorm select --conf", {"--config"}),
        ("zeronorm select golub --no-s", {"--no-save", "--no-standardize"}),
        ("zeronorm path --config none.toml --l1", {"--l1-ratio"}),  # no file is read for it
    ],
)
@pytest.mark.parametrize("shell", ["bash", pytest.param("fish", marks=pytest.mark.slow)])
def test_commands_and_options(shell, line, words):
    """Tab would do nothing, or offer what there is not."""
    done = asked(shell, line)
    assert {one.partition("\t")[0] for one in done.stdout.split("\n") if one} == words
    assert done.stderr == ""


def test_answers_import_nothing_heavy():
    """Every press of Tab would take a second."""
    found = asked("bash", "zeronorm select --", "-X", "importtime")
    assert "--features" in found.stdout.split()
    modules = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert "typer" in modules
    assert not {"numpy", "scipy", "sklearn", "rich"} & modules


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(run, tmp_path, shell):
    """The shell would refuse the script, or it would ask another command."""
    text = run("completion", shell).stdout
    assert f"_ZERONORM_COMPLETE=complete_{shell}" in text
    (tmp_path / "script").write_text(text)
    if shutil.which(shell):
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_other_shells_are_refused(fails):
    """A script would be printed that no shell can read."""
    assert fails("completion", "csh") == "Error: SHELL must be one of bash, zsh, fish; got 'csh'."


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes(tmp_path):
    """The script would be valid, and complete nothing."""
    shim = tmp_path / "zeronorm"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zeronorm "$@"\n')
    shim.chmod(0o755)
    script = """
source <(zeronorm completion bash)
complete -p zeronorm
COMP_WORDS=(zeronorm select golub --ru); COMP_CWORD=3
_zeronorm_completion zeronorm
echo "${COMPREPLY[@]}"
"""
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "complete -o default -F _zeronorm_completion zeronorm",
        "--rule",
    ]
