"""urlfilter: may this URL be in the crawl?"""

from __future__ import annotations

from typing import Any, Protocol

import pyarrow as pa

from crawl.config import Config


class URLFilter(Protocol):
    """One rule set about URLs. Filters form a chain; the first that rejects decides."""

    def __init__(self, config: Config) -> None:
        """Reads its rules; raises ConfigError with the file and line of a bad rule."""

    def rejection(self, url: str) -> str | None:
        """Why the URL is rejected (short, for people), or None to accept it.

        Must be a pure function of the URL and must not raise on any text.
        """
        ...

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        """The same decision for a whole string column, where that is cheap.

        Returns a boolean array of the same length: true accepts, false rejects, null
        means "ask `rejection` for this row". None means the same for every row.
        Where it answers, it must agree with `rejection`.
        """
        return None
