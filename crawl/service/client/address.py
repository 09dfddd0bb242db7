"""What a client is told: where its service is, its key, and lengths of time."""

from __future__ import annotations

import math
import re
from urllib.parse import urlsplit

from crawl.errors import UsageError
from crawl.printable import printable

_KEY = re.compile(r"[\x21-\x7e]{1,1000}")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}


def checked_address(address: str, named: str = "connect") -> str:
    """The address without a slash at its end; what is wrong with it is said of what the caller
    gave it by."""
    shown = printable(str(address), 200)
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except (ValueError, AttributeError, TypeError):
        good = False
    if not good or any(each.isspace() or not each.isprintable() for each in address):
        raise UsageError(f"{named}: expected an address such as http://127.0.0.1:8199, got {shown}")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{named}: an address has no user; a key is given by itself")
    if parts.query or parts.fragment:
        raise UsageError(f"{named}: the address of a service has no query, got {shown}")
    return address.rstrip("/")


def checked_key(key: str | None, named: str = "connect") -> str | None:
    if key is not None and (not isinstance(key, str) or not _KEY.fullmatch(key)):
        raise UsageError(f"{named}: a key is a text without blanks and control characters")
    return key


def as_seconds(length: float | str, what: str) -> float:
    """Seconds of a number or of a text such as 500ms, 5s or 1h."""
    seconds = math.nan
    if isinstance(length, str):
        if match := _SECONDS.fullmatch(length.strip().lower()):
            seconds = float(match[1]) * _UNITS[match[2] or "s"]
    elif isinstance(length, int | float) and not isinstance(length, bool):
        seconds = float(length)
    if not (math.isfinite(seconds) and seconds >= 0):
        raise UsageError(f"{what}: expected seconds, or a text such as 5s, got {length!r}")
    return seconds
