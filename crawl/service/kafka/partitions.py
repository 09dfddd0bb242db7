"""Which partition a host is in: all hosts of a registered domain are in the same one, so that the
domain has one owner."""

from __future__ import annotations

from functools import lru_cache
from zlib import crc32

from crawl.urls.domains import registered_domain

_REMEMBERED = 100_000


class Partitions:
    """The same in every process, as long as their number is."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.of_host = lru_cache(_REMEMBERED)(self._of_host)

    def _of_host(self, host: str) -> int:
        return crc32(registered_domain(host).encode()) % self.count
