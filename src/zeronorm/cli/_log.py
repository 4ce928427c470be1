"""The option --log: what a run did, with time stamps, behind what is in the file already."""

from __future__ import annotations

import logging
import platform
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ._standard_output import escaped

LOG = logging.getLogger("zeronorm.cli")
_FORM = "%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s"


class _Lines(logging.Formatter):
    """Records as lines that a terminal can do nothing but show."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Return a record as one line."""
        record.message = escaped(record.message.replace("\n", "\\n"))
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return a traceback."""
        return escaped(super().formatException(ei))


@contextmanager
def logged(path: Path | None, options: str) -> Iterator[None]:
    """Write what the package logs in the block to a file, and how the block ended.

    options : as a file of --save-config has them.
    """
    if path is None:
        yield
        return
    from ._paths import check_folder

    check_folder(path, "--log")
    if path.suffix.lower() != ".log":
        raise ValueError(f"--log must end in .log; got {path}.")
    handler = logging.FileHandler(path, encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(_Lines(_FORM, "%Y-%m-%dT%H:%M:%S"))
    package = logging.getLogger("zeronorm")
    level, begin = package.level, time.perf_counter()
    package.addHandler(handler)
    package.setLevel(logging.DEBUG)
    try:
        _begin(options)
        yield
    except KeyboardInterrupt:
        LOG.warning("interrupted after %.2f s", time.perf_counter() - begin)
        raise
    except typer.Exit as end:
        LOG.info("ended after %.2f s, exit code %d", time.perf_counter() - begin, end.exit_code)
        raise
    except BaseException:
        LOG.exception("failed after %.2f s", time.perf_counter() - begin)
        raise
    else:
        LOG.info("done after %.2f s", time.perf_counter() - begin)
    finally:
        package.setLevel(level)
        package.removeHandler(handler)
        handler.close()


def _begin(options: str) -> None:
    """Log the command, the versions and the options."""
    from importlib.metadata import version

    from .. import __version__

    LOG.info("command: %s", shlex.join(["zeronorm", *sys.argv[1:]]))
    LOG.info("folder: %s", Path.cwd())
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    LOG.info(
        "zeronorm %s, Python %s, %s, %s",
        __version__, platform.python_version(), libraries, platform.platform(),
    )  # fmt: skip
    for line in options.splitlines():
        if not line.startswith("#"):
            LOG.info("option %s", line)


def log_document(document: Mapping[str, Any]) -> None:
    """Log what a document says of the data and of the run."""
    data = document.get("data")
    if isinstance(data, Mapping):
        facts = ("source", "n_samples", "n_features", "storage", "target", "task", "class_counts")
        LOG.info("data: %s", ", ".join(f"{fact} {data[fact]}" for fact in facts))
    for note in document["notes"]:
        LOG.info("note: %s", note)
    for fact in ("chosen", "n_scans", "verified", "file"):
        if document.get(fact) is not None:
            LOG.info("%s: %s", fact, document[fact])
    seconds = document.get("seconds")
    if isinstance(seconds, Mapping):
        LOG.info("seconds: %s", ", ".join(f"{what} {one:.3f}" for what, one in seconds.items()))
