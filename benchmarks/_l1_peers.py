"""One l1 logistic regression in its own environment: requests as lines of JSON, as in `_peers.py`.

    python _l1_peers.py METHOD THREADS

{"op": "version"}
{"op": "warm", "dtype": "float64", "sparse": true}      first call, on a tiny problem of that kind
{"op": "load", "path": folder}                          X.npy or X.npz and y.npy of the folder
{"op": "fit", "C": C, "tol": tol, "out": file.npy, "repeats": 5}
{"op": "along", "C": [...], "tol": 1e-5, "out": file}   the same along a growing C, in CSR
{"op": "until", "C": [...], "tol": 1e-5, "most": 300}   seconds of a path until it has 300 features
{"op": "path", "C": [...], "most": 300}                 numbers of non-zeros along increasing C,
                                                        until there are that many (adelie only)
{"op": "drop"}                                          frees the data

All solve  min_w ||w||_1 + C sum_i log(1 + exp(-y_i x_i'w))  without an intercept, from zero. A
method is a function of the user's X (CSR, or dense in column order) and y in {-1, +1}: what it has
to convert, it converts within the call. Limits on iterations are set out of the way, so that only
the tolerance ends a fit.

Beside the environments of peers/*.txt: blitzl1 (pip install numpy scipy setuptools wheel, then
pip install --no-build-isolation blitzl1; a C++ compiler), and glmnet in R (apt-get install
r-base-core r-cran-glmnet) without one.
"""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from _common import PeakMemory, PeerWorker, clock, serve

QUICK = 0.05  # seconds; shorter fits are repeated at once, so that a median means something
UNLIMITED = 100_000  # iterations


def zeronorm(
    X: Any, y: np.ndarray, C: float, tol: float, threads: int, solver: str = "auto"
) -> np.ndarray:
    """L1LogisticRegression; tol is the certified gap over f(0)."""
    from zeronorm.published import L1LogisticRegression

    model = L1LogisticRegression(
        C=C, fit_intercept=False, tol=tol, n_threads=threads, solver=solver
    )
    return np.ravel(model.fit(X, y).coef_)


def zeronorm_along(X: Any, y: np.ndarray, Cs: Any, tol: float, threads: int) -> Any:
    """zeronorm.l1_path at given values of C; tol is the certified gap of every point."""
    from zeronorm import l1_path

    return l1_path(X, y, Cs=Cs, tol=tol, fit_intercept=False, n_threads=threads).coef


def zeronorm_sized(X: Any, y: np.ndarray, k: int, threads: int) -> int:
    """zeronorm.L1Classifier at the largest C with k features; their number."""
    from zeronorm import L1Classifier

    model = L1Classifier(
        n_features=k, refit_C=None, fit_intercept=False, n_threads=threads
    )  # fmt: skip
    return int(model.fit(X, y).support_.size)


