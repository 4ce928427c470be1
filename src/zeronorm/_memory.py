"""How much memory this process may use, and sizes in words."""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path

LARGEST_SHARE = 0.5  # of the available memory, of what is loaded although it is not asked for
_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


def available_memory() -> float:
    """Return the bytes that this process can still take, infinity where the system does not tell.

    The least of what the machine has left and what the limits of its container and of the process
    leave.
    """
    found = [_of_machine(), *(_below(limit, used) for limit, used in _LIMITS), _of_process()]
    return max(0.0, min(found))


def used_memory() -> float:
    """Return the bytes that this process has in memory of its own, 0 where nobody tells."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        found = fields.get("RssAnon", fields.get("VmRSS", "0"))
        return 1024.0 * float(found.split()[0])
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource

        most = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
        return most if sys.platform == "darwin" else 1024.0 * most
    except ImportError:
        return 0.0


def readable(size: float) -> str:
    """Return bytes in words, as 1.5 GB."""
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{size:.0f} bytes"


def _of_machine() -> float:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * float(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def _below(limit: str, used: str) -> float:
    """Return what the limit of a control group leaves; its caches count as used but can go."""
    try:
        return float(Path(limit).read_text()) - float(Path(used).read_text()) + _cached(limit)
    except (OSError, ValueError):  # none, or "max"
        return math.inf


def _cached(limit: str) -> float:
    """Return the bytes of files that a control group is charged for."""
    try:
        lines = (Path(limit).parent / "memory.stat").read_text().splitlines()
        stat = dict(line.split() for line in lines)
        return float(stat.get("total_inactive_file", stat.get("inactive_file", 0)))
    except (OSError, ValueError):
        return 0.0


def _of_process() -> float:
    """Return what `ulimit -v` leaves of addresses."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return math.inf
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return float(limit - pages * os.sysconf("SC_PAGE_SIZE"))
    except (ImportError, OSError, ValueError, AttributeError):
        return math.inf
