"""Waits that servers ask for: the Crawl-delay of a robots.txt and the Retry-After header
(RFC 9110, 10.2.3) of any response. Never infinite, never negative."""

from __future__ import annotations

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

MAX_WAIT_S = 366 * 86400.0
"""No server means more, and no caller has to reckon with a wait without end."""

_LONGEST_TEXT = 64
"""Characters; longer numbers are not worth their reading."""

_SECONDS = re.compile(r"[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+")


def crawl_delay_seconds(value: str) -> float | None:
    """The seconds of a Crawl-delay line, with point or comma; None for anything else."""
    text = value.strip()[:_LONGEST_TEXT]
    if not _SECONDS.fullmatch(text):
        return None
    return min(float(text.replace(",", ".")), MAX_WAIT_S)


def retry_after_seconds(header: str, now_ms: int) -> float | None:
    """The wait from now on that a Retry-After asks for, in seconds or as a date; 0 where
    the moment has passed, None where nothing is said."""
    seconds = crawl_delay_seconds(header)
    if seconds is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(header.strip()[:_LONGEST_TEXT])
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp() - now_ms / 1000
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return min(max(seconds, 0.0), MAX_WAIT_S)
