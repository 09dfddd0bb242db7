"""Progress of long work on the terminal of a command."""

from __future__ import annotations

import sys
from typing import TextIO

from crawl.cli.common.output import remark
from crawl.telemetry.progress import ProgressDisplay, display_on


def terminal_display(label: str, stream: TextIO | None = None) -> ProgressDisplay:
    """A bar on a terminal, else plain lines."""
    return display_on(sys.stderr if stream is None else stream, label, lambda line: remark(line))
