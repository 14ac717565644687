"""Memory that is given back by counting references alone, for as long as a conversion takes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no cycles be collected meanwhile: a tree and what is known of it live to the end.

    Looking through all of them time and again would take a fifth of a conversion.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
