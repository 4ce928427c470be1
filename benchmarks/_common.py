"""What the benchmark scripts share: timing, memory, the machine, peers, results.

Only NumPy and the standard library are imported at the top, because the peers' environments use
this module too (`_peers.py`).
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import ctypes
import gc
import hashlib
import importlib
import importlib.metadata
import json
import os
import platform
import re
import resource
import selectors
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

import _sources as sources

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
CACHE = HERE / ".cache"
GOLUB = ROOT / "examples" / "data" / "golub.npz"
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


# Options that say how much is measured: the first kind only less than what is committed.
_REDUCED = ("tiny", "small", "quick", "only")
_LISTS = ("sets", "parts", "methods", "solvers", "sizes", "k", "C", "cs", "threads", "l1")
_NO_AMOUNTS = ("jobs", "threads")
_AT_LEAST_ONE = ("seeds", "splits", "repeats", "turns", "rounds", "draws")
_SCRATCH: list[Path] = []  # the folder of a run whose results are only printed


class Parser(argparse.ArgumentParser):
    """A parser of options that sends the results of less than the whole to no committed file.

    Less is: `--tiny` and the like, fewer sets, methods or turns than by default. What `--keep`
    merges with the rest of a file, or what has a `--name` of its own, is none. Less prints its
    report, unless `--results` says where it goes.
    """

    def parse_args(self, *args: Any, **more: Any) -> Any:
        """Return the options; `results` is a folder that goes away where nothing is to be kept."""
        options = super().parse_args(*args, **more)
        sys.excepthook = _one_line
        self._check(options)
        implied = options.results is self.get_default("results")
        if implied and _is_reduced(self._actions, options):
            options.results = _scratch()
        return options

    def _check(self, options: argparse.Namespace) -> None:
        """End the script where it could measure nothing, or write nothing hours later."""
        for name in _AT_LEAST_ONE:
            value = getattr(options, name, None)
            if value is not None and value < 1:
                self.error(f"--{name} must be at least 1; got {value}")
        limit = getattr(options, "limit", None)
        if limit is not None and not limit > 0:
            self.error(f"--limit must be more than 0 seconds; got {limit:g}")
        check_folder(options.results)


def golub() -> tuple[Any, Any]:
    """Return the leukaemia data among the examples: X and y."""
    with np.load(GOLUB) as file:
        return file["X"], file["y"]


def check_folder(folder: Path) -> None:
    """End the script where results cannot be written to a folder, which need not be there yet."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        sys.exit(f"--results {folder}: {there} is a file, not a folder.")
    if not os.access(there, os.W_OK):
        sys.exit(f"--results {folder}: nothing can be written to {there}.")


