"""Which URLs an engine has met, so that none is fetched twice; bounded, as memory is."""

from __future__ import annotations

MAX_URLS = 500_000
"""Some 50 MB."""


class SeenUrls:
    """Hashes of URLs. Nothing is ever forgotten: a full set takes in no more, and the engine
    must leave redirects and links for later then."""

    def __init__(self, max_urls: int = MAX_URLS) -> None:
        self._max_urls = max_urls
        self._hashes: set[int] = set()

    def is_new(self, url: str) -> bool:
        """Whether it was not met before; now it was, while there is room."""
        hashed = hash(url)
        if hashed in self._hashes:
            return False
        if len(self._hashes) < self._max_urls:
            self._hashes.add(hashed)
        return True

    @property
    def is_full(self) -> bool:
        return len(self._hashes) >= self._max_urls
