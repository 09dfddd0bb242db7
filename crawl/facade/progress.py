"""Shows how far a fetch or a parse is, on whatever display the caller has: a terminal's, or a
notebook's bar by tqdm.

tqdm is an optional package: without it nothing is shown, and everything works.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from crawl.clock import Clock, SystemClock
from crawl.phases.fetch import progress as fetch_progress
from crawl.phases.parse import progress as parse_progress
from crawl.rounds.on_spark import Displays
from crawl.storage.segments import Segment
from crawl.telemetry.progress import ProgressDisplay, ProgressView, shown_progress

_log = logging.getLogger("crawl")

MakeDisplay = Callable[[str], ProgressDisplay]
"""Makes the display of a phase, by its name."""


def phase_displays(make_display: MakeDisplay, notice: Callable[[str], None]) -> Displays:
    """The displays of a fetch and of a parse; `notice` is given lines for the user."""
    return Displays(partial(show_fetch, make_display), partial(show_parse, make_display), notice)


@contextmanager
def show_fetch(make_display: MakeDisplay, segment: Segment) -> Iterator[None]:
    """Shows how far the fetch of a segment is while the block runs."""

    def look() -> ProgressView | None:
        progress = fetch_progress.progress_of(segment)
        return progress if progress.parts else None

    with shown_progress(make_display("fetch"), look):
        yield


@contextmanager
def show_parse(
    make_display: MakeDisplay, segment: Segment, clock: Clock | None = None
) -> Iterator[None]:
    """Shows how far the parse of a segment is while the block runs."""
    clock = clock or SystemClock()
    started = clock.monotonic()

    def look() -> ProgressView:
        return parse_progress.progress_of(segment, clock.monotonic() - started)

    with shown_progress(make_display("parse"), look):
        yield


def notebook_displays() -> Displays:
    """A bar for each long phase; none where tqdm is not installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return Displays(notice=_log.info)
    return phase_displays(partial(NotebookBar, tqdm), _log.info)


class NotebookBar:
    """A bar by tqdm, which knows notebooks and terminals."""

    poll_seconds = 0.5

    def __init__(self, tqdm: Callable[..., Any], label: str) -> None:
        self._bar = tqdm(total=None, desc=label, unit="URL", leave=False)

    def show(self, view: ProgressView) -> None:
        self._bar.total, self._bar.n = view.total, view.done
        self._bar.set_postfix_str(view.pace, refresh=True)

    def close(self) -> None:
        self._bar.close()
