"""Shows how far a long phase is: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

from crawl.cli.output import remark
from crawl.printable import printable
from crawl.telemetry import logs

_DRAW_EVERY_S = 1.0
_LINE_EVERY_S = 5.0


class Shown(Protocol):
    """How far it is; as a text, all in one line."""

    @property
    def done(self) -> int: ...

    @property
    def urls(self) -> int:
        """That there are in all."""
        ...

    @property
    def pace(self) -> str:
        """How it goes, in words."""
        ...

    @property
    def left(self) -> str:
        """How much longer, in words."""
        ...


class _Display(Protocol):
    every_s: float

    def show(self, progress: Shown) -> None: ...

    def close(self) -> None: ...


class Lines:
    """For a log."""

    every_s = _LINE_EVERY_S

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def show(self, progress: Shown) -> None:
        remark(f"{self._phase}: {progress}")

    def close(self) -> None:
        return


class Bar:
    """By rich, which knows terminals; drawn in place and gone at the end."""

    every_s = _DRAW_EVERY_S

    def __init__(self, phase: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Drawn
        from rich.table import Column

        self._drawn = Drawn(
            TextColumn(phase),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}", markup=False),
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
        self._task = self._drawn.add_task("", total=None, left="")

    def show(self, progress: Shown) -> None:
        self._drawn.start()  # not before: a phase of a moment shows nothing
        self._drawn.update(
            self._task,
            completed=progress.done,
            total=progress.urls,
            description=printable(progress.pace),
            left=printable(progress.left),
        )

    def close(self) -> None:
        self._drawn.stop()


@contextmanager
def showing(
    phase: str, asked: Callable[[], Shown | None], *, quiet: bool, stream: TextIO | None = None
) -> Iterator[None]:
    """Asks now and then how far it is while the block runs; None: nothing to tell yet."""
    if quiet:
        yield
        return
    stream = sys.stderr if stream is None else stream
    drawn = stream.isatty() and not logs.is_json()
    display: _Display = Bar(phase, stream) if drawn else Lines(phase)
    over = threading.Event()

    def tell() -> None:
        while not over.wait(display.every_s):
            try:
                progress = asked()
            except Exception:
                continue  # the phase must not suffer from its display
            if progress is not None:
                display.show(progress)

    teller = threading.Thread(target=tell, name=f"{phase}-progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        display.close()
