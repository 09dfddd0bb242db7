from __future__ import annotations

import io
from dataclasses import dataclass

import pytest

from crawl.telemetry.progress import BarDisplay, LineDisplay, ProgressView, shown_progress
from crawl.testing.clock import ManualClock


@dataclass(frozen=True, slots=True)
class Tasks:
    """A view of so many tasks."""

    done: int
    total: int | None = 64
    pace: str = ""
    remaining: str = ""

    def __str__(self) -> str:
        return f"{self.done} of {self.total} tasks"


def test_short_work_writes_no_line() -> None:
    lines: list[str] = []
    clock = ManualClock(0)
    display = LineDisplay("generate: scan", lines.append, clock)
    display.show(Tasks(1))
    clock.advance(display.first_line_seconds / 2)
    display.show(Tasks(2))
    display.close()
    assert lines == []


def test_long_work_writes_a_line_now_and_then() -> None:
    lines: list[str] = []
    clock = ManualClock(0)
    display = LineDisplay("generate: scan", lines.append, clock)
    clock.advance(display.first_line_seconds)
    display.show(Tasks(12))
    clock.advance(display.line_seconds / 2)
    display.show(Tasks(20))
    clock.advance(display.line_seconds / 2)
    display.show(Tasks(30))
    assert lines == ["generate: scan: 12 of 64 tasks", "generate: scan: 30 of 64 tasks"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_names_the_work_and_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    stream = Terminal()
    bar = BarDisplay("generate: [scan]", stream)
    bar.show(Tasks(12))
    bar.close()
    assert "generate: [scan]" in stream.getvalue()
    assert "12/64" in stream.getvalue()


def test_a_display_that_fails_does_not_harm_the_work() -> None:
    class Broken:
        poll_seconds = 0.001
        closed = False

        def show(self, view: ProgressView) -> None:
            raise OSError("the terminal is gone")

        def close(self) -> None:
            self.closed = True

    display = Broken()
    with shown_progress(display, lambda: Tasks(0)):
        done = True
    assert done
    assert display.closed
