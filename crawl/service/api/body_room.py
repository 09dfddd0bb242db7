"""How much memory the bodies of requests may take, of all that are being answered together."""

from __future__ import annotations

from typing import Final

from crawl.service.api.refused import Refused

MOST_BYTES: Final = 256 << 20


class BodyRoom:
    """For one event loop. What is taken is given back when the request was answered."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._taken = 0

    @property
    def taken(self) -> int:
        """Bytes of bodies that are in memory."""
        return self._taken

    def take(self, size: int) -> None:
        """Raises Refused where there is no room."""
        if self._taken + size > self._most:
            retry = (("Retry-After", "1"),)
            message = "too many large requests at a time: come back later"
            raise Refused(503, "no_room", message, retry)
        self._taken += size

    def give_back(self, size: int) -> None:
        self._taken -= size