def liblinear(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """LIBLINEAR -s 6; tol is -e, the violation relative to the first one."""
    import scipy.sparse as sp
    from liblinear.liblinearutil import parameter, problem, train

    rows = X if sp.issparse(X) else sp.csr_matrix(X)
    model = train(problem(y, rows), parameter(f"-s 6 -c {C!r} -e {tol!r} -B -1 -q"))
    sign = 1.0 if model.get_labels()[0] == 1 else -1.0
    return sign * np.ctypeslib.as_array(model.w, shape=(X.shape[1],))


def sklearn_liblinear(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """scikit-learn's LogisticRegression, solver="liblinear"."""
    return _sklearn("liblinear", X, y, C, tol)


def sklearn_saga(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """scikit-learn's LogisticRegression, solver="saga"."""
    return _sklearn("saga", X, y, C, tol)


def _sklearn(solver: str, X: Any, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(
        C=C,
        l1_ratio=1,
        solver=solver,
        tol=tol,
        fit_intercept=False,
        max_iter=UNLIMITED,
        random_state=0,
    )
    return np.ravel(model.fit(X, y).coef_)


def snapml(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """snapml.LogisticRegression, primal; it rounds X to float32 by itself."""
    from snapml import LogisticRegression

    model = LogisticRegression(
        penalty="l1",
        dual=False,
        regularizer=1 / C,
        tol=tol,
        max_iter=UNLIMITED,
        n_jobs=threads,
        fit_intercept=False,
        random_state=0,
    )
    return np.ravel(model.fit(X, y).coef_).astype(np.float64)


def celer(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """celer_path at one alpha, prox-Newton, as its LogisticRegression calls it.

    The estimator itself copies a dense X to row order and back; this does not.
    """
    from celer import celer_path

    alphas = np.array([1 / C], dtype=X.dtype)
    coefs = celer_path(X, y, "logreg", alphas=alphas, use_PN=True, tol=tol, max_iter=1000)[1]
    return np.asarray(coefs)[:, 0]


def skglm(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """skglm.SparseLogisticRegression; tol is the violation relative to its alpha."""
    from skglm import SparseLogisticRegression

    alpha = 1 / (C * len(y))
    model = SparseLogisticRegression(
        alpha=alpha, tol=tol * alpha, fit_intercept=False, max_iter=1000
    )
    return np.ravel(model.fit(X, y).coef_)


def blitzl1(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """blitzl1.LogRegProblem; tol is the gap relative to the dual value."""
    import blitzl1 as package
    from blitzl1 import _blitzl1 as inner

    inner.data_as = _as_pointer
    package.set_use_intercept(False)
    package.set_tolerance(tol)
    return np.array(package.LogRegProblem(X, y).solve(1 / C).x)


def _as_pointer(array: np.ndarray, pointer: Any) -> tuple[np.ndarray, Any]:
    """Stand in for blitzl1's `data_as`, whose comparison of types NumPy 2 refuses."""
    array = np.asarray(array, dtype=np.dtype(pointer._type_), order="K")
    return array, array.ctypes.data_as(pointer)


def adelie(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """adelie.grpnet at one lambda; tol is both `tol` and `irls_tol`."""
    return _last(_adelie(X, y, [C], tol, threads))


def adelie_path(X: Any, y: np.ndarray, C: float, tol: float, threads: int) -> np.ndarray:
    """adelie.grpnet along 20 lambdas that end at the wanted one."""
    return _last(_adelie(X, y, _approach(X, y, C), tol, threads))


def _adelie(
    X: Any, y: np.ndarray, Cs: Any, tol: float, threads: int, until: int | None = None
) -> Any:
    """Return the coefficients along Cs, sparse; up to `until` active features, if given."""
    import adelie as ad
    import scipy.sparse as sp

    if sp.issparse(X):
        columns = X.tocsc().astype(np.float64)
        columns.sort_indices()
        matrix, dtype = ad.matrix.sparse(columns, n_threads=threads), np.float64
    else:
        matrix, dtype = ad.matrix.dense(X, n_threads=threads), X.dtype.type
    state = ad.grpnet(
        matrix,
        ad.glm.binomial((y > 0).astype(dtype), dtype=dtype),
        lmda_path=1 / (np.asarray(Cs, dtype=dtype) * len(y)),
        intercept=False,
        tol=tol,
        irls_tol=tol,
        early_exit=False,
        progress_bar=False,
        n_threads=threads,
        exit_cond=None if until is None else lambda state: state.active_set_size >= until,
    )
    if until is None and state.betas.shape[0] != len(Cs):
        raise RuntimeError(f"{state.betas.shape[0]} of {len(Cs)} points of the path")
    return state.betas.tocsr()


def _last(betas: Any) -> np.ndarray:
    return np.asarray(betas[betas.shape[0] - 1].todense()).ravel()


def _approach(X: Any, y: np.ndarray, C: float) -> np.ndarray:
    """Return 20 values of C in geometric progression, from the smallest useful one."""
    least = 1 / float(np.abs(X.T @ (0.5 * y).astype(X.dtype)).max())
    return np.geomspace(min(least, C), C, 20)


METHODS: dict[str, tuple[str, Callable[..., np.ndarray] | None]] = {
    "zeronorm": ("zeronorm", zeronorm),
    "liblinear": ("liblinear", liblinear),
    "sklearn_liblinear": ("sklearn", sklearn_liblinear),
    "sklearn_saga": ("sklearn", sklearn_saga),
    "snapml": ("snapml", snapml),
    "celer": ("celer", celer),
    "skglm": ("skglm", skglm),
    "blitzl1": ("blitzl1", blitzl1),
    "adelie": ("adelie", adelie),
    "adelie_path": ("adelie", adelie_path),
    "glmnet": ("zeronorm", None),  # in R, spoken to by `R`
    "glmnet_path": ("zeronorm", None),
}


# ------------------------------------------------------------------------------------------- R

R_CODE = r"""
suppressMessages({library(Matrix); library(glmnet)})
glmnet.control(fdev = 0, devmax = 1)
X <- NULL; y <- NULL
get <- function(name, what, n, size, skip) {
  file <- file(name, "rb"); on.exit(close(file))
  if (skip > 0) readBin(file, "raw", skip)
  readBin(file, what, n, size = size)
}
load <- function(a) {
  n <- as.integer(a[3]); p <- as.integer(a[4]); nnz <- as.numeric(a[5])
  size <- as.integer(a[6]); skip <- as.integer(a[7])
  y <<- as.integer(get(paste0(a[1], "y.bin"), "double", n, 8, 0) > 0)
  if (a[2] == "dense") {
    X <<- get(paste0(a[1], "X.npy"), "double", nnz, size, skip)
    dim(X) <<- c(n, p)
  } else {
    X <<- new("dgRMatrix", Dim = c(n, p),
              p = get(paste0(a[1], "indptr.bin"), "integer", n + 1, 4, 0),
              j = get(paste0(a[1], "indices.bin"), "integer", nnz, 4, 0),
              x = get(paste0(a[1], "data.bin"), "double", nnz, 8, 0))
  }
  "loaded"
}
fit <- function(a) {
  C <- as.numeric(a[1]); n <- length(y); gc()
  cpu <- sum(proc.time()[c(1, 2)]); start <- Sys.time()
  Z <- if (is.matrix(X)) X else as(X, "CsparseMatrix")
  lambda <- 1 / (C * n)
  if (a[4] == "path") {
    top <- max(abs(as.numeric(crossprod(Z, y - 0.5)))) / n
    lambda <- exp(seq(log(max(top, lambda)), log(lambda), length.out = 20))
  }
  if (a[4] == "along") lambda <- 1 / (get(a[5], "double", as.integer(a[6]), 8, 0) * n)
  model <- glmnet(Z, y, family = "binomial", lambda = lambda, intercept = FALSE,
                  standardize = FALSE, thresh = as.numeric(a[2]), maxit = 1e8)
  if (ncol(model$beta) != length(lambda)) stop("the path ended early")
  w <- as.numeric(model$beta[, length(lambda)])
  wall <- as.numeric(difftime(Sys.time(), start, units = "secs"))
  cpu <- sum(proc.time()[c(1, 2)]) - cpu
  file <- file(a[3], "wb")
  if (a[4] == "along") {
    writeBin(as.double(model$beta@p), file); writeBin(as.double(model$beta@i), file)
    w <- model$beta@x
  }
  writeBin(as.double(w), file); close(file)
  paste(wall, cpu)
}
input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  part <- strsplit(line, "\t")[[1]]
  reply <- tryCatch(switch(part[1], load = load(part[-1]), fit = fit(part[-1]),
    drop = { X <<- NULL; gc(); "dropped" }, version = as.character(packageVersion("glmnet"))),
    error = function(e) paste("error:", gsub("\n", " ", conditionMessage(e))))
  cat(reply, "\n", sep = ""); flush(stdout())
}
"""


@dataclass
class R:
    """glmnet in R: a process that is sent lines, and reads and writes arrays as files.

    R's own sparse matrices are by columns; the conversion from rows is within its seconds, as it
    is for everybody. R has no float32: such data are widened while they are read, uncounted.
    """

    path: bool

    def __post_init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        script = Path(self.folder.name) / "glmnet.R"
        script.write_text(R_CODE)
        self.process = subprocess.Popen(
            ["Rscript", "--vanilla", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            # The fit must not outlive the process that asked for it.
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, 9),
        )

    def ask(self, *words: object) -> str:
        """Send a line and return the reply."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline().strip()
        if not reply or reply.startswith("error:"):
            raise RuntimeError(reply or f"R ended with code {self.process.wait()}")
        return reply

    def load(self, X: Any, y: np.ndarray, stored: Path | None) -> None:
        """Hand over the data: `stored` is the file of a dense X."""
        folder = Path(self.folder.name)
        np.asarray(y, dtype=np.float64).tofile(folder / "y.bin")
        skip, size = 0, 8
        if isinstance(X, np.ndarray):
            if stored is None:
                np.save(stored := folder / "tiny.npy", X)
            link = folder / "X.npy"
            link.unlink(missing_ok=True)
            link.symlink_to(stored.resolve())
            skip, size = stored.stat().st_size - X.nbytes, X.itemsize
        else:
            for name, dtype in (("indptr", np.int32), ("indices", np.int32), ("data", np.float64)):
                getattr(X, name).astype(dtype).tofile(folder / f"{name}.bin")
        kind, count = ("dense", X.size) if isinstance(X, np.ndarray) else ("sparse", X.nnz)
        self.ask("load", f"{folder}/", kind, *X.shape, count, size, skip)

    def memory(self, field: str) -> float:
        """Return a field of the status of R's process in MB; VmRSS also resets the peak."""
        folder = Path(f"/proc/{self.process.pid}")
        if field == "VmRSS":
            (folder / "clear_refs").write_text("5")
        line = next(x for x in (folder / "status").read_text().splitlines() if x.startswith(field))
        return int(line.split()[1]) * 1024 / 1e6

    def fit(self, C: float, tol: float) -> tuple[float, float, np.ndarray]:
        """Return wall seconds, CPU seconds and w."""
        out = Path(self.folder.name) / "w.bin"
        reply = self.ask("fit", repr(C), repr(tol), out, "path" if self.path else "one")
        wall, cpu = map(float, reply.split())
        return wall, cpu, np.fromfile(out)

    def along(self, Cs: list[float], tol: float, p: int) -> tuple[float, float, Any]:
        """Return wall seconds, CPU seconds and the coefficients along a growing C."""
        import scipy.sparse as sp

        folder = Path(self.folder.name)
        np.array(Cs).tofile(folder / "C.bin")
        out = folder / "w.bin"
        reply = self.ask("fit", repr(Cs[-1]), repr(tol), out, "along", folder / "C.bin", len(Cs))
        wall, cpu = map(float, reply.split())
        numbers = np.fromfile(out)
        indptr = numbers[: len(Cs) + 1].astype(np.int64)
        indices, values = np.split(numbers[len(Cs) + 1 :], 2)
        return wall, cpu, sp.csr_matrix((values, indices.astype(np.int64), indptr), (len(Cs), p))


# -------------------------------------------------------------------------------------- worker


def _tiny(dtype: str, sparse: bool) -> tuple[Any, np.ndarray, float]:
    """Return a problem of 60 x 80 and a C that chooses some of its features."""
    rng = np.random.default_rng(0)
    X: Any = np.asfortranarray(rng.standard_normal((60, 80)), dtype=dtype)
    y = np.where(X[:, :3].sum(1) > 0, 1.0, -1.0)
    C = 4 / float(np.abs(X.T @ (0.5 * y)).max())
    if sparse:
        import scipy.sparse as sp

        X = sp.csr_matrix(X)
    return X, y, C


class Worker(PeerWorker):
    """The state between requests."""

    def __init__(self, method: str, threads: int) -> None:
        self.method, _, self.option = method.partition(":")
        self.environment, self.call = METHODS[self.method]
        self.threads = threads
        self.r = R(self.method == "glmnet_path") if self.call is None else None
        self.y = np.zeros(0)

    def version(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the version of the library; an error if it cannot be imported."""
        if self.r is not None:
            return {"version": self.r.ask("version")}
        module = importlib.import_module(self.environment)
        if self.method == "zeronorm" and not hasattr(module, "L1Classifier"):
            raise ImportError("there is no zeronorm.L1Classifier")
        return super().version({})

    def warm(self, request: dict[str, Any]) -> dict[str, Any]:
        """Time the first and the second call on a tiny problem; the difference is compilation."""
        self.X, self.y, C = _tiny(request["dtype"], request["sparse"])
        if self.r is not None:
            self.r.load(self.X, self.y, None)
        start = time.perf_counter()
        self._fit(C, 1e-3)
        first = time.perf_counter() - start
        second = self._fit(C, 1e-3)[0]
        self.drop({})
        return {"first": first, "second": second}

    def load(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read the data; nothing is converted."""
        folder = Path(request["path"])
        self.y = np.load(folder / "y.npy")
        dense = (folder / "X.npy").exists()
        self.X_columns = int(np.load(folder / "p.npy")) if (folder / "p.npy").exists() else 0
        if self.r is None and dense:
            self.X = np.load(folder / "X.npy")
        elif self.r is None:
            import scipy.sparse as sp

            self.X = sp.load_npz(folder / "X.npz")
        elif dense:
            self.r.load(np.load(folder / "X.npy", mmap_mode="r"), self.y, folder / "X.npy")
        else:
            import scipy.sparse as sp

            self.r.load(sp.load_npz(folder / "X.npz"), self.y, None)
        return {}

    def drop(self, _: dict[str, Any]) -> dict[str, Any]:
        """Free the data."""
        if self.r is not None:
            self.r.ask("drop")
        return super().drop({})

    def fit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Fit, write w, and return the seconds of every repeat and the peak of memory."""
        C, tol = request["C"], request["tol"]
        if self.r is not None:
            start = self.r.memory("VmRSS")
            wall, cpu, w = self._fit(C, tol)
            peak = self.r.memory("VmHWM") - start
        else:
            with PeakMemory() as memory:
                wall, cpu, w = self._fit(C, tol)
            peak = memory.beyond
        seconds, used = [wall], [cpu]
        while len(seconds) < request["repeats"] and wall < QUICK:
            wall, cpu, _ = self._fit(C, tol)
            seconds.append(wall)
            used.append(cpu)
        np.save(request["out"], w)
        return {"seconds": seconds, "cpu": used, "peak_mb": peak}

    def along(self, request: dict[str, Any]) -> dict[str, Any]:
        """Fit a whole path, write its coefficients, and return the seconds and the memory."""
        import scipy.sparse as sp

        Cs, tol = request["C"], request["tol"]
        if self.r is not None:
            start = self.r.memory("VmRSS")
            wall, cpu, betas = self.r.along(Cs, tol, self.X_columns)
            peak = self.r.memory("VmHWM") - start
        else:
            call = zeronorm_along if self.method == "zeronorm" else _adelie
            with PeakMemory() as memory:
                wall, cpu, betas = clock(lambda: call(self.X, self.y, Cs, tol, self.threads))
            peak = memory.beyond
        sp.save_npz(request["out"], sp.csr_matrix(betas))
        return {"seconds": wall, "cpu": cpu, "peak_mb": peak}

    def until(self, request: dict[str, Any]) -> dict[str, Any]:
        """Follow a path of 100 values of lambda until it has so many features; the seconds."""
        most, tol = request["most"], request["tol"]
        if self.method == "zeronorm":
            wall, cpu, size = clock(lambda: zeronorm_sized(self.X, self.y, most, self.threads))
            return {"seconds": wall, "cpu": cpu, "features": size}
        Cs = request["C"]
        wall, cpu, betas = clock(lambda: _adelie(self.X, self.y, Cs, tol, self.threads, most))
        betas.eliminate_zeros()
        return {"seconds": wall, "cpu": cpu, "features": int(np.diff(betas.indptr)[-1])}

    def path(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the numbers of non-zeros along increasing C."""
        betas = _adelie(self.X, self.y, request["C"], 1e-9, self.threads, request["most"])
        betas.eliminate_zeros()
        return {"nonzeros": np.diff(betas.indptr).tolist()}

    def _fit(self, C: float, tol: float) -> tuple[float, float, np.ndarray]:
        if self.r is not None:
            return self.r.fit(C, tol)
        call, extra = self.call, {"solver": self.option} if self.option else {}
        assert call is not None
        return clock(lambda: call(self.X, self.y, C, tol, self.threads, **extra))


if __name__ == "__main__":
    serve(Worker)
