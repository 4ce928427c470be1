"""The exit codes: those of the table in docs/guide/command-line.md, and no others."""

import re
from pathlib import Path

import numpy as np
import pytest
import typer.testing

from golub import GOLUB
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

    fit = ("select", GOLUB, "-k", 2, "--no-cv", "--no-calibrate", "-o", "m.npz")
    assert code(*fit, "--certificate", "c.npz") == 0
    assert code("verify", "c.npz", GOLUB) == 0
    claim = CertificateError("too much")
    assert code("verify", "c.npz", GOLUB, error=claim) == 1
    assert code("verify", "c.npz", GOLUB, error=UndecidedError("rounding")) == 3
    assert code(*fit, error=KeyError("a bug")) == 1
    assert code(*fit, error=MemoryError("9 TB")) == 2
    assert code(*fit, error=OSError(28, "No space left on device", "m.npz")) == 2
    assert code(*fit, error=KeyboardInterrupt()) == 130
    assert code("select", GOLUB, "--no-such-option") == 2
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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("select", "Error: Missing argument 'DATA'. See zeronorm select --help."),
        ("select demo extra", "extra argument(s) (extra). See zeronorm select --help."),
        (
            "select demo --featres 3",
            "option: --featres (Possible options: --feature-names, --features, ",
        ),
        ("select demo --cv x", "Error: Invalid value for '--cv': "),
        ("select demo --C=ten", "Error: Invalid value for '--C' / '-C': "),
        ("select demo --groups g.gmt", "Which features are in which group says --group-file FILE"),
        ("path demo -k 3", "No such option: -k. See zeronorm path --help."),
        ("selec demo", "No such command 'selec'. Did you mean 'select'?"),
        ("select https://a.org/b.csv", "https://a.org/b.csv: an address, no file; download it"),
        ("path a.csv --target y -o p.parquet", "--output must end in .csv; got p.parquet."),
        ("verify c.npz a.csv --rtol -1", "Error: --rtol must be above 0 and at most 1e-3"),
        ("select a.csv --target y --measure g1", "prbep, auc or ap; got 'g1'"),
        ("convert a.csv a.csv", "exists; remove it, give another name, or pass --overwrite."),
        ("convert t.csv t.zarr", "or say --id id if it names the samples."),
        ("predict a.csv m.npz", "say zeronorm predict m.npz a.csv."),
        ("evaluate a.csv m.npz", "say zeronorm evaluate m.npz a.csv."),
        ("verify a.csv c.npz", "say zeronorm verify c.npz a.csv."),
        ("prove a.csv m.npz", "say zeronorm prove m.npz a.csv."),
    ],
)
def test_wrong_lines_are_told_the_way_out(fails, run, tmp_path, line, message):
    """A user reads what is wrong in the words of a library, or not what to do."""
    rows = "".join(f"{j % 5},{j % 3},{int(j % 5 > 2)}\n" for j in range(30))
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"a,b,y\n{rows}")
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(f"s{j},{j}\n" for j in range(5)))
    if ".npz" in line:
        given = ("--target", "y", "-k", 1, "--no-cv", "-o", "m.npz", "--certificate", "c.npz")
        run("select", "a.csv", *given)
    assert message in fails(*line.split())
