"""A cluster of two workers on this machine: scans beside native ones, bytes, workers that die.

    python benchmarks/dask_cluster.py [--small] [--kills N]

X is 2 GB of float32, 8,000 x 62,500 (--small: 128 MB), in chunks of columns, and the same matrix as
a .npy file that the workers map. Measured: seconds of a scan, of one vector and of five, on the two
workers and on two threads of this process; what a scan costs beside its products, by scans of a
matrix of 500 columns; the bytes that go to the workers and come back, as they are pickled, at three
sizes of X; and N times (10; 5 with --small) a SIGKILL of a worker at a random moment of a scan,
after which the scores must have the bits of before. What 1 TB on 100 workers would take follows
from these, on paper: what is sent at 1 GB/s, one worker's share of the products at the rate of one
worker here.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import distributed
import numpy as np

import _common as common
from zeronorm import from_dask
from zeronorm.data import Dense
from zeronorm.data import dask as _workers
from zeronorm.data.operations import scan

SENT = 1e9  # bytes a second on a network


def seconds_of(function: Callable[[], Any], repeats: int) -> float:
    """Return the median seconds of a call, after one that is not counted."""
    function()
    return common.median([common.clock(function)[0] for _ in range(repeats)])


def column_chunks(path: Path, n: int, p: int) -> Any:
    """Return the matrix of a file as a Dask array whose lineage is to read the file."""
    width = max(1, p // 16)

    def read(block_info: Any = None) -> np.ndarray:
        start, stop = block_info[None]["array-location"][1]
        return np.asfortranarray(np.load(path, mmap_mode="r")[:, start:stop])

    chunks = ((n,), (width,) * (p // width) + ((p % width,) if p % width else ()))
    return da.map_blocks(read, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))


def write(path: Path, n: int, p: int) -> np.ndarray:
    """Write a matrix in Fortran order, and return it mapped."""
    x = np.lib.format.open_memmap(path, "w+", np.float32, (n, p), fortran_order=True)
    rng = np.random.default_rng(0)
    for start in range(0, p, 2000):
        part = x[:, start : start + 2000]
        part[:] = rng.standard_normal(part.shape[::-1], dtype=np.float32).T
    x.flush()
    return np.load(path, mmap_mode="r")


def bytes_of_a_scan(design: Any, v: np.ndarray) -> int:
    """Return the bytes of the arguments and answers of a scan, as they are pickled."""
    total = 0
    submit, gather = _workers.Workers._submit, _workers.Workers._gather

    def counted(self: Any, owner: Any, function: Any, *arguments: Any) -> Any:
        nonlocal total
        kept = [[] if isinstance(one, list) else one for one in arguments]  # futures are names
        total += len(pickle.dumps(kept))
        return submit(self, owner, function, *arguments)

    def weighed(self: Any, futures: Any) -> Any:
        nonlocal total
        found = gather(self, futures)
        total += len(pickle.dumps(found))
        return found

    _workers.Workers._submit = counted
    _workers.Workers._gather = weighed
    try:
        scan(design, v)
    finally:
        _workers.Workers._submit = submit
        _workers.Workers._gather = gather
    return total


class Workers:
    """Two workers of one thread, each a process without a nanny, which are replaced by hand."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.processes = [self._start(), self._start()]
        client.wait_for_workers(2, timeout=60)

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "dask", "worker", self.client.scheduler.address, "--no-nanny",
             "--nthreads", "1", "--no-dashboard"],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def replace(self, number: int) -> None:
        """Start a worker for one that was killed, and wait until it is there."""
        self.processes[number].wait()
        while len(self.client.nthreads()) > 1:
            time.sleep(0.02)
        self.processes[number] = self._start()
        self.client.wait_for_workers(2, timeout=60)

    def end(self) -> None:
        """End both."""
        for process in self.processes:
            process.kill()
            process.wait()


def killed(design: Any, workers: Workers, v: np.ndarray, expected: np.ndarray, kills: int) -> dict:
    """Return what scans took in which a worker was killed, and how many had other bits."""
    rng, seconds, wrong = np.random.default_rng(0), [], 0
    plain = seconds_of(lambda: scan(design, v), 3)
    for number in range(kills):
        timer = threading.Timer(rng.uniform(0, plain), workers.processes[number % 2].kill)
        timer.start()
        took, _, scores = common.clock(lambda: scan(design, v))
        timer.join()
        wrong += not np.array_equal(scores, expected)
        seconds.append(took)
        workers.replace(number % 2)
    return {
        "kills": kills, "wrong": wrong, "seconds": plain, "median": common.median(seconds),
        "most": max(seconds),
    }  # fmt: skip


