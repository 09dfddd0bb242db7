"""Where the engine puts what it brings out.

The segment writer (fetcher/output/segment_output.py) stores it; `MemoryOutput` keeps it for a
caller who looks at single pages, and `NullOutput` only counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from crawl.counters import Counters
from crawl.fetcher.values.item import FollowedUrl, FoundLinks
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.hosts import HostTrouble
from crawl.robots.stored import StoredAnswer


class OutputPort(Protocol):
    """All that the engine brings out. The engine calls it from one thread at a time, and
    moments are the engine's monotonic ones."""

    counters: Counters
    """The engine counts here, so that counts can be stored along with what they count."""
    parses_pages: bool
    """Whether pages are parsed on the way: only then links come back, or may be waited for."""

    def add(self, record: FetchRecord) -> None:
        """Takes the record of a URL, with its page where there is one."""

    def add_followed(self, followed: FollowedUrl) -> None:
        """Takes a redirect's target that is queued in this fetch. It belongs to the record
        that was added last, and must be stored along with it."""

    def add_archived(self, content: Content) -> None:
        """Takes an answer that is nobody's record, such as a robots.txt."""

    def add_robots(self, answer: StoredAnswer) -> None:
        """Takes an answer for a robots.txt that fetches after this one may use."""

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        """Takes the hosts that failed, and how long they must be left alone: at the end, and from
        an engine that is fed for long also before, when it forgets those that are over. A host
        may come again."""

    def commit_point(self, now: float) -> None:
        """Marks a moment between two answers: what was added belongs together and may be
        stored. In the middle of an answer, a page that redirects would be stored without
        the target that it leaves for a later round."""

    def commit_due(self) -> float | None:
        """Returns when there is something to do at a commit point although nothing was added
        meanwhile; None for never. An engine that is fed asks, as it may be idle for hours."""

    @property
    def is_behind(self) -> bool:
        """Whether pages come faster than they are taken: nothing more should be asked for."""

    def found_links(self) -> Iterable[FoundLinks]:
        """Returns links to follow that were found since the last call."""

    def awaits_links(self) -> bool:
        """Whether pages are still being parsed whose links may be followed."""


class NullOutput:
    """Counts, and keeps nothing."""

    parses_pages = False
    is_behind = False

    def __init__(self) -> None:
        self.counters = Counters()

    def add(self, record: FetchRecord) -> None: ...

    def add_followed(self, followed: FollowedUrl) -> None: ...

    def add_archived(self, content: Content) -> None: ...

    def add_robots(self, answer: StoredAnswer) -> None: ...

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None: ...

    def commit_point(self, now: float) -> None: ...

    def commit_due(self) -> float | None:
        return None

    def found_links(self) -> Iterable[FoundLinks]:
        return ()

    def awaits_links(self) -> bool:
        return False


class MemoryOutput(NullOutput):
    """Keeps what it is given in lists."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[FetchRecord] = []
        self.followed: list[FollowedUrl] = []
        self.archived: list[Content] = []
        self.host_troubles: list[HostTrouble] = []

    def add(self, record: FetchRecord) -> None:
        self.records.append(record)

    def add_followed(self, followed: FollowedUrl) -> None:
        self.followed.append(followed)

    def add_archived(self, content: Content) -> None:
        self.archived.append(content)

    def add_host_troubles(self, troubles: Iterable[HostTrouble]) -> None:
        self.host_troubles.extend(troubles)

    def clear(self) -> None:
        """Forgets what it was given."""
        for values in (self.records, self.followed, self.archived, self.host_troubles):
            values.clear()
