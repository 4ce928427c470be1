"""How much memory this process may use, and sizes in words."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

LARGEST_SHARE = 0.5  # of the available memory, of what is loaded although it is not asked for
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")
# The files of a limit and of what is used of it, by the version of control groups.
_LIMITS = (
    ("memory.max", "memory.current"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_memory() -> float:
    """Return the bytes that this process can still take, infinity where the system does not tell.

    The least of what the machine has left and what the limits of its control groups (a container, a
    job of a batch system) and of the process leave.
    """
    found = [_of_machine(), *map(_of_group, _control_groups()), _of_process()]
    return max(0.0, min(found))


def machine_memory() -> float:
    """Return the bytes of memory of this machine, infinity where the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


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
    return machine_memory()


def _control_groups() -> Iterator[Path]:
    """Yield the control groups of memory that this process is in, each with those above it."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        lines = ["0::/"]
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root = _CONTROL_GROUPS / "memory" if kinds else _CONTROL_GROUPS
        own = root / path.lstrip("/")
        yield own
        yield from (group for group in own.parents if group.is_relative_to(root))


def _of_group(group: Path) -> float:
    """Return what the limit of a control group leaves; its caches count as used but can go."""
    for limit, used in _LIMITS:
        try:
            most, taken = float((group / limit).read_text()), float((group / used).read_text())
            return most - taken + _cached(group)
        except (OSError, ValueError):  # none, or "max"
            continue
    return math.inf


def _cached(group: Path) -> float:
    """Return the bytes of files that a control group is charged for."""
    try:
        lines = (group / "memory.stat").read_text().splitlines()
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
