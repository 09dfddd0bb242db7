"""Progress of long work for programs and notebooks: bars by tqdm, which knows both, and lines of
Python's logging.

tqdm is an optional package: without it no bars are shown, and everything works.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from crawl.operations.events import (
    Notice,
    Observer,
    Progressed,
    SilentObserver,
    StepBegan,
    StepEnded,
)
from crawl.rounds.events import AfterDone, RoundClosed, RoundStep, StepRemark, Waiting
from crawl.telemetry.progress import ProgressDisplay, ProgressView, display_on

_log = logging.getLogger("crawl")


def notebook_observer(*, quiet: bool) -> Observer:
    """The observer of a notebook where no other one is named."""
    if quiet:
        return LoggingObserver()
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return LoggingObserver()
    return NotebookObserver(tqdm)


class LoggingObserver(SilentObserver):
    """Writes to the logger `crawl` what happens."""

    def on_event(self, event: object) -> None:
        match event:
            case Notice(text):
                _log.info("%s", text)
            case RoundStep(step, segments):
                _log.info("%s %s", step.name, " ".join(segments))
            case StepRemark(step, text):
                _log.warning("%s: %s", step.name, text)
            case RoundClosed(result):
                _log.info("round %d: %d fetched, %d new", result.number, result.fetched, result.new)
            case AfterDone(result):
                ending = f"done in {result.seconds:.1f} s" if result.is_done else result.reason
                _log.info("%s: %s", result.step, ending)
            case Waiting(seconds):
                _log.info("nothing to fetch now; looking again in %.0f s", seconds)


class NotebookObserver(LoggingObserver):
    """Draws a bar for each long phase, and plain lines or a terminal's bar for their steps."""

    progress_seconds: float | None = 0.5

    def __init__(self, tqdm: Callable[..., Any]) -> None:
        self._tqdm = tqdm
        self._displays: dict[str, ProgressDisplay] = {}

    def on_event(self, event: object) -> None:
        match event:
            case StepBegan("fetch" | "parse" as step):
                self._displays[step] = NotebookBar(self._tqdm, step)
            case StepBegan(step):
                self._displays[step] = display_on(sys.stderr, step)
            case Progressed(step, view):
                self._displays[step].show(view)
            case StepEnded(step):
                self._displays.pop(step).close()
            case _:
                super().on_event(event)


class NotebookBar:
    """A bar by tqdm."""

    poll_seconds = 0.5

    def __init__(self, tqdm: Callable[..., Any], label: str) -> None:
        self._bar = tqdm(total=None, desc=label, unit="URL", leave=False)

    def show(self, view: ProgressView) -> None:
        self._bar.total, self._bar.n = view.total, view.done
        self._bar.set_postfix_str(view.pace, refresh=True)

    def close(self) -> None:
        self._bar.close()
