"""Fits of a store three times larger than memory, and scans of single-cell files.

    python benchmarks/out_of_core.py [--small] [--folder FOLDER]

The first table is a selection of 50 of 150,000 features of a dense float32 store by a process that
may use a third of the size of the store, pages of files in the system's memory included. The limit
is a control group's, so that Linux, its version 1 or 2 of them and the right to make one are
needed. Plain reads of the store's files, in blocks of 8 MiB, surround the fit in the same process.
A pass is a scan, or the one look at means and variances before.

The second table is a scan of all genes with one vector, one thread: counts of 5 % of the entries,
by cell, as AnnData and 10x Genomics write them, and by gene. The system forgets the files before
each scan and each plain read. Speed is bytes of the file by the second; the peak is what is
resident in a process of its own beyond what it had after its imports.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
import zeronorm
from genotypes import forget
from store import MEMORY, child, fill
from zeronorm.data import as_design
from zeronorm.io.hdf5 import open_annotated

REPEATS = 5
LEAST = 300 << 20  # bytes that the libraries and the columns of a small problem need
CHUNK = 1 << 20  # entries of a chunk of the HDF5 files that have some
GROUPS = Path("/sys/fs/cgroup")
FIT = "import sys, out_of_core; out_of_core.fit(sys.argv[1], sys.argv[2])"
SCAN = "import sys, out_of_core; out_of_core.scan(sys.argv[1])"


def seconds_of_reading(files: list[Path]) -> float:
    """Return the seconds of reading files, which the system has forgotten, from end to end."""
    buffer = bytearray(1 << 23)
    for path in files:
        forget(path)
    begin = time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
    return time.perf_counter() - begin


def fit(store: str, group: str) -> None:
    """Print what a selection from a store takes in a control group, beside reading its files."""
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
    files = [path for path in sorted(Path(store, "X").rglob("*")) if path.is_file()]
    X = as_design(store)
    causal = np.arange(0, X.shape[1], X.shape[1] // 10)
    noise = np.random.default_rng(3).standard_normal(X.shape[0])
    y = X.gather(causal).sum(axis=1) + noise
    reads = [seconds_of_reading(files)]
    begin = time.perf_counter()
    model = zeronorm.BudgetRegressor(50, n_threads=2).fit(store, y)
    seconds = time.perf_counter() - begin
    reads.append(seconds_of_reading(files))
    found = int(np.isin(causal, model.support_).sum())
    print(json.dumps({"seconds": seconds, "passes": model.n_scans_ + 1, "reads": reads,
                      "found": found}))  # fmt: skip


def scan(path: str) -> None:
    """Print what scans of a single-cell file take, beside reading it."""
    warnings.simplefilter("ignore")  # a store would be faster
    X = open_annotated(path).design()
    v = np.random.default_rng(1).standard_normal(X.shape[0])
    reads, scans = [], []
    memory = common.PeakMemory()
    with memory:
        for _ in range(REPEATS):
            reads.append(seconds_of_reading([Path(path)]))
            forget(Path(path))
            begin = time.perf_counter()
            X.correlate(v, 0, X.shape[1])
            scans.append(time.perf_counter() - begin)
    print(json.dumps({"reads": reads, "scans": scans, "peak_mb": memory.beyond}))


@contextmanager
def limited(n_bytes: int) -> Iterator[Path]:
    """Make a control group that may use so much memory, with the files that it reads."""
    first = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if first else GROUPS) / f"zeronorm-{os.getpid()}"
    group.mkdir()
    try:
        (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(n_bytes))
        yield group
    finally:
        group.rmdir()


def measure_fit(folder: Path, n: int, p: int) -> dict[str, Any]:
    """Return the seconds of a selection from a store under a limit, and of plain reads of it."""
    fill(folder / "x.npy", n, p)
    zeronorm.write_store(folder / "x.npy", folder / "x.zarr", memory=MEMORY)
    (folder / "x.npy").unlink()
    os.sync()
    limit = max(4 * n * p // 3, LEAST)
    found = []
    with limited(limit) as group:
        for _ in range(REPEATS):
            found.append(child(FIT, folder / "x.zarr", group))
    return {"shape": [n, p], "bytes": 4 * n * p, "limit": limit, "fits": found}


def write_cells(folder: Path, n: int, p: int) -> dict[str, Path]:
    """Write counts as AnnData and 10x Genomics do; return the files by what they are."""
    import h5py

    counts = sp.random_array((n, p), density=0.05, rng=np.random.default_rng(0), format="csr")
    counts.data = np.ceil(counts.data * 9).astype(np.float32)
    texts = {"cells": [f"c{i}" for i in range(n)], "genes": [f"g{j}" for j in range(p)]}
    paths = {}
    for name, matrix, packed in (
        ("h5ad, by cell", counts, {}),
        ("h5ad, by gene", counts.tocsc(), {}),
        ("h5ad, by cell, gzip", counts, {"compression": "gzip", "compression_opts": 4}),
        ("10x, by cell, gzip", counts, {"compression": "gzip", "compression_opts": 4}),
    ):
        path = folder / f"{len(paths)}.{'h5ad' if name.startswith('h5ad') else 'h5'}"
        chunks = {"chunks": (min(CHUNK, matrix.nnz),), **packed} if packed else {}
        with h5py.File(path, "w") as file:
            if path.suffix == ".h5ad":
                group = file.create_group("X")
                group.attrs["encoding-type"] = f"{matrix.format}_matrix"
                group.attrs["shape"] = matrix.shape
                for table, index in (("obs", texts["cells"]), ("var", texts["genes"])):
                    file.create_group(table).attrs["_index"] = "_index"
                    file[table]["_index"] = index
            else:
                group = file.create_group("matrix")
                group["shape"], group["barcodes"] = matrix.shape[::-1], texts["cells"]
                group["features/id"] = group["features/name"] = texts["genes"]
            group["indptr"] = matrix.indptr
            group.create_dataset("indices", data=matrix.indices.astype(np.int32), **chunks)
            group.create_dataset("data", data=matrix.data, **chunks)
        paths[name] = path
    return paths


def report(fit: dict[str, Any], scans: list[dict[str, Any]]) -> str:
    """Return the results as Markdown."""
    ratios = [f["seconds"] / f["passes"] / np.mean(f["reads"]) for f in fit["fits"]]
    first = fit["fits"][0]
    seconds = common.median([f["seconds"] for f in fit["fits"]])
    read = common.median([one for f in fit["fits"] for one in f["reads"]])
    return "\n\n".join([
        "# Data larger than memory",
        (__doc__ or "").split("\n\n", 2)[2].strip(),
        common.table(
            ["store", "size", "memory", "fit", "passes", "plain read",
             "fit / (passes x plain read)", "causal features found"],
            [["{:,} x {:,}".format(*fit["shape"]), f"{fit['bytes'] / 1e6:,.0f} MB",
              f"{fit['limit'] / 1e6:,.0f} MB", f"{seconds:.1f} s", first["passes"],
              f"{read:.2f} s",
              f"{common.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
              f"{first['found']} of 10"]],
        ),
        common.table(
            ["file", "size", "scan", "plain read", "MB/s", "plain read / scan", "peak"],
            [[r["file"], f"{r['bytes'] / 1e6:,.0f} MB", f"{common.median(r['scans']):.2f} s",
              f"{common.median(r['reads']):.2f} s",
              f"{r['bytes'] / common.median(r['scans']) / 1e6:,.0f}",
              f"{common.median(r['reads']) / common.median(r['scans']):.2f}",
              f"{r['peak_mb']:,.0f} MB"] for r in scans],
        ),
    ])  # fmt: skip


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--small", action="store_true", help="a tenth of the columns and cells")
    parser.add_argument("--folder", type=Path, help="where the files are written, for a while")
    options = parser.parse_args()
    scale = 1 if options.small else 10
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = Path(temporary)
        with common.log("a store larger than memory"):
            fit = measure_fit(folder, 4000, 15_000 * scale)
        scans = []
        for name, path in write_cells(folder, 5000 * scale, 20_000).items():
            with common.log(name):
                found = child(SCAN, path)
            scans.append({"file": name, "bytes": path.stat().st_size, **found})
    data = {"machine": common.machine(), "fit": fit, "scans": scans}
    common.write(options.results, "out_of_core", data, report(fit, scans))


if __name__ == "__main__":
    main()
