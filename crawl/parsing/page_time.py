"""Time that is not a page's own: what is loaded once, whichever page comes first.

Without it a short `parser.timeout` ends each child at its first page, and so every page.
The sandbox itself still waits no longer than a few seconds beyond the page's time.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def outside_page_time() -> Iterator[None]:
    """The alarm that ends a page's parse does not run on."""
    seconds, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        yield
    finally:
        if seconds > 0:
            signal.setitimer(signal.ITIMER_REAL, seconds)
