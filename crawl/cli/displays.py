"""How a terminal shows how far a fetch, a parse and whole rounds are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TextIO

from crawl.cli.output import remark
from crawl.cli.showing import showing
from crawl.clock import Clock, SystemClock
from crawl.inspect import fetch_progress, parse_progress
from crawl.rounds.on_spark import Displays
from crawl.storage.segments import Segment


def displays(*, quiet: bool) -> Displays:
    """Bars or lines on stderr; nothing but notices where `quiet`."""
    return Displays(partial(show_fetch, quiet=quiet), partial(show_parse, quiet=quiet), remark)


@contextmanager
def show_fetch(segment: Segment, *, quiet: bool, stream: TextIO | None = None) -> Iterator[None]:
    """Shows how far the fetch is while the block runs."""

    def asked() -> fetch_progress.Progress | None:
        progress = fetch_progress.progress_of(segment)
        return progress if progress.parts else None

    with showing("fetch", asked, quiet=quiet, stream=stream):
        yield


@contextmanager
def show_parse(
    segment: Segment, *, quiet: bool, stream: TextIO | None = None, clock: Clock | None = None
) -> Iterator[None]:
    """Shows how far the parse is while the block runs."""
    clock = clock or SystemClock()
    began = clock.monotonic()

    def asked() -> parse_progress.ParseProgress:
        return parse_progress.progress_of(segment, clock.monotonic() - began)

    with showing("parse", asked, quiet=quiet, stream=stream):
        yield
