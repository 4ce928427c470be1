"""The option --scheduler: a connection to a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WAIT = 15  # seconds for an answer


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Give a client of the scheduler at an address, which is closed at the end; None without one.

    Raises
    ------
    ValueError
        Where nothing answers there, or Dask is not installed.
    """
    if address is None:
        yield None
        return
    try:
        import distributed
    except ImportError:
        raise ValueError(
            "--scheduler needs dask and distributed: pip install 'zeronorm[dask]'."
        ) from None
    try:
        connect: Any = distributed.Client
        client = connect(address, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ValueError(
            f"--scheduler must be the address of a Dask scheduler, as tcp://HOST:8786; nothing "
            f"answers at {address} ({type(error).__name__}). Start one with: dask scheduler"
        ) from None
    with client:
        yield client
