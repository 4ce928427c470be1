"""Genotypes in two bits: the scan against decoding and BLAS, and selections from simulated files.

    python benchmarks/genotypes.py [--full] [--folder FOLDER] [--plink2 PROGRAM]

The scan: X'v of packed genotypes, on one and two threads, beside reading the same bytes, and beside
the product of the matrix in float32 by BLAS, with and without decoding it first; with --plink2
beside `plink2 --variant-score` of the same file, of which start and end are taken off by a smaller
file. The files: 5,000
samples x 500,000 variants (0.6 GB) and, with --full, 100,000 x 400,000 (10 GB) with twelve
covariates; the selection of 100 variants, its passes over the file, the memory that it takes, and a
plain read of the file in the same run, from the disk and from the memory where the system keeps it
after that; a selection begins with nothing there, and its later passes find the file there.
Variants are drawn in blocks of 20 that resemble each other; 1 % of the genotypes are missing. Both
files fit into the memory of this machine.
"""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import _common as common
from zeronorm import _kernels, read_plink
from zeronorm.data.operations import scan

LIKE = 20  # variants of a block, each with most of its genotypes as the first one
SAME = 0.8  # of its genotypes
MISSING = 0.01
CAUSAL = 100
DRAWN = 2e9  # genotypes; more are these, moved on by some samples
CODE = np.array([3, 2, 0], np.uint8)  # of the copies of the first allele


def seconds_of(function: Callable[[], Any], repeats: int) -> float:
    """Return the median seconds of a call."""
    return common.median([common.clock(function)[0] for _ in range(repeats)])


