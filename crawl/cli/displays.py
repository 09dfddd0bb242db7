"""How a terminal shows the long steps of rounds."""

from __future__ import annotations

from functools import partial

from crawl.cli import fetch_progress, parse_progress
from crawl.cli.output import remark
from crawl.rounds.on_spark import Displays


def displays(*, quiet: bool) -> Displays:
    """Bars or lines on stderr; nothing but notices where `quiet`."""
    return Displays(
        partial(fetch_progress.telling, quiet=quiet),
        partial(parse_progress.telling, quiet=quiet),
        remark,
    )
