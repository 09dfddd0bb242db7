"""What a seed line says, and what becomes of a seed that the CrawlDb knows already.

A line is `URL` or `URL<TAB>key=value<TAB>key=value…`; blank lines and lines that start
with `#` are comments. Three keys are reserved, any other is metadata.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from crawl.errors import UsageError
from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum

SCORE_KEY = "nutch.score"
INTERVAL_KEY = "nutch.fetchInterval"
FIXED_KEY = "nutch.fetchInterval.fixed"

_MAX_SECONDS = 2**31 - 1
_MAX_DIGITS = 100
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BYTE_ORDER_MARK = "\ufeff"  # before the first line of files that some editors write
SCHEMES = ("http", "https", "ftp", "file")


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed line that names a URL, not yet normalised."""

    url: str
    score: float | None = None
    fetch_interval: int | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    """Tokens that could not be read, such as `nutch.score=high`; the URL is kept."""


def parse_line(line: str) -> Seed | None:
    """The seed on a line; None for a comment or a blank line."""
    url, *tokens = line.removeprefix(_BYTE_ORDER_MARK).split("\t")
    url = url.strip()
    if not url or url.startswith("#"):
        return None
    if not tokens:
        return Seed(url)
    numbers: dict[str, Any] = {}
    metadata: dict[str, str] = {}
    ignored: list[str] = []
    for token in tokens:
        key, equals, value = token.partition("=")
        key, value = key.strip(), value.strip()
        if not token.strip():
            continue
        if not equals or not key:
            ignored.append(token)
        elif key not in _NUMBERS:
            metadata[key] = value
        elif (number := _NUMBERS[key](value)) is None:
            ignored.append(token)
        else:
            numbers[key] = number
    if FIXED_KEY in numbers:  # it rules, wherever on the line it stands
        numbers[INTERVAL_KEY] = numbers[FIXED_KEY]
        metadata[FIXED_INTERVAL_KEY] = str(numbers[FIXED_KEY])
    return Seed(url, numbers.get(SCORE_KEY), numbers.get(INTERVAL_KEY), metadata, tuple(ignored))


def require_urls(urls: Iterable[str]) -> None:
    """Raises UsageError unless each of these texts can be a line of a seed file that is no name of
    a file by mistake."""
    for url in urls:
        if "://" not in url:
            raise UsageError(f"{url!r} is no URL; seed files go by `files=`")
        if "\n" in url or "\r" in url:
            raise UsageError(f"{url!r}: a URL has no line break in it")


def _score(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    # a score is stored as a 32-bit float, and NaN would sort anywhere
    return number if abs(number) < 3.4e38 else None


def _seconds(text: str) -> int | None:
    # Python refuses to read a number of thousands of digits, and a line may hold one
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        return None
    seconds = int(text)
    return seconds if seconds <= _MAX_SECONDS else None


_NUMBERS: Mapping[str, Callable[[str], float | None]] = {
    SCORE_KEY: _score,
    INTERVAL_KEY: _seconds,
    FIXED_KEY: _seconds,
}
"""How the values of reserved keys are read; None where they cannot be."""


def why_no_url(text: str) -> str:
    """The reason to count for a seed that no normalizer could make a URL of."""
    if _CONTROL.search(text):
        return "control_characters"
    scheme = _SCHEME.match(text)
    if scheme is None:
        return "no_scheme"
    if scheme.group()[:-1].lower() not in SCHEMES:
        # "example.com:8080/" looks like a scheme but is a host that lacks one
        after = text[scheme.end() :]
        return "no_scheme" if after[:1].isdigit() else "scheme_not_crawled"
    return "not_a_url"


class OnKnown(Enum):
    """What a seed does to the record of a URL that the CrawlDb knows already."""

    KEEP = "keep"
    UPDATE = "update"
    OVERWRITE = "overwrite"


def update_known(
    old: CrawlDatum, injected: CrawlDatum, *, default_score: float, default_interval: int
) -> CrawlDatum:
    """OnKnown.UPDATE: the old record with the seed's metadata, and with its score and
    interval where the seed line named others than the defaults."""
    return replace(
        old,
        metadata={**old.metadata, **injected.metadata},
        score=old.score if injected.score == default_score else injected.score,
        fetch_interval=(
            old.fetch_interval
            if injected.fetch_interval == default_interval
            else injected.fetch_interval
        ),
    )
