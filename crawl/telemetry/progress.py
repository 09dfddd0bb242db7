"""Shows people how far long work is: a bar on a terminal, a plain line now and then elsewhere.

rich, because it knows terminals; it is imported only where there is one. A notebook has a
display of its own (crawl/api/notebook.py).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from crawl.clock import Clock, SystemClock
from crawl.printable import printable, printable_lines
from crawl.telemetry import logs

_log = logging.getLogger(__name__)


class ProgressView(Protocol):
    """How far some work is; as a text, all in one line."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int | None:
        """None while it is not known."""
        ...

    @property
    def pace(self) -> str:
        """How it goes, in words."""
        ...

    @property
    def remaining(self) -> str:
        """How much longer it takes, in words."""
        ...


class ProgressDisplay(Protocol):
    """Shows views as they come."""

    poll_seconds: float
    """How often it wants a view."""

    def show(self, view: ProgressView) -> None: ...

    def close(self) -> None: ...


class BarDisplay:
    """A bar that is redrawn in place and gone at the end."""

    poll_seconds = 1.0

    def __init__(self, label: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        self._progress = Progress(
            TextColumn("{task.fields[label]}", markup=False),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[remaining]}", markup=False),
            # the only one that is cut where the terminal is narrow
            TextColumn(
                "{task.description}",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            expand=True,
            console=Console(file=stream),
            refresh_per_second=2,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, label=label, remaining="")

    def show(self, view: ProgressView) -> None:
        self._progress.start()  # not before: work of a moment shows nothing
        self._progress.update(
            self._task,
            completed=view.done,
            total=view.total,
            description=printable(view.pace),
            remaining=printable(view.remaining),
        )

    def close(self) -> None:
        self._progress.stop()


class LineDisplay:
    """A plain line now and then, for a log; none for work of a moment."""

    poll_seconds = 5.0
    first_line_seconds = 3.0
    line_seconds = 5.0

    def __init__(
        self, label: str, write: Callable[[str], None], clock: Clock | None = None
    ) -> None:
        self._label = label
        self._write = write
        self._clock = clock or SystemClock()
        self._next_line_at = self._clock.monotonic() + self.first_line_seconds

    def show(self, view: ProgressView) -> None:
        now = self._clock.monotonic()
        if now >= self._next_line_at:
            self._next_line_at = now + self.line_seconds
            self._write(f"{self._label}: {view}")

    def close(self) -> None:
        return


def display_on(
    stream: TextIO, label: str, write: Callable[[str], None] | None = None
) -> ProgressDisplay:
    """A bar on a terminal, else lines, which `write` is given; by default they go to the
    stream, or to the log where that is JSON."""
    if stream.isatty() and not logs.is_json():
        return BarDisplay(label, stream)
    return LineDisplay(label, write or (lambda line: _write_line(line, stream)))


def _write_line(line: str, stream: TextIO) -> None:
    if logs.is_json():
        _log.info(line)
    else:
        print(printable_lines(line), file=stream, flush=True)


@contextmanager
def shown_progress(
    display: ProgressDisplay,
    look: Callable[[], ProgressView | None],
    *,
    poll_seconds: float | None = None,
) -> Iterator[None]:
    """Feeds the display while the block runs, from a thread of its own, since the caller waits
    for the work. `look` returns None where there is nothing to show yet."""
    over = threading.Event()
    pause = display.poll_seconds if poll_seconds is None else poll_seconds

    def watch() -> None:
        while not over.wait(pause):
            try:
                view = look()
                if view is not None:
                    display.show(view)
            except Exception:
                continue  # the work must not suffer from its display

    watcher = threading.Thread(target=watch, name="progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
        display.close()