def _one_line(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """Say in one line that a script was ended; other errors have their traceback."""
    if issubclass(kind, KeyboardInterrupt):
        print("\nended: what was measured since the last 'wrote' is lost.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def _scratch() -> Path:
    """Return a folder that is there until the script ends."""
    if not _SCRATCH:
        _SCRATCH.append(Path(tempfile.mkdtemp(prefix="zeronorm-benchmark-")))
        atexit.register(shutil.rmtree, _SCRATCH[0], ignore_errors=True)
    return _SCRATCH[0]


def _is_reduced(actions: Sequence[argparse.Action], options: argparse.Namespace) -> bool:
    """Return whether the options ask for less than the whole."""
    given = {
        one.dest: one for one in actions if getattr(options, one.dest, one.default) != one.default
    }
    if any(name in given for name in _REDUCED):
        return True
    if "name" in given:
        return False
    merged = getattr(options, "keep", False) or getattr(options, "big", False)
    return any(
        _is_less(one, getattr(options, name))
        for name, one in given.items()
        if not (merged and name in _LISTS)
    )


def _is_less(action: argparse.Action, value: Any) -> bool:
    """Return whether a value other than the default is a part of it, or a smaller number."""
    if action.type is int and action.dest not in _NO_AMOUNTS:
        return action.default is None or value < action.default
    if action.dest not in _LISTS or action.type is not None:
        return False
    whole = set(re.split("[,;]", action.default or ""))
    return not action.default or set(re.split("[,;]", value)) < whole


def parser(description: str | None) -> Parser:
    """Return a parser with the options that all scripts have."""
    result = Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument(
        "--data", default=None, help="folder of the data sets (default: $ZERONORM_DATA)"
    )
    result.add_argument(
        "--peers", default=None, help="folder of the peers' environments (default: $ZERONORM_PEERS)"
    )
    result.add_argument(
        "--results",
        type=Path,
        default=RESULTS,
        help="folder the results are written to; a run of less than the whole only prints without",
    )
    return result


def data_folder(argument: str | None) -> Path:
    """Return the folder of the data sets, or end the script with the remedy."""
    # A folder that is named and absent is an error: another one would be measured without a word.
    for how, named in (("--data", argument), ("ZERONORM_DATA", os.environ.get("ZERONORM_DATA"))):
        if named:
            if not Path(named).is_dir():
                sys.exit(f"no data folder: {how} is {named}, which is no folder.")
            return Path(named).resolve()
    usual = ROOT.parent / "shared" / "data"
    if usual.is_dir():
        return usual.resolve()
    sys.exit("no data folder: give --data DIR or set ZERONORM_DATA (see benchmarks/README.md).")


def peer_folder(argument: str | None) -> Path | None:
    """Return the folder of the peers' environments; None when there is none."""
    for candidate in (argument, os.environ.get("ZERONORM_PEERS"), ROOT.parent / "peers"):
        if candidate and Path(candidate).is_dir():
            return Path(candidate).resolve()
    return None


def cache_folder() -> Path:
    """Return the folder of what a rerun can use again; git ignores it."""
    CACHE.mkdir(exist_ok=True)
    return CACHE


# ---------------------------------------------------------------------------------------- time


def clock(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall seconds, CPU seconds of the process, and what the call returned."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    value = call()
    return time.perf_counter() - wall, time.process_time() - cpu, value


def interleave(
    calls: Mapping[str, Callable[[], Any]], repeats: int, warm_up: int = 1
) -> dict[str, list[float]]:
    """Time the calls in turn, so that a ratio is taken within one run of the machine."""
    for _ in range(warm_up):
        for call in calls.values():
            call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            seconds[name].append(clock(call)[0])
    return seconds


def median(values: Sequence[float]) -> float:
    """Return the median as a plain float."""
    return float(statistics.median(values))


# -------------------------------------------------------------------------------------- memory


def _status(field: str) -> float:
    """Return a field of /proc/self/status in MB (10**6 bytes)."""
    with open("/proc/self/status") as lines:
        for line in lines:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024 / 1e6
    return float("nan")


def resident() -> float:
    """Return the resident memory of this process in MB, after giving free pages back."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


class PeakMemory:
    """Peak resident memory of a block beyond what was resident before it, in MB.

    The kernel's high-water mark is exact; where it cannot be reset, samples every 2 ms stand in.

    Attributes
    ----------
    start, peak : float
        Resident memory before the block and the largest within it.
    exact : bool
        Whether the kernel's mark was used.
    """

    def __enter__(self) -> PeakMemory:
        """Reset the mark and start sampling."""
        self.start = resident()
        self.peak = self.start
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.exact = True
        except OSError:
            self.exact = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        if not self.exact:
            self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._stop.wait(0.002):
            self.peak = max(self.peak, _status("VmRSS"))

    def __exit__(self, *_: object) -> None:
        """Read the mark."""
        self._stop.set()
        if self.exact:
            self.peak = max(self.peak, _status("VmHWM"))
        else:
            self._thread.join()

    @property
    def beyond(self) -> float:
        """Peak minus start, MB."""
        return self.peak - self.start


# ------------------------------------------------------------------------------------- machine


def machine() -> dict[str, Any]:
    """Describe the machine and the versions that the figures depend on."""
    cpu = platform.processor() or "unknown"
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    memory = 0.0
    with contextlib.suppress(OSError, ValueError):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[call-overload]
    versions = {}
    for name in ("numpy", "scipy", "scikit-learn", "zeronorm"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "date": date.today().isoformat(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(memory, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "versions": versions,
        "code": code_digest(),
    }


def code_digest() -> str:
    """Return a digest of the package's sources, by which cached results of ours are told apart."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "zeronorm").rglob("*")):
        if path.suffix in {".py", ".cpp", ".hpp"} and "cli" not in path.name:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


# ------------------------------------------------------------------------------------- results

_EARLIER: list[sources.Record] = []  # of the results that were read and go into new ones
_PEER_SCRIPTS: set[Path] = set()


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def bar(name: str, asked: str, measured: str, met: bool | None) -> dict[str, Any]:
    """Return a row of the table "asked beside measured"; met None = not measured."""
    return {"what": name, "asked": asked, "measured": measured, "met": met}


def bars_table(bars: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of what was asked beside what was measured."""
    word = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        [b["what"], b["asked"], b["measured"], "-" if "nothing" in b["asked"] else word[b["met"]]]
        for b in bars
    ]
    return table(["what", "asked", "measured", "met"], rows)


def write(
    folder: Path, name: str, data: Mapping[str, Any], markdown: str | None, package: bool = True
) -> None:
    """Write name.json and name.md into the folder, with the record of what made them.

    data : with what `machine` returned as "machine", unless nothing was measured.
    markdown : None for no report, as of a run that goes on.
    package : whether the figures depend on the code of zeronorm, not only on the scripts'.
    """
    if folder in _SCRATCH:
        if markdown is None:
            return
        print(markdown.rstrip())
        print("less than the whole: nothing is written without --results FOLDER", file=sys.stderr)
        return
    folder.mkdir(parents=True, exist_ok=True)
    made = sources.merged([sources.record(_PEER_SCRIPTS, package), *_EARLIER])
    whole = {**data, "made": made}
    replace_text(folder / f"{name}.json", json.dumps(whole, indent=1, default=_plain) + "\n")
    if markdown is None:
        return
    foot = made[0]["date"]
    if about := data.get("machine"):
        versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
        foot = (
            f"{about['date']}, {about['cpu']}, {about['cores']} cores, {about['memory_gb']} GB, "
            f"Python {about['python']}, {versions}, {about['blas']}; load at the start "
            f"{about['load_at_start']}. Sources {about['code']}"
        )
    replace_text(folder / f"{name}.md", f"{markdown.rstrip()}\n\n{foot}. {sources.short(made)}\n")
    print(f"wrote {folder / name}.json and .md", file=sys.stderr)


def replace_text(file: Path, text: str) -> None:
    """Write a file as a whole: a run that is ended here leaves the one before."""
    part = file.with_name(f"{file.name}.part")
    part.write_text(text)
    part.replace(file)


def read_json(file: Path) -> dict[str, Any]:
    """Return what a file of results holds, or end the script where it holds none."""
    try:
        data = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        sys.exit(f"{file} cannot be read ({error}). Remove it, or restore it from git.")
    if not isinstance(data, dict):
        sys.exit(f"{file} has no results of these scripts. Remove it, or restore it from git.")
    return data


def earlier(folder: Path, name: str) -> dict[str, Any]:
    """Return name.json of an earlier run, {} where there is none.

    What is written from now on holds parts of it, so its record goes along.
    """
    file = folder / f"{name}.json"
    if not file.exists():
        return {}
    data = read_json(file)
    _EARLIER.extend(data.get("made", [sources.unknown(name)]))
    return data


def reuse(name: str) -> None:
    """Note that what is written from now on holds rows of other sources, which have no record."""
    _EARLIER.append(sources.unknown(name))


def kept(folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows of an earlier run on the same machine."""
    return list(earlier(folder, name).get("records", []))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot write {type(value)} as JSON")


# --------------------------------------------------------------------------------------- peers


class PeerError(RuntimeError):
    """A peer failed or ran past its limit; the text says which."""


class Peer:
    """A process with one library in its own environment, spoken to in lines of JSON.

    Parameters
    ----------
    method : str
        A method of `script`.
    python : str
        The interpreter of its environment.
    threads : int or None
        Threads of BLAS, OpenMP and numba; None leaves each library its default.
    script : str
        What runs there: a file of this folder.
    """

    def __init__(
        self, method: str, python: str, threads: int | None = 1, script: str = "_peers.py"
    ) -> None:
        environment = dict(os.environ)
        if threads is not None:
            environment.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
        self.method = method
        _PEER_SCRIPTS.add(HERE / script)
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(HERE / script), method, str(threads or 0)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._errors: list[str] = []
        # A full pipe of error text would block the peer.
        threading.Thread(target=self._drain, daemon=True).start()

    def _drain(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors = [*self._errors[-20:], line.rstrip()]

    def ask(self, limit: float | None = None, **request: Any) -> dict[str, Any]:
        """Send a request and return the reply.

        PeerError when it fails or needs more than `limit` seconds of CPU (so that other work on
        the machine does not end it), or ten times as many seconds on the clock.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begin, used = time.perf_counter(), self._cpu()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self._failure()) from None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not selector.select(None if limit is None else 0.5):
                assert limit is not None
                spent = time.perf_counter() - begin
                if self._cpu() - used > limit or spent > 10 * limit:
                    self.close()
                    raise PeerError(f"over {limit:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(self._failure())
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise PeerError(reply["error"])
        return reply

    @property
    def alive(self) -> bool:
        """Whether the process can be asked again."""
        return self._process.poll() is None

    def _cpu(self) -> float:
        """Return the CPU seconds of the process and of its children (R is one)."""
        pid = self._process.pid
        ticks = 0
        with contextlib.suppress(OSError):
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            for one in (str(pid), *children):
                fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _failure(self) -> str:
        code = self._process.wait()
        time.sleep(0.1)
        last = self._errors[-1] if self._errors else ""
        return f"ended with code {code} {last}".strip()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Peer:
        """Return the peer."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.close()


PACKAGES = {"liblinear": "liblinear-official", "sklearn": "scikit-learn"}  # not named as modules


class PeerWorker:
    """The other end of a `Peer`: an operation is a method, from the request to the reply."""

    environment: str  # the name of the library's module
    X: Any = None

    def version(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return the version of the library; an error if it cannot be imported."""
        importlib.import_module(self.environment)
        package = PACKAGES.get(self.environment, self.environment)
        return {"version": importlib.metadata.version(package)}

    def limit(self, request: dict[str, Any]) -> dict[str, Any]:
        """Bound the address space."""
        size = int(request["gb"] * 1e9)
        resource.setrlimit(resource.RLIMIT_AS, (size, size))
        return {}

    def drop(self, _: dict[str, Any]) -> dict[str, Any]:
        """Free the data."""
        self.X = None
        return {}


def serve(make: Callable[[str, int], Any]) -> None:
    """Answer the requests on stdin until there are none, for the METHOD and THREADS of sys.argv."""
    warnings.simplefilter("ignore")
    worker: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "quit":
            break
        try:
            with contextlib.redirect_stdout(sys.stderr):
                if worker is None:
                    worker = make(sys.argv[1], int(sys.argv[2]))
                reply = getattr(worker, request["op"])(request)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(reply), flush=True)


def save_problem(folder: Path, X: Any, y: np.ndarray) -> None:
    """Write X and y where a peer's `load` finds them."""
    np.save(folder / "y.npy", y)
    if isinstance(X, np.ndarray):
        np.save(folder / "X.npy", X)
    else:
        import scipy.sparse as sp

        sp.save_npz(folder / "X.npz", X, compressed=False)


def one_thread() -> None:
    """Start this script again with one thread everywhere, unless that is so already."""
    if any(os.environ.get(name) != "1" for name in THREAD_VARIABLES):
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
        os.execv(sys.executable, [sys.executable, *sys.argv])


def interpreter(environment: str, peers: Path | None) -> str | None:
    """Return the interpreter of a peer's environment; None when it is not installed."""
    if environment == "zeronorm":
        return sys.executable
    if peers is None:
        return None
    python = peers / environment / "bin" / "python"
    return str(python) if python.exists() else None


@contextlib.contextmanager
def log(text: str) -> Iterator[None]:
    """Say on stderr what is done and how long it took."""
    print(f"{text} ...", end="", flush=True, file=sys.stderr)
    start = time.perf_counter()
    yield
    print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr)
