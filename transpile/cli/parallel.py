"""Doing the same with many scripts, on all cores, in the order in which they were given."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

# Below that, starting a process costs more than it saves.
_SCRIPTS_PER_WORKER = 4
# So many objects, of a hundred megabytes, are left behind by a dozen scripts: taking them away
# after every one would take a fifth of the time.
_MOST_LEFT = 500_000
_FAILED = 2


def each_of(
    function: Callable[[Item], Answer],
    items: Sequence[Item],
    *,
    jobs: int | None = None,
    together: bool = True,
) -> Iterator[Answer]:
    """Yield what a function makes of each item.

    Args:
        function: one that another process can be asked for.
        items: what it is given.
        jobs: the most processes; None for as many as there are cores.
        together: the items may be taken at the same time.
    """
    workers = min(
        jobs or cores(), len(items) // _SCRIPTS_PER_WORKER if jobs is None else len(items)
    )
    if workers > 1 and together:
        yield from _in_parallel(partial(_and_collect, function), items, workers)
    elif len(items) == 1:
        yield function(items[0])
    else:
        for item in items:
            yield _and_collect(function, item)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _and_collect(function: Callable[[Item], Answer], item: Item) -> Answer:
    answer = function(item)
    # A process that does not collect by itself shall not grow with every script.
    if not gc.isenabled() and gc.get_count()[0] > _MOST_LEFT:
        gc.collect()
    return answer


def _in_parallel(
    function: Callable[[Item], Answer], items: Sequence[Item], workers: int
) -> Iterator[Answer]:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Elsewhere a fork is not safe; on Linux it saves every process the imports.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    with ProcessPoolExecutor(workers, context, initializer=_depend_on_parent) as executor:
        try:
            yield from executor.map(function, items)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _depend_on_parent() -> None:
    """Make this process one that its parent interrupts, and that does not outlive it."""
    import multiprocessing
    import signal
    from threading import Thread

    # An interruption is for the parent to report, once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
        os._exit(_FAILED)

    Thread(target=end_with_parent, daemon=True).start()
