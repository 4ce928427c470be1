"""Reading text: svmlight files beside scikit-learn's loader, CSV beside polars.

    python benchmarks/readers.py [--small] [--folder FOLDER]

svmlight: newsgroups (counts of words), positional 8-mers of splice sites (ones), and drawn values
of 16 digits, as `dump_svmlight_file` writes them; the matrices of both readers are equal to the
last bit. Each is read whole by one thread and by two, block by block, and from a gzip file, beside
the time that Python takes to decompress that. Memory is the peak beyond what was resident before,
over the bytes of the matrix and its labels. CSV: two wide tables (70 x 20,000, 500 x 50,000) and a
tall one (1,000,000 x 20), of numbers with four decimals and of 16 digits, as polars writes them;
`polars.read_csv`, which guesses the types of the columns, and `to_numpy`, beside `read_table`,
which gives the same numbers. The table with text has 20 such columns and 10 of text with 5 to 32
levels: `polars.read_csv` alone, beside `read_table`, which also makes 205 features of them. All
files are in the memory of the system when they are read; ratios are of medians of seven calls in
turn; CPU seconds are those of all threads.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import _common as common
import _protocol as protocol
from zeronorm.core.parallel import solver_threads
from zeronorm.io import read_table
from zeronorm.io.svmlight import svmlight_blocks

REPEATS = 7
SHAPES = {"wide": (70, 20_000), "wider": (500, 50_000), "tall": (1_000_000, 20)}
WITH_TEXT = (100_000, 30)


def svmlight_sets(folder: Path, small: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield the name, the matrix and the labels of each set."""
    news = protocol.arrays(folder, "news20ng")
    n = 2000 if small else news["X"].shape[0]
    yield "news20ng", sp.csr_array(news["X"])[:n], news["y"][:n]
    sys.path.insert(0, str(folder))
    try:
        import load
    finally:
        sys.path.pop(0)
    sequences, y, *_ = load.splice_celegans()
    n = 2000 if small else 20_000
    yield "splice_celegans, k = 8", load.positional_kmers(sequences[:n], 8), y[:n]
    rng = np.random.default_rng(0)
    drawn = sp.random_array((n // 4, 20_000), density=0.02, rng=rng, format="csr")
    yield "drawn, 16 digits", drawn, np.sign(rng.standard_normal(n // 4))


def whole(path: Path, n_threads: int) -> Any:
    """Return the table of a file as some threads read it."""
    with solver_threads(n_threads):
        return read_table(path)


def n_entries(path: Path) -> int:
    """Return the entries of a file that is read block by block."""
    return sum(block.values.size for block in svmlight_blocks(path))


def decompress(path: Path) -> None:
    """Read a gzip file to its end."""
    with gzip.open(path) as file:
        while file.read(1 << 23):
            pass


def medians(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the median seconds of calls made in turn, and those of the processors as NAME_cpu."""
    seconds: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, call in calls.items():
            wall, cpu, _ = common.clock(call)
            seconds.setdefault(name, []).append(wall)
            seconds.setdefault(f"{name}_cpu", []).append(cpu)
    return {name: common.median(values) for name, values in seconds.items()}


def measure_svmlight(path: Path, name: str, X: Any, y: np.ndarray) -> dict[str, Any]:
    """Return the seconds and the memory of reading one set."""
    dump_svmlight_file(X, y, str(path), zero_based=False)
    packed = path.with_suffix(".svm.gz")
    with path.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as file:
        shutil.copyfileobj(plain, file)
    with common.PeakMemory() as memory:
        table = whole(path, 2)
    arrays = (table.X.data, table.X.indices, table.X.indptr, table.y)
    size = sum(array.nbytes for array in arrays)
    with common.PeakMemory() as block_memory:
        n_entries(path)
    theirs, labels = load_svmlight_file(str(path), zero_based=False)
    assert np.array_equal(theirs.data.view(np.int64), table.X.data.view(np.int64))
    assert np.array_equal(theirs.indices, table.X.indices)
    assert np.array_equal(theirs.indptr, table.X.indptr)
    assert np.array_equal(labels, table.y)
    del theirs, table, arrays
    seconds = medians(
        {
            "one": partial(whole, path, 1),
            "two": partial(whole, path, 2),
            "blocks": partial(n_entries, path),
            "scikit-learn": partial(load_svmlight_file, str(path)),
        },
        REPEATS,
    ) | medians({"gzip": partial(whole, packed, 2), "decompress": partial(decompress, packed)}, 3)
    return {
        "set": name,
        "bytes": path.stat().st_size,
        "entries": X.nnz,
        "matrix_bytes": size,
        "peak_mb": memory.beyond,
        "blocks_peak_mb": block_memory.beyond,
        **seconds,
    }


def measure_csv(path: Path, pl: Any, shape: tuple[int, int], digits: int) -> dict[str, Any]:
    """Return the seconds of reading one table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    if digits < 16:
        X = X.round(digits)
    columns = {"y": rng.integers(0, 2, shape[0])}
    pl.DataFrame(columns | {f"f{j}": X[:, j] for j in range(shape[1])}).write_csv(path)
    del X

    def theirs() -> Any:
        return pl.read_csv(path).to_numpy()

    table = read_table(path, "y")
    assert np.array_equal(theirs()[:, 1:], table.X)
    del table
    seconds = medians({"polars": theirs, "ours": partial(read_table, path, "y")}, REPEATS)
    return {
        "shape": shape,
        "digits": digits,
        "bytes": path.stat().st_size,
        **seconds,
    }


def measure_text(path: Path, pl: Any, n_rows: int) -> dict[str, Any]:
    """Return the seconds of reading a table with columns of text."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {"y": rng.integers(0, 2, n_rows)}
    columns |= {f"f{j}": rng.standard_normal(n_rows).round(4) for j in range(20)}
    for j in range(10):
        levels = np.array([f"level {i}" for i in range(5 + 3 * j)])
        columns[f"c{j}"] = levels[rng.integers(0, levels.size, n_rows)]
    pl.DataFrame(columns).write_csv(path)
    calls = {"polars": partial(pl.read_csv, path), "ours": partial(read_table, path, "y")}
    table = read_table(path, "y")
    for name in ("c0=level 3", "c9=level 31"):
        column, level = name.split("=")
        there = table.X[:, table.feature_names.index(name)]
        assert np.array_equal(there, columns[column] == level)
    return {
        "shape": (n_rows, WITH_TEXT[1]),
        "digits": "4, text",
        "bytes": path.stat().st_size,
        **medians(calls, REPEATS),
    }


def report(text_sets: list[dict[str, Any]], tables: list[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    return "\n\n".join([
        "# Reading text",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.table(
            ["svmlight file", "size", "two threads", "one thread", "scikit-learn",
             "scikit-learn / two threads", "/ one", "in CPU seconds", "peak / matrix",
             "blocks", "peak", "gzip", "decompressing alone"],
            [
                [r["set"], f"{r['bytes'] / 1e6:.0f} MB",
                 f"{r['two']:.3f} s, {r['bytes'] / r['two'] / 1e6:,.0f} MB/s", f"{r['one']:.3f} s",
                 f"{r['scikit-learn']:.2f} s", f"{r['scikit-learn'] / r['two']:.1f}",
                 f"{r['scikit-learn'] / r['one']:.1f}",
                 f"{r['scikit-learn_cpu'] / r['two_cpu']:.1f}",
                 f"{r['peak_mb'] * 1e6 / r['matrix_bytes']:.2f}", f"{r['blocks']:.3f} s",
                 f"{r['blocks_peak_mb']:.0f} MB", f"{r['gzip']:.2f} s", f"{r['decompress']:.2f} s"]
                for r in text_sets
            ],
        ),
        common.table(
            ["CSV", "digits", "size", "polars", "read_table", "read_table / polars",
             "in CPU seconds", "MB/s"],
            [
                ["{:,} x {:,}".format(*r["shape"]), r["digits"], f"{r['bytes'] / 1e6:.0f} MB",
                 f"{r['polars']:.3f} s", f"{r['ours']:.3f} s", f"{r['ours'] / r['polars']:.2f}",
                 f"{r['ours_cpu'] / r['polars_cpu']:.2f}",
                 f"{r['bytes'] / r['ours'] / 1e6:,.0f}"]
                for r in tables
            ],
        ) if tables else "polars is not installed, so CSV was not measured.",
    ])  # fmt: skip


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the rows")
    parser.add_argument("--folder", type=Path, help="where the files are written, for a while")
    options = parser.parse_args()
    machine = common.machine()
    sets, tables = [], []
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        for name, X, y in svmlight_sets(common.data_folder(options.data), options.small):
            with common.log(name):
                sets.append(measure_svmlight(folder / "a.svm", name, X, y))
        try:
            import polars as pl
        except ImportError:
            pl = None
        for (name, shape), digits in ((one, d) for one in SHAPES.items() for d in (4, 16)):
            if pl is not None:
                shape = (shape[0] // 10 if options.small else shape[0], shape[1])
                with common.log(f"CSV, {name}, {digits} digits"):
                    tables.append(measure_csv(folder / "a.csv", pl, shape, digits))
        if pl is not None:
            with common.log("CSV, text"):
                n_rows = WITH_TEXT[0] // 10 if options.small else WITH_TEXT[0]
                tables.append(measure_text(folder / "a.csv", pl, n_rows))
    data = {"machine": machine, "svmlight": sets, "csv": tables}
    common.write(options.results, "readers", data, report(sets, tables))


if __name__ == "__main__":
    main()
