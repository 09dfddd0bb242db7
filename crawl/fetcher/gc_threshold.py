"""Has the garbage collector look for cycles less often while pages come: their records hold
none, live for a moment only, and were looked through again and again (a twentieth of all
time)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 50_000


@contextmanager
def raised_gc_threshold() -> Iterator[None]:
    """Raises the threshold for a while, unless it is higher already."""
    before = gc.get_threshold()
    gc.set_threshold(max(_NEW_OBJECTS, before[0]), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
