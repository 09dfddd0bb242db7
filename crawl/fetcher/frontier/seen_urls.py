"""Which URLs an engine has met, so that none is fetched twice; bounded, as memory is."""

from __future__ import annotations

from collections.abc import Iterable


class SeenUrls:
    """Hashes of URLs. By itself nothing is forgotten, for no URL of a fetch list may be fetched
    twice, however long the list is: a full one takes in no more, and the engine must leave
    redirects and links for later then. An engine that is fed for months calls `make_room`."""

    def __init__(self, max_urls: int) -> None:
        self._max_urls = max_urls
        self._room = max_urls
        """How many may be known now: more than `max_urls` only where more than these wait."""
        self._hashes: dict[int, None] = {}
        """In the order in which they were first met."""

    def __len__(self) -> int:
        return len(self._hashes)

    def is_new(self, url: str) -> bool:
        """Whether it was not met before; now it was, while there is room."""
        hashed = hash(url)
        if hashed in self._hashes:
            return False
        if len(self._hashes) < self._room:
            self._hashes[hashed] = None
        return True

    def forget(self, url: str) -> None:
        """Lets a URL be new again, for one that is to be fetched anew."""
        self._hashes.pop(hash(url), None)

    @property
    def is_full(self) -> bool:
        return len(self._hashes) >= self._max_urls

    def make_room(self, waiting: Iterable[str]) -> None:
        """Where little room is left, forgets those that were met first, so that an eighth is free.
        URLs that are `waiting` to be fetched are never forgotten: they would be fetched twice."""
        eighth = max(1, self._max_urls // 8)
        if len(self._hashes) < self._room - eighth // 2:
            return
        waiting_hashes = set(map(hash, waiting))
        for hashed in list(self._hashes):
            if len(self._hashes) <= self._max_urls - eighth:
                break
            if hashed not in waiting_hashes:
                del self._hashes[hashed]
        # where nearly all wait, the next look at them, which takes long, is not soon
        self._room = max(self._max_urls, len(self._hashes) + eighth)
