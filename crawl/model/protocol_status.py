"""Nutch's protocol statuses: what a fetch came to, before the CrawlDb hears of it."""

from __future__ import annotations

from enum import IntEnum


class ProtocolStatus(IntEnum):
    """The codes are Nutch's; the name is what the record's `_pst_` says."""

    SUCCESS = 1
    FAILED = 2
    PROTO_NOT_FOUND = 10
    GONE = 11
    MOVED = 12
    TEMP_MOVED = 13
    NOTFOUND = 14
    RETRY = 15
    EXCEPTION = 16
    ACCESS_DENIED = 17
    ROBOTS_DENIED = 18
    REDIR_EXCEEDED = 19
    NOTFETCHING = 20
    NOTMODIFIED = 21
    WOULDBLOCK = 22
    BLOCKED = 23

    @property
    def label(self) -> str:
        return self.name.lower()