def measure(
    workers: Workers, folder: Path, n: int, p: int, repeats: int, kills: int
) -> dict[str, Any]:
    """Return all figures for one size of X."""
    client, path = workers.client, folder / "x.npy"
    x = write(path, n, p)
    rng = np.random.default_rng(1)
    resident = np.asfortranarray(x)
    native = Dense(resident, 2)
    lazy = column_chunks(path, n, p)
    designs = {"array": from_dask(lazy, client), "file": from_dask(path, client)}
    rows, bytes_moved = [], []
    for m in (1, 5):
        v = rng.standard_normal((n, m))
        expected = scan(native, v)
        for name, design in designs.items():
            assert np.array_equal(scan(design, v), expected)
            own = seconds_of(lambda design=design, v=v: scan(design, v), repeats)
            here = seconds_of(lambda v=v: scan(native, v), repeats)
            rows.append({"source": name, "vectors": m, "cluster": own, "native": here})
    v = rng.standard_normal(n)
    expected = scan(native, v)
    for columns in (p // 4, p // 2, p):
        part = from_dask(lazy[:, :columns], client)
        scan(part, v)
        moved = bytes_of_a_scan(part, v)
        bytes_moved.append({"n": n, "p": columns, "x": 4 * n * columns, "moved": moved})
    few = from_dask(lazy[:, :500], client)
    beside = seconds_of(lambda: scan(few, v), 5 * repeats) - seconds_of(
        lambda: scan(Dense(resident[:, :500], 1), v), repeats
    )
    deaths = {name: killed(design, workers, v, expected, kills) for name, design in designs.items()}
    return {"rows": rows, "bytes": bytes_moved, "beside": beside, "kills": deaths, "n": n, "p": p}


def on_paper(found: dict[str, Any]) -> dict[str, float]:
    """Return the seconds of a scan of 1 TB, 100,000 x 2.5e6 float32, on 100 workers."""
    n, p, workers = 100_000, 2_500_000, 100
    rate = 4 * found["n"] * found["p"] / found["rows"][0]["cluster"] / 2  # of one worker
    return {
        "products": 4 * n * p / workers / rate,
        "sent": (8 * n * workers + 8 * p) / SENT,
        "rate": rate,
    }


def table(found: dict[str, Any]) -> str:
    """Return the figures as Markdown."""
    n, p, paper = found["n"], found["p"], found["paper"]
    lines = [
        f"X: {n:,} x {p:,} float32, {4 * n * p / 1e9:.2f} GB; two workers of one thread.\n",
        "| X | vectors | cluster, s | two threads here, s | ratio (asked: 1.5) |",
        "|---|---|---|---|---|",
    ]
    for row in found["rows"]:
        ratio = row["cluster"] / row["native"]
        lines.append(
            f"| {row['source']} | {row['vectors']} | {row['cluster']:.3f} | {row['native']:.3f} | "
            f"{ratio:.2f} |"
        )
    lines += [
        f"\nBeside the products a scan takes {1e3 * found['beside']:.0f} ms (asked: 30).\n",
        "| columns | X, bytes | moved in a scan, bytes | 16 n + 8 p |", "|---|---|---|---|",
    ]  # fmt: skip
    for row in found["bytes"]:
        expected = 16 * row["n"] + 8 * row["p"]
        lines.append(f"| {row['p']:,} | {row['x']:,} | {row['moved']:,} | {expected:,} |")
    lines += [
        "\n| X | SIGKILLs | scans with other bits | scan, s | with a kill, median | most |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in found["kills"].items():
        lines.append(
            f"| {name} | {row['kills']} | {row['wrong']} | {row['seconds']:.2f} | "
            f"{row['median']:.2f} | {row['most']:.2f} |"
        )
    lines.append(
        f"\nOn paper, 100,000 x 2,500,000 float32 (1 TB) on 100 such workers: "
        f"{paper['products']:.1f} s of products at {paper['rate'] / 1e9:.1f} GB/s each, and "
        f"{paper['sent']:.2f} s for what travels at 1 GB/s."
    )
    return "\n".join(lines)


def main() -> None:
    """Measure, print and write the results."""
    parser = common.parser(__doc__)
    parser.add_argument("--small", action="store_true", help="128 MB, and five kills")
    parser.add_argument("--kills", type=int, help="how many workers are killed, of each source")
    options = parser.parse_args()
    n, p, repeats = (2000, 16_000, 5) if options.small else (8000, 62_500, 7)
    kills = options.kills if options.kills is not None else (5 if options.small else 10)
    machine = common.machine()
    begin = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = Workers(client)
        try:
            found = measure(workers, Path(folder), n, p, repeats, kills)
        finally:
            workers.end()
    found["paper"] = on_paper(found)
    found["seconds"] = time.perf_counter() - begin
    about = __doc__.split("\n\n", 2)[2].strip()
    text = "\n\n".join(["# A cluster of two workers", about, table(found)])
    common.write(options.results, "dask_cluster", {"machine": machine, **found}, text)


if __name__ == "__main__":
    main()
