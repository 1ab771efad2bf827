"""Many reads at once, in a bounded number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

THREADS: Final = 16
"""Reads under way at once; a client keeps as many connections (`aws.clients`)."""

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(read: Callable[[T], R], wanted: Sequence[T]) -> list[R]:
    """Return what reading each returns, in order; raises what the first that failed raised.

    A read that is under way then is waited for, one that has not begun is not made. One alone is
    read in this thread.
    """
    if len(wanted) < 2:  # noqa: PLR2004 - one, or none
        return [read(each) for each in wanted]
    pool = ThreadPoolExecutor(min(THREADS, len(wanted)))
    try:
        return list(pool.map(read, wanted))
    finally:
        pool.shutdown(cancel_futures=True)
