"""The exit codes: those of the table in docs/guide/command-line.md, and no others."""

import re
from pathlib import Path

import numpy as np
import typer.testing

from zeronorm import cli, persistence
from zeronorm.verification import CertificateError, UndecidedError

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "command-line.md"


def test_the_table_is_what_commands_return(run, monkeypatch, tmp_path):
    """A script would branch on a code that never comes, or meet one that nobody has told."""
    reached = set()

    def code(*arguments, error=None):
        with monkeypatch.context() as patch:
            if error is not None:

                def broken(*_, **__):
                    raise error

                patch.setattr(persistence, "save", broken)
                patch.setattr(persistence.SavedCertificate, "verify", broken)
            found = typer.testing.CliRunner().invoke(cli.app, [str(one) for one in arguments])
        reached.add(found.exit_code)
        return found.exit_code

    fit = ("select", "golub", "-k", 2, "--no-cv", "--no-calibrate", "-o", "m.npz")
    assert code(*fit, "--certificate", "c.npz") == 0
    assert code("verify", "golub", "c.npz") == 0
    claim = CertificateError("too much")
    assert code("verify", "golub", "c.npz", error=claim) == 1
    assert code("verify", "golub", "c.npz", error=UndecidedError("rounding")) == 3
    assert code(*fit, error=KeyError("a bug")) == 1
    assert code(*fit, error=MemoryError("9 TB")) == 2
    assert code(*fit, error=OSError(28, "No space left on device", "m.npz")) == 2
    assert code(*fit, error=KeyboardInterrupt()) == 130
    assert code("select", "golub", "--no-such-option") == 2
    assert code("no-such-command") == 2
    assert code("select", "none.csv") == 2
    np.save("a.npy", np.arange(12.0).reshape(6, 2))
    assert code("convert", "a.npy", "a.zarr") == 0
    assert code("info", "a.zarr", "--check") == 0
    (block,) = (path for path in tmp_path.glob("a.zarr/X/c/**/*") if path.is_file())
    with block.open("r+b") as file:
        file.write(b"\xff")
    assert code("info", "a.zarr", "--check") == 1
    table = PAGE.read_text().partition("## Exit codes")[2]
    assert reached == {int(one) for one in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}
