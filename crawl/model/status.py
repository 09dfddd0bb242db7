"""Nutch's status codes: what the CrawlDb, a fetch or a parse says of a URL."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The codes are Nutch's, so that dumps and habits carry over."""

    DB_UNFETCHED = 0x01
    DB_FETCHED = 0x02
    DB_GONE = 0x03
    DB_REDIR_TEMP = 0x04
    DB_REDIR_PERM = 0x05
    DB_NOTMODIFIED = 0x06
    DB_DUPLICATE = 0x07
    DB_ORPHAN = 0x08
    DB_PARSE_FAILED = 0x09

    FETCH_SUCCESS = 0x21
    FETCH_RETRY = 0x22
    FETCH_REDIR_TEMP = 0x23
    FETCH_REDIR_PERM = 0x24
    FETCH_GONE = 0x25
    FETCH_NOTMODIFIED = 0x26

    SIGNATURE = 0x41
    INJECTED = 0x42
    LINKED = 0x43
    PARSE_METADATA = 0x44
    PARSE_FAILED = 0x45

    @property
    def label(self) -> str:
        """The name as Nutch prints it: `db_unfetched`."""
        return self.name.lower()

    @classmethod
    def of_label(cls, label: str) -> Status:
        """The status that is printed as `label`; ValueError where there is none."""
        try:
            return cls[label.strip().upper()]
        except KeyError:
            raise ValueError(f"no status is called {label!r}") from None

    @property
    def is_db(self) -> bool:
        """May stand in the CrawlDb."""
        return self <= 0x1F

    @property
    def is_fetch(self) -> bool:
        """Is the outcome of a fetch."""
        return 0x20 <= self <= 0x3F or self is Status.PARSE_FAILED


DB_STATUSES = tuple(status for status in Status if status.is_db)


_LABELS = {int(status): status.label for status in Status}


def status_label(code: int) -> str:
    """A status as people know it, also where a table holds a code nobody knows."""
    return _LABELS.get(code) or f"status_{code}"
