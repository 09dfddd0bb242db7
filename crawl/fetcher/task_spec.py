"""What a fetch task is given: plain values that can be pickled."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.fetcher.hand_over import HandedOver
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.registry import ResolvedPlugin
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.parsing.plan import ParsePlan
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder
from crawl.storage.segments import PartFile


@dataclass(frozen=True, slots=True)
class CrossPartHosts:
    """Hosts of all parts whose robots.txt is on a server of another part. One task fetches
    them at the end, when nobody else asks that server."""

    files: tuple[Piece, ...]
    """In which they are."""
    servers: tuple[Piece, ...]
    """The files with the pauses and failures of the servers that the other tasks asked."""
    authorities: Mapping[str, str] = field(default_factory=dict)
    """As the task has read them: each with the URL that its robots.txt redirects to, which need
    not be asked again."""


def cross_part_number(lists: Iterable[PartFile]) -> int:
    """The part number of the task for `CrossPartHosts`: the one after all others."""
    return max((file.part for file in lists), default=-1) + 1


@dataclass(frozen=True)
class FetchTaskSpec:
    """A fetch as its tasks get it: the segment, the configuration, the plugins, all parts of the
    list, and what earlier fetches have left."""

    segment: Folder
    config: Config
    protocols: tuple[ResolvedPlugin, ...]
    normalizers: NormalizerChain
    filters: FilterChain
    scoring: ScoringChain
    buckets: int
    """Of the CrawlDb that the records will be merged into."""
    lists: tuple[PartFile, ...]
    """All parts of the fetch list: servers of others are not this task's to ask."""
    deadline_ms: int | None
    """When the job's time is up, by the wall clock: a task that is tried again has no more."""
    cross_part: CrossPartHosts | None = None
    """What this task fetches when all others are done; all servers are its own to ask then."""
    parsing: ParsePlan | None = None
    """How pages are parsed while they are fetched; None where they are not."""
    list_normalizers: NormalizerChain | None = None
    list_filters: FilterChain | None = None
    """For the URLs of the list; None where they are taken as they are."""
    clock: Clock = field(default_factory=SystemClock)
    is_slow_host: Callable[[str], bool] | None = None
    """Whether a host is known to be slow; None where there is no CrawlDb."""

    handed_over: HandedOver = field(default_factory=HandedOver)
    """What earlier fetches have left."""
    keeps_to_lists: bool = False
    """Whether it asks the hosts of the lists and their twins alone, as services ask the others."""
    may_leave_lists: Callable[[], bool] | None = None
    """Asked before a server of no list is; None where that is settled: it keeps to its lists, or
    services know that it may ask anybody."""
    is_interrupted: bool = False
    """Whether it is to end before anybody is asked: services may not have yielded its servers."""
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Which fetch the tasks are of, however often each of them is tried."""

    def lists_of(self, file: PartFile) -> Sequence[PartFile]:
        """The fetch lists that the task for a part reads."""
        return [file] if self.cross_part is None else self.lists
