"""Stores: scans beside a mapped .npy and plain reads, and conversions.

    python benchmarks/store.py [--small] [--folder FOLDER]

A scan is that of fits, of all columns with one vector, float32; store, .npy in Fortran order, and a
plain read of the store's files (one thread) take turns, with all files in the memory of the system.
Conversions run in processes of their own with `memory` of 256 MiB: bytes of the source by the
second, and the peak of what is resident in the process beyond what it had after its imports. Files
that are mapped count in it while they are. So they do in the peak of a scan, which has a process of
its own: the files of a store stay mapped up to a quarter of the available memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import _common as common
import zeronorm
from zeronorm.data import as_design
from zeronorm.data.operations import scan

REPEATS = 7
MEMORY = 256 << 20
CONVERT = """
import sys, time, json
import _common as common
import zeronorm, zeronorm.io.store, zeronorm.io
memory = common.PeakMemory()
with memory:
    begin = time.perf_counter()
    data, store, memory, target = sys.argv[1:5]
    zeronorm.write_store(data, store, memory=int(memory), target=target or None)
    seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "peak_mb": memory.beyond}))
"""
SCAN = """
import sys, json
import numpy as np, _common as common
from zeronorm.data import as_design
X = as_design(sys.argv[1], int(sys.argv[2]))
v = np.ones(X.shape[0])
memory = common.PeakMemory()
with memory:
    seconds = common.clock(lambda: X.correlate(v, 0, X.shape[1]))[0]
print(json.dumps({"seconds": seconds, "peak_mb": memory.beyond}))
"""


def child(code: str, *arguments: Any) -> dict[str, Any]:
    """Return what a process of its own measures."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=common.HERE, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def plain_read(store: Path) -> None:
    """Read the files of a store to their ends."""
    buffer = bytearray(1 << 23)
    for path in sorted((store / "X").rglob("*")):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass


def fill(path: Path, n: int, p: int) -> None:
    """Write a .npy file in Fortran order, float32, a few columns at a time."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, "w+", np.float32, (n, p), fortran_order=True)
    for j in range(0, p, 500):
        X[:, j : j + 500] = rng.standard_normal((n, min(500, p - j)), np.float32)
    X.flush()


def measure_scan(folder: Path, n: int, p: int, n_threads: int) -> dict[str, Any]:
    """Return the seconds of a scan of a store, of a .npy, and of plain reads."""
    if not (folder / "x.npy").exists():
        fill(folder / "x.npy", n, p)
        zeronorm.write_store(folder / "x.npy", folder / "x.zarr", memory=MEMORY)
    v = np.random.default_rng(1).standard_normal(n)
    npy, store = (as_design(folder / name, n_threads) for name in ("x.npy", "x.zarr"))
    assert np.array_equal(scan(npy, v), scan(store, v))
    seconds = common.interleave(
        {
            "npy": lambda: scan(npy, v),
            "store": lambda: scan(store, v),
            "read": lambda: plain_read(folder / "x.zarr"),
        },
        REPEATS,
    )
    medians = {name: common.median(values) for name, values in seconds.items()}
    peak = child(SCAN, folder / "x.zarr", n_threads)["peak_mb"]
    sizes = {"shape": [n, p], "bytes": 4 * n * p, "threads": n_threads}
    return {**sizes, **medians, "peak_mb": peak}


def write_sources(folder: Path, scale: int) -> list[tuple[str, Path, str]]:
    """Write files of other formats; return the name, the path and the target of each."""
    rng = np.random.default_rng(0)
    found = [(".npy, float32", folder / "x.npy", "")]
    rows = np.asfortranarray(rng.standard_normal((2000, 2000 * scale), np.float32))
    np.save(folder / "rows.npy", np.ascontiguousarray(rows))
    found.append((".npy by row, float32", folder / "rows.npy", ""))
    text = sp.random_array((2000 * scale, 20_000), density=0.02, rng=rng, format="csr")
    dump_svmlight_file(text, np.zeros(text.shape[0]), str(folder / "x.svm"), zero_based=False)
    found.append(("svmlight", folder / "x.svm", ""))
    try:
        import polars as pl
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return found
    columns: dict[str, Any] = {f"f{j}": rows[:, j] for j in range(min(4000, rows.shape[1]))}
    parquet.write_table(pa.table(columns | {"y": np.arange(2000) % 2}), folder / "x.parquet")
    found.append(("Parquet, float32", folder / "x.parquet", "y"))
    table = rng.standard_normal((2000 * scale, 4000))
    pl.DataFrame(table, [f"f{j}" for j in range(4000)]).write_csv(folder / "x.csv")
    return [*found, ("CSV", folder / "x.csv", "")]


def measure_conversion(name: str, path: Path, target: str, folder: Path) -> dict[str, Any]:
    """Return the seconds and the peak of one conversion."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        found = child(CONVERT, path, Path(place) / "x.zarr", MEMORY, target)
    return {"source": name, "bytes": path.stat().st_size, **found}


def report(scans: list[dict[str, Any]], conversions: list[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    return "\n\n".join([
        "# Stores",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.table(
            ["matrix", "size", "threads", "mapped .npy", "store", "speed of the store / .npy",
             "store / plain read", "peak of a scan"],
            [["{:,} x {:,}".format(*row["shape"]), f"{row['bytes'] / 1e6:,.0f} MB",
              str(row["threads"]), f"{row['npy']:.3f} s", f"{row['store']:.3f} s",
              f"{row['npy'] / row['store']:.2f}", f"{row['store'] / row['read']:.2f}",
              f"{row['peak_mb']:.0f} MB"] for row in scans],
        ),
        common.table(
            ["source", "size", "seconds", "MB/s", "peak"],
            [[r["source"], f"{r['bytes'] / 1e6:,.0f} MB", f"{r['seconds']:.2f}",
              f"{r['bytes'] / r['seconds'] / 1e6:,.0f}", f"{r['peak_mb']:.0f} MB"]
             for r in conversions],
        ),
    ])  # fmt: skip


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the columns")
    parser.add_argument("--folder", type=Path, help="where the files are written, for a while")
    options = parser.parse_args()
    scale = 1 if options.small else 10
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        with common.log("scan"):
            scans = [measure_scan(folder, 4000, 15_000 * scale, threads) for threads in (1, 2)]
        conversions = []
        for source in write_sources(folder, scale):
            with common.log(source[0]):
                conversions.append(measure_conversion(*source, folder))
    data = {"machine": common.machine(), "scans": scans, "conversions": conversions}
    common.write(options.results, "store", data, report(scans, conversions))


if __name__ == "__main__":
    main()
