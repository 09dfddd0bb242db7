"""The lines that a command prints now and then while it runs, seen at once."""

from __future__ import annotations

import threading

import pytest

from crawl.clock import SystemClock
from crawl.telemetry.progress import LineDisplay


class Remarks:
    """The lines so far, and whether there were any."""

    def __init__(
        self, patch: pytest.MonkeyPatch, target: str = "crawl.cli.terminal.remark"
    ) -> None:
        self.messages: list[str] = []
        self._event = threading.Event()
        patch.setattr(target, self._receive)
        for seconds in ("poll_seconds", "first_line_seconds", "line_seconds"):
            patch.setattr(LineDisplay, seconds, 0.01)

    def _receive(self, message: str) -> None:
        self.messages.append(message)
        self._event.set()

    def come(self, within_s: float) -> bool:
        """Whether one has come by then, since all were last forgotten."""
        return self._event.wait(within_s)

    def until(self, text: str, within_s: float) -> None:
        """Waits for a line that has the text."""
        ends = SystemClock().monotonic() + within_s
        while not any(text in line for line in list(self.messages)):
            assert SystemClock().monotonic() < ends, self.messages
            self._event.wait(0.01)

    def forget(self) -> None:
        self.messages.clear()
        self._event.clear()