def measure_scan(n: int, p: int, repeats: int) -> list[dict[str, Any]]:
    """Return the seconds of products of packed genotypes with vectors, and of what they replace."""
    rng = np.random.default_rng(0)
    packed = rng.integers(0, 256, (p, (n + 3) // 4), dtype=np.uint8)
    values = np.tile(np.array([2.0, 0.7, 1.0, 0.0], np.float32), (p, 1))
    index = np.arange(p)
    words = packed.reshape(-1).view(np.uint64)
    codes = (packed[:, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
    x = values[0][codes.reshape(p, -1)[:, :n]]
    rows = []
    for threads in (1, 2):
        with ThreadPoolExecutor(threads) as pool:
            parts = np.array_split(words, threads)
            read = seconds_of(partial(_largest, pool, parts), repeats)
        for m in (1, 5):
            v, out = rng.standard_normal((n, m)), np.empty((p, m))
            narrow = v.astype(np.float32)
            product = partial(_kernels.genotypes_correlate, packed, index, values, v, out, threads)
            seconds = seconds_of(product, repeats)
            rows.append({
                "threads": threads, "vectors": m, "scan": seconds, "read": read,
                "packed_gb_s": packed.nbytes / seconds / 1e9,
                "genotypes_g_s": n * p * m / seconds / 1e9,
                "blas": seconds_of(partial(np.matmul, x, narrow), repeats),
                "decode_and_blas": seconds_of(partial(_decode, packed, values[0], narrow), 1),
            })  # fmt: skip
    return rows


def _largest(pool: ThreadPoolExecutor, parts: list[np.ndarray]) -> list[int]:
    """Read every byte of some arrays, each on a thread."""
    return [*pool.map(np.max, parts)]


def _decode(packed: np.ndarray, table: np.ndarray, v: np.ndarray) -> None:
    """Decode variants to float32, 2,000 at a time, and multiply them with vectors."""
    for j in range(0, len(packed), 2000):
        codes = (packed[j : j + 2000, :, None] >> np.array([0, 2, 4, 6], np.uint8)) & 3
        _ = table[codes.reshape(len(codes), -1)[:, : len(v)]] @ v


def measure_plink2(program: str, n: int, p: int, repeats: int) -> list[dict[str, Any]]:
    """Return the seconds that `plink2 --variant-score` and a scan take for p variants of a file.

    Of both those for a file of a tenth of them are taken off: they are for starting and writing.
    """
    rng, rows = np.random.default_rng(0), []
    with tempfile.TemporaryDirectory() as folder:
        stems = [Path(folder) / name for name in ("whole", "tenth")]
        for stem, size in zip(stems, (p + p // 9, p // 9), strict=True):
            simulate(stem, n, size, 0)
        v, table = rng.standard_normal((n, 1)), Path(folder) / "v.txt"
        lines = [f"{i} {i} {value!r}" for i, value in enumerate(v[:, 0].tolist(), 1)]
        table.write_text("\n".join(["#FID IID v", *lines]) + "\n")
        for threads in (1, 2):
            command = [program, "--threads", str(threads), "--variant-score", str(table), "bin"]
            score = {"stdout": subprocess.DEVNULL, "check": True}
            theirs = [
                seconds_of(
                    partial(
                        subprocess.run,
                        [*command, "--bfile", str(stem), "--out", f"{stem}.out"], **score,
                    ),
                    repeats,
                )
                for stem in stems
            ]  # fmt: skip
            designs = [read_plink(f"{stem}.bed", n_threads=threads).X for stem in stems]
            for design in designs:
                scan(design, v)  # genotypes are counted once
            ours = [seconds_of(partial(scan, design, v), repeats) for design in designs]
            rows.append({
                "threads": threads, "plink2": theirs[0] - theirs[1], "scan": ours[0] - ours[1],
            })  # fmt: skip
    return rows


def draw_block(rng: np.random.Generator, n: int, width: int) -> np.ndarray:
    """Return the copies of some variants, (width, n), each much as the first of its twenty."""
    share = rng.uniform(0.01, 0.5, (width, 1)).astype(np.float32)
    copies = (rng.random((width, n), np.float32) < share).view(np.uint8)
    copies = copies + (rng.random((width, n), np.float32) < share)
    for j in range(width):
        if j % LIKE:
            same = rng.random(n, np.float32) < SAME
            copies[j][same] = copies[j - j % LIKE][same]
    return copies


def pack(rng: np.random.Generator, copies: np.ndarray) -> np.ndarray:
    """Return the bytes of variants, of which some genotypes are made missing."""
    code = CODE[copies]
    code[rng.random(code.shape, np.float32) < MISSING] = 1
    quad = np.pad(code, ((0, 0), (0, -code.shape[1] % 4))).reshape(len(code), -1, 4)
    return quad[:, :, 0] | quad[:, :, 1] << 2 | quad[:, :, 2] << 4 | quad[:, :, 3] << 6


def simulate(stem: Path, n: int, p: int, covariates: int) -> None:
    """Write stem.bed, .bim, .fam and .npz, the causal variants and the covariates.

    The causal variants are among those that are drawn, the first ones; the others are these with
    the samples moved on.
    """
    rng = np.random.default_rng(0)
    drawn = min(p, int(DRAWN // n) // LIKE * LIKE)
    block = max(LIKE, int(2e7 // n) // LIKE * LIKE)
    causal = np.sort(rng.choice(drawn, CAUSAL, replace=False))
    effect, eta = rng.standard_normal(CAUSAL), np.zeros(n)
    blocks = []
    for start in range(0, drawn, block):
        copies = draw_block(rng, n, min(block, drawn - start))
        for place in np.flatnonzero((causal >= start) & (causal < start + len(copies))):
            column = copies[causal[place] - start].astype(float)
            eta += effect[place] * (column - column.mean()) / max(column.std(), 1e-9)
        blocks.append(pack(rng, copies))
    with stem.with_suffix(".bed").open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        written = 0
        while written < p:
            by = 0 if not written else int(rng.integers(1, blocks[0].shape[1]))
            for one in blocks:
                file.write(np.roll(one[: p - written], by, axis=1).tobytes())
                written += len(one[: p - written])
    other = rng.standard_normal((n, covariates))
    y = eta + other.sum(axis=1) + eta.std() * rng.standard_normal(n)
    with stem.with_suffix(".bim").open("w") as file:
        file.writelines(f"{1 + 22 * j // p}\trs{j}\t0\t{j + 1}\tA\tG\n" for j in range(p))
    with stem.with_suffix(".fam").open("w") as file:
        file.writelines(f"{i} {i} 0 0 1 {value:.6f}\n" for i, value in enumerate(y, 1))
    np.savez(stem.with_suffix(".npz"), causal=causal, covariates=other)


FIT = """
import json, sys, time
import numpy as np
begin = time.perf_counter()
from zeronorm import BudgetRegressor, read_plink
stem = sys.argv[1]
genotypes = read_plink(stem)
opened = time.perf_counter()
known = np.load(stem + ".npz")
columns = {f"c{j}": column for j, column in enumerate(known["covariates"].T)}
X = genotypes.with_columns(columns)
model = BudgetRegressor(100, covariates=list(columns) or None).fit(X, genotypes.phenotype)
done = time.perf_counter()
found = np.isin(model.support_ // 20, known["causal"] // 20)
print(json.dumps({"open": opened - begin, "fit": done - opened, "passes": model.n_scans_,
    "resident_mb": next(int(line.split()[1]) / 1024 for line in open("/proc/self/status")
                        if line.startswith("VmHWM")),
    "in_causal_blocks": int(found.sum()), "gap": model.gap_}))
"""


def plain_read(path: Path) -> float:
    """Return the seconds of reading a file from its beginning to its end."""
    begin = time.perf_counter()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        whole = np.frombuffer(mapped, np.uint8)
        for start in range(0, whole.size, 1 << 26):
            whole[start : start + (1 << 26)].max()
        del whole
    return time.perf_counter() - begin


def forget(path: Path) -> None:
    """Ask the system to forget what it keeps of a file in memory."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure_file(folder: Path, n: int, p: int, covariates: int) -> dict[str, Any]:
    """Return what a selection of 100 variants from a simulated file takes, in its own process."""
    stem = folder / f"simulated_{n}_{p}"
    if not stem.with_suffix(".npz").exists():
        simulate(stem, n, p, covariates)
    forget(stem.with_suffix(".bed"))
    from_disk = plain_read(stem.with_suffix(".bed"))
    first = plain_read(stem.with_suffix(".bed"))
    forget(stem.with_suffix(".bed"))
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(stem)], capture_output=True, text=True, check=True
    )
    read = plain_read(stem.with_suffix(".bed"))
    found: dict[str, Any] = json.loads(done.stdout)
    size = stem.with_suffix(".bed").stat().st_size
    return {
        "n": n,
        "p": p,
        "covariates": covariates,
        "bytes": size,
        "read_from_disk": from_disk,
        "read": min(first, read),
        **found,
    }


def main() -> None:
    """Measure and write the report."""
    parser = common.parser(__doc__)
    parser.add_argument("--full", action="store_true", help="the file of 10 GB, too")
    parser.add_argument("--folder", type=Path, help="where simulated files are, and stay")
    parser.add_argument("--plink2", help="the program to compare the scan with")
    options = parser.parse_args()
    with common.log("scan"):
        scans = measure_scan(5000, 40000, 7)
    rivals = []
    if options.plink2:
        with common.log("plink2"):
            rivals = measure_plink2(options.plink2, 5000, 180_000, 5)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        sizes = [(5000, 500_000, 0), *([(100_000, 400_000, 12)] if options.full else [])]
        files = []
        for size in sizes:
            with common.log("{} x {}, {} covariates".format(*size)):
                files.append(measure_file(folder, *size))
    text = [
        "# Genotypes in two bits",
        __doc__.split("\n\n", 2)[2].strip(),
        common.table(
            ["threads", "vectors", "packed GB/s", "genotypes G/s", "of reading the bytes",
             "BLAS of float32 / scan", "decoding and BLAS / scan"],
            [
                [r["threads"], r["vectors"], f"{r['packed_gb_s']:.2f}", f"{r['genotypes_g_s']:.1f}",
                 f"{r['read'] / r['scan']:.0%}", f"{r['blas'] / r['scan']:.1f}",
                 f"{r['decode_and_blas'] / r['scan']:.0f}"]
                for r in scans
            ],
        ),
        *[
            common.table(
                ["threads", "plink2 --variant-score", "scan", "plink2 / scan"],
                [
                    [r["threads"], f"{r['plink2']:.3f} s", f"{r['scan']:.3f} s",
                     f"{r['plink2'] / r['scan']:.1f}"]
                    for r in rivals
                ],
            )
            for _ in rivals[:1]
        ],
        common.table(
            ["samples x variants", "covariates", "file", "opened", "fit", "passes",
             "fit / (passes x read from disk)", "fit / (passes x read from memory)", "resident",
             "chosen in causal blocks"],
            [
                [f"{f['n']:,} x {f['p']:,}", f["covariates"], f"{f['bytes'] / 1e9:.2f} GB",
                 f"{f['open']:.1f} s", f"{f['fit']:.1f} s", f["passes"],
                 f"{f['fit'] / f['passes'] / f['read_from_disk']:.2f}",
                 f"{f['fit'] / f['passes'] / f['read']:.2f}", f"{f['resident_mb']:,.0f} MB",
                 f"{f['in_causal_blocks']} of 100"]
                for f in files
            ],
        ),
        "A pass of several vectors counts each product. Resident memory counts the pages of the "
        "file that are mapped at that time.",
    ]  # fmt: skip
    data = {"machine": common.machine(), "scans": scans, "plink2": rivals, "files": files}
    common.write(options.results, "genotypes", data, "\n\n".join(text))


if __name__ == "__main__":
    main()
