"""How far a fetch or a parse is, in a notebook or a terminal, by tqdm, which knows both.

It is an optional package: without it nothing is shown, and everything works.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from crawl.clock import SystemClock
from crawl.inspect import fetch_progress, parse_progress
from crawl.rounds.on_spark import Displays
from crawl.storage.segments import Segment

_EVERY_S = 0.5
_log = logging.getLogger("crawl")


class _Figures(Protocol):
    @property
    def done(self) -> int: ...

    @property
    def urls(self) -> int: ...

    @property
    def pace(self) -> str: ...


def notebook_displays() -> Displays:
    """A bar for each long step; none where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return Displays(notice=_log.info)
    return Displays(partial(_show_fetch, tqdm), partial(_show_parse, tqdm), _log.info)


@contextmanager
def _show_fetch(bars: Any, segment: Segment) -> Iterator[None]:
    with _shown(bars, "fetch", lambda: fetch_progress.progress_of(segment)):
        yield


@contextmanager
def _show_parse(bars: Any, segment: Segment) -> Iterator[None]:
    clock = SystemClock()
    began = clock.monotonic()

    def asked() -> parse_progress.ParseProgress:
        return parse_progress.progress_of(segment, clock.monotonic() - began)

    with _shown(bars, "parse", asked):
        yield


@contextmanager
def _shown(bars: Any, phase: str, asked: Callable[[], _Figures]) -> Iterator[None]:
    """Asks now and then from a thread of its own, since the caller waits for Spark."""
    over = threading.Event()
    bar = bars(total=None, desc=phase, unit="URL", leave=False)

    def tell() -> None:
        try:
            progress = asked()
        except Exception:
            return  # the phase must not suffer from its display
        bar.total, bar.n = progress.urls, progress.done
        bar.set_postfix_str(progress.pace, refresh=True)

    def watch() -> None:
        while not over.wait(_EVERY_S):
            tell()

    watcher = threading.Thread(target=watch, name=f"{phase}-progress", daemon=True)
    watcher.start()
    try:
        yield
        tell()
    finally:
        over.set()
        watcher.join()
        bar.close()
