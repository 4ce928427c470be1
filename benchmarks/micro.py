"""How near to the speed of memory each native kernel is.

Every dense kernel is timed in turn with a plain read of the same memory (`read`: the largest 32-bit
integer of it, by NumPy's vectorised maximum, cut in pieces of 4 MB over the same number of
threads), every sparse one with SciPy's product of the same matrix and vector, the solution of a
ridge problem with that of the Python steps. Bytes are those of X as stored (data, indices and
indptr), counted once, whatever the number of vectors. Speeds are medians; ratios are medians of the
ratios within one turn.

    python benchmarks/micro.py            full size: dense float32 of 5000 x 100000, 2 GB
    python benchmarks/micro.py --quick    a tenth of it
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

import _common as common
from zeronorm._kernels import _native as native
from zeronorm.data.gathered import as_columns
from zeronorm.losses import Logistic
from zeronorm.solvers import Risk
from zeronorm.solvers.ridge_fits import newton

N_ROWS = 5000
THREADS = (1, 2)
PIECE = 1 << 20  # 32-bit integers per piece of a plain read


def dense(n: int, p: int, dtype: Any, order: str) -> np.ndarray:
    """Return (n, p) of small random values; a few thousand columns (rows) repeat."""
    X = np.empty((n, p), dtype=dtype, order=order)  # type: ignore[call-overload]
    rng = np.random.default_rng(0)
    lines = X.T if order == "F" else X
    some = rng.integers(0, 100, (min(512, len(lines)), lines.shape[1]))
    if np.dtype(dtype).kind == "f":
        some = some / 50 - 1
    some = some.astype(dtype)
    for start in range(0, len(lines), len(some)):
        stop = min(start + len(some), len(lines))
        lines[start:stop] = some[: stop - start]
    return X


def text_like(n: int, p: int, nnz: int) -> sp.csr_array:
    """Return CSR (float32, int32), words as frequent as in Zipf's law, in random order."""
    rng = np.random.default_rng(0)
    word = np.minimum(p ** rng.random(nnz) - 1, p - 1).astype(np.int64)
    column = rng.permutation(p)[word]
    row = rng.integers(0, n, nnz)
    X = sp.coo_array((np.ones(nnz, np.float32), (row, column)), shape=(n, p)).tocsr()
    X.sum_duplicates()
    return with_int32(X)


def uniform(n: int, p: int, density: float) -> sp.csr_array:
    """Return CSR (float32, int32) with entries at random places."""
    rng = np.random.default_rng(0)
    return with_int32(
        sp.random_array((n, p), density=density, format="csr", dtype=np.float32, rng=rng)
    )


def with_int32(X: Any) -> Any:
    """Sort the indices and give them the type that real matrices of this size have."""
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def plain_read(X: np.ndarray, n_threads: int) -> Callable[[], None]:
    """Return a function that reads all of X with so many threads."""
    words = X.ravel(order="K").view(np.int32)
    assert np.shares_memory(words, X)
    pieces = [words[start : start + PIECE] for start in range(0, len(words), PIECE)]
    pool = ThreadPoolExecutor(n_threads)

    def share(first: int) -> None:
        for piece in pieces[first::n_threads]:
            np.max(piece)

    if n_threads == 1:
        return lambda: share(0)
    return lambda: list(pool.map(share, range(n_threads))) and None


def measure(
    calls: dict[str, Callable[[], Any]], base: str, size: int, elements: int, repeats: int
) -> dict[str, dict[str, float]]:
    """Time the calls in turn; return speeds, and each one's ratio to the call named `base`."""
    seconds = common.interleave(calls, repeats)
    result = {}
    for name, times in seconds.items():
        ratios = [b / t for b, t in zip(seconds[base], times, strict=True)]
        result[name] = {
            "seconds": common.median(times),
            "gb_per_s": size / common.median(times) / 1e9,
            "elements_per_ns": elements / common.median(times) / 1e9,
            "ratio": common.median(ratios),
        }
        print(f"    {name:28s} {result[name]['gb_per_s']:7.2f} GB/s  {result[name]['ratio']:5.2f}")
    return result


