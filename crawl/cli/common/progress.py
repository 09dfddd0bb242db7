"""Progress of long work on the terminal of a command."""

from __future__ import annotations

import sys
from typing import TextIO

from crawl.cli.common.output import remark
from crawl.facade.progress import phase_displays
from crawl.rounds.on_spark import Displays
from crawl.telemetry.progress import ProgressDisplay, display_on


def terminal_displays(*, quiet: bool) -> Displays:
    """Bars or lines on stderr; nothing but notices where `quiet`."""
    return Displays(notice=remark) if quiet else phase_displays(terminal_display, remark)


def terminal_display(label: str, stream: TextIO | None = None) -> ProgressDisplay:
    """A bar on a terminal, else plain lines."""
    return display_on(sys.stderr if stream is None else stream, label, lambda line: remark(line))