def dense_calls(X: np.ndarray, n_threads: int) -> dict[str, Callable[[], Any]]:
    """Return the kernels of dense storage and the plain read, for so many threads."""
    n, p = X.shape
    rng = np.random.default_rng(1)
    weight, total, square = rng.random(n), np.empty(p), np.empty(p)

    def correlate(m: int) -> Callable[[], None]:
        v, out = rng.standard_normal((n, m)), np.empty((p, m))
        return lambda: native.dense_correlate(X, v, out, n_threads)

    return {
        "read": plain_read(X, n_threads),
        "correlate": correlate(1),
        "correlate, 10 vectors": correlate(10),
        "moments": lambda: native.dense_moments(X, weight, total, square, n_threads),
    }


def sparse_calls(X: sp.csr_array, n_threads: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return groups of the kernels of sparse storage with SciPy's product first in each."""
    n, p = X.shape
    C = with_int32(X.tocsc())
    rng = np.random.default_rng(1)
    v, weight = rng.standard_normal((n, 1)), rng.random(n)
    many, many_out = rng.standard_normal((n, 10)), np.empty((p, 10))
    out, total, square = np.empty((p, 1)), np.empty(p), np.empty(p)
    vector = v[:, 0].copy()
    position = np.full(p, -1, np.int32)
    position[rng.permutation(p)[:900]] = np.arange(900)
    csc, csr = (C.indptr, C.indices, C.data), (X.indptr, X.indices, X.data)
    t = n_threads
    return {
        "CSC": {
            "SciPy": lambda: C.T @ vector,
            "correlate": lambda: native.csc_correlate(*csc, v, out, t),
            "correlate, 10 vectors": lambda: native.csc_correlate(*csc, many, many_out, t),
            "moments": lambda: native.csc_moments(*csc, weight, total, square, t),
            "audit": lambda: native.audit_indices(*csc[:2], n),
        },
        "CSR": {
            "SciPy": lambda: X.T @ vector,
            "correlate": lambda: native.csr_correlate(*csr, v, out, t),
            "correlate, 10 vectors": lambda: native.csr_correlate(*csr, many, many_out, t),
            "moments": lambda: native.csr_moments(*csr, weight, total, square, t),
            "audit": lambda: native.audit_indices(*csr[:2], p),
            "gather 900 columns": lambda: native.csr_gather(*csr, position, 900, t),
            "to CSC": lambda: native.csr_to_csc(*csr, p, t),
        },
    }


def tall_calls(n_threads: int) -> tuple[sp.csr_array, dict[str, Callable[[], Any]]]:
    """Return X of few columns, by row, SciPy's product and the kernels that solve by row."""
    X = uniform(100_000, 200, 0.07)
    n, p = X.shape
    rng = np.random.default_rng(1)
    v, h, z = rng.standard_normal((n, 1)), rng.random(n), rng.standard_normal(p)
    product, total, square = np.empty((3, p))
    out, along, gram = np.empty((p, 1)), np.zeros(n), np.empty((p, p))
    vector, everything = v[:, 0].copy(), np.arange(p, dtype=np.int32)
    csr, t = (X.indptr, X.indices, X.data), n_threads
    return X, {
        "SciPy": lambda: X.T @ vector,
        "correlate": lambda: native.csr_correlate(*csr, v, out, t),
        "terms": lambda: native.csr_terms(*csr, vector, h, product, total, square, t),
        "combine": lambda: native.csr_combine(*csr, z, along, t),
        "gram": lambda: native.csr_gram(*csr, everything, h, gram, t),
    }


def gram_calls(n_threads: int) -> tuple[sp.csc_array, dict[str, Callable[[], Any]]]:
    """Return Z, 11678 x 900 with 40 entries in a row, and the ways to its weighted Gram matrix."""
    Z = with_int32(
        sp.random_array((11678, 900), density=40 / 900, format="csc", rng=np.random.default_rng(0))
    )
    weight, out = np.random.default_rng(1).random(11678), np.empty((900, 900))
    storage = (Z.indptr, Z.indices, Z.data)
    return Z, {
        "SciPy": lambda: Z.T @ Z.multiply(weight[:, None]).tocsc(),
        "gram": lambda: native.sparse_gram(*storage, weight, out, n_threads),
    }


def ridge_calls() -> tuple[np.ndarray, dict[str, Callable[[], Any]]]:
    """Return Z, 1000 x 20, and the ways to a ridge solution on it, in Python and compiled."""
    n, p = 1000, 20
    rng = np.random.default_rng(0)
    Z = np.asfortranarray(rng.standard_normal((n, p)))
    y = np.where(Z[:, :3].sum(axis=1) + rng.logistic(size=n) > 0, 1.0, -1.0)
    risk, ones, columns = Risk(y, np.full(n, 0.02), Logistic()), np.ones(p), np.arange(p)
    out = np.empty(n), np.empty(n), np.empty(p)
    how = (1e-7, False, np.inf)

    def python() -> Any:
        return newton(as_columns(Z), risk, ones, (np.zeros(p), 0.0), *how)

    def compiled() -> Any:
        numbers = (y, risk.weight, ones, Logistic.kernel, True, 0.0, *how)
        return native.dense_ridge(Z, columns, *numbers, np.zeros(p), *out)

    return Z, {"NumPy": python, "ridge": compiled}


def run(quick: bool, repeats: int) -> list[dict[str, Any]]:
    """Measure everything; one record per storage, kernel and number of threads."""
    records: list[dict[str, Any]] = []

    def add(storage: str, threads: int, measured: dict[str, dict[str, float]]) -> None:
        for kernel, figures in measured.items():
            records.append({"storage": storage, "kernel": kernel, "threads": threads, **figures})

    p = 10_000 if quick else 100_000
    for dtype, width in ((np.float32, p), (np.int8, p), (np.uint8, p), (np.float64, p // 2)):
        for order in "FC":
            X = dense(N_ROWS, width, dtype, order)
            storage = f"{np.dtype(dtype).name} {order}, {N_ROWS} x {width}"
            for threads in THREADS:
                print(f"{storage}, {threads} threads", flush=True)
                calls = dense_calls(X, threads)
                add(storage, threads, measure(calls, "read", X.nbytes, X.size, repeats))
            del X, calls
    for name, X in (
        ("text", text_like(11_678, 1_625_866, 1_000_000 if quick else 9_000_000)),
        ("uniform", uniform(20_000, 50_000, 0.001 if quick else 0.01)),
    ):
        for threads in THREADS:
            for form, calls in sparse_calls(X, threads).items():
                storage = f"{name} {form}, {X.shape[0]} x {X.shape[1]}, {X.nnz / 1e6:.1f} M entries"
                print(f"{storage}, {threads} threads", flush=True)
                pointers = X.shape[0] if form == "CSR" else X.shape[1]
                size = 8 * X.nnz + 4 * (pointers + 1)
                add(storage, threads, measure(calls, "SciPy", size, X.nnz, repeats))
    for threads in THREADS:
        X, calls = tall_calls(threads)
        storage = f"tall CSR, {X.shape[0]} x {X.shape[1]}, {X.nnz / 1e6:.1f} M entries"
        print(f"{storage}, {threads} threads", flush=True)
        size = 8 * X.nnz + 4 * (X.shape[0] + 1)
        add(storage, threads, measure(calls, "SciPy", size, X.nnz, repeats))
        Z, calls = gram_calls(threads)
        storage = f"CSC, {Z.shape[0]} x {Z.shape[1]}, {Z.nnz / 1e6:.1f} M entries"
        print(f"{storage}, {threads} threads", flush=True)
        add(storage, threads, measure(calls, "SciPy", 12 * Z.nnz, Z.nnz, repeats))
    Z, calls = ridge_calls()
    storage = f"ridge, float64 F, {Z.shape[0]} x {Z.shape[1]}"
    print(f"{storage}, 1 thread", flush=True)
    add(storage, 1, measure(calls, "NumPy", Z.nbytes, Z.size, 10 * repeats))
    return records


def bars(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was asked beside what was measured."""

    def figure(storage: str, kernel: str, threads: int, what: str) -> float:
        return next(
            float(r[what])
            for r in records
            if r["storage"].startswith(storage) and (r["kernel"], r["threads"]) == (kernel, threads)
        )

    result = []
    for order in "FC":
        share = figure(f"float32 {order}", "correlate", 2, "ratio")
        result.append(
            common.bar(
                f"dense float32 scan, {order} order, 2 threads",
                "at least 85 % of the read bandwidth",
                f"{share:.0%}",
                share >= 0.85,
            )
        )
        names = ("int8", "float32")
        speed = [figure(f"{name} {order}", "correlate", 2, "elements_per_ns") for name in names]
        result.append(
            common.bar(
                f"dense int8 scan, {order} order, 2 threads",
                "at least as many elements a second as float32",
                f"{speed[0]:.1f} against {speed[1]:.1f} per ns",
                speed[0] >= speed[1],
            )
        )
    for name in ("text", "uniform"):
        for form, threads, asked in (("CSC", 2, 1.6), ("CSR", 1, 1.0), ("CSR", 2, 1.0)):
            ratio = figure(f"{name} {form}", "correlate", threads, "ratio")
            result.append(
                common.bar(
                    f"{form} scan, {name}, {threads} thread{'s' * (threads > 1)}",
                    f"at least {asked} times SciPy's X.T @ v",
                    f"{ratio:.1f}",
                    ratio >= asked,
                )
            )
    milliseconds = 1e3 * figure("CSC, ", "gram", 2, "seconds")
    result.append(
        common.bar(
            "sparse Gram matrix of 900 columns, 2 threads",
            "few tens of milliseconds",
            f"{milliseconds:.0f} ms",
            milliseconds <= 40,
        )
    )
    return result


def report(records: list[dict[str, Any]], asked: list[dict[str, Any]], repeats: int) -> str:
    """Return the Markdown page."""
    rows = []
    for record in records:
        base = "SciPy" if "entries" in record["storage"] else "read"
        base = "NumPy" if record["storage"].startswith("ridge") else base
        rows.append(
            [
                record["storage"],
                record["threads"],
                record["kernel"],
                f"{1e3 * record['seconds']:.2f}",
                f"{record['gb_per_s']:.1f}",
                f"{record['elements_per_ns']:.2f}",
                "" if record["kernel"] == base else f"{record['ratio']:.2f} x {base}",
            ]
        )
    header = ["X", "threads", "kernel", "ms", "GB/s of X", "elements per ns", "speed"]
    return "\n\n".join(
        [
            "# Kernels against the speed of memory",
            f"`python benchmarks/micro.py`. Medians of {repeats} turns. `read` takes the largest "
            "32-bit integer of the same memory; SciPy is `X.T @ v` with the same types (the Gram "
            "matrix: `Z.T @ (w * Z)`), always one thread; NumPy is the kernel's twin. Bytes of "
            "X count once, whatever the number of vectors.",
            common.bars_table(asked),
            common.table(header, rows),
        ]
    )


def main() -> None:
    """Run, print and write results/micro.json and micro.md."""
    parser = common.parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size, 5 turns")
    options = parser.parse_args()
    common.one_thread()
    about = common.machine()
    repeats = 5 if options.quick else 9
    records = run(options.quick, repeats)
    asked = bars(records)
    text = report(records, asked, repeats)
    print("\n" + common.bars_table(asked))
    data = {"machine": about, "repeats": repeats, "bars": asked, "records": records}
    common.write(options.results, "micro", data, text)


if __name__ == "__main__":
    main()
