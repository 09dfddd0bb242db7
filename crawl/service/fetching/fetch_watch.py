"""Looks for batch fetches of the crawl, leaves their servers to them and takes them back
(crawl/storage/fetch_lanes.py tells how the two find each other).

| what is seen                       | what is done |
|------------------------------------|--------------|
| a fetch begins                     | nobody of its hosts is asked any more; jobs of them wait |
| the last request to them has ended | the fetch is told, with the pauses that they are owed |
| it goes beyond its list            | the same with all hosts |
| it has ended                       | the pauses that it left are kept; the jobs go on |
| it has died                        | the same, when whatever is left of it has noticed |
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.hand_over import pauses_of, states_of
from crawl.fetcher.reporting.task_monitor import pauses_of_previous_task, usual_pause_s
from crawl.fetcher.task_hooks import listed_hosts
from crawl.fetcher.values.politeness import Politeness
from crawl.model.tables import SERVERS
from crawl.service.fetching.lane import Lane
from crawl.service.fetching.send_gate import EVERYBODY, NOBODY, YIELDED, SendGate, ServerSet
from crawl.storage.chunks import SERVERS_LEFT
from crawl.storage.crawl_dir import CrawlDir, lock_timing
from crawl.storage.fetch_lanes import (
    ServingPlace,
    Yielded,
    asks_any_host,
    serving,
    serving_places,
    twin_of,
)
from crawl.storage.keyed_rows import KeyedRows
from crawl.storage.lock import lock_owner
from crawl.storage.lock_owner import LockOwner
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import FETCH, GENERATE, Segment
from crawl.storage.server_pauses import ServerPause, last_pauses, to_pauses

LOOK_S = 1.0
"""So often it looks for a fetch."""
_LOOK_SOON_S = 0.1
"""The same while a fetch waits for it."""
_NOTE_S = 2.0
"""So often pauses are noted that are longer than is usual."""
_SAME_MS = 500
"""A pause that ends so near to where it was noted is noted already."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Fetch:
    """A fetch at work."""

    owner: LockOwner
    any_host: bool
    segment: Segment | None


class FetchWatch:
    """Runs in a thread of its own, until it is stopped. Whoever sends asks its `gate`."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        lane: Lane,
        gate: SendGate,
        counters: Counters,
        on_taken_back: Callable[[], None],
        require_place: Callable[[], None] = lambda: None,
    ) -> None:
        """`require_place` raises StorageError where the crawl's folder is no longer where it was:
        which fetch is at work there cannot be seen then."""
        self._crawl_dir = crawl_dir
        self._config = config
        self._clock = clock
        self._lane = lane
        self._gate = gate
        self._counters = counters
        self._on_taken_back = on_taken_back
        self._require_place = require_place
        self._stack = ExitStack()
        self._place: ServingPlace | None = None
        self._usual_s = Politeness.of(config).usual.delay_s
        self._stale_after_ms = lock_timing(config)["stale_after_ms"]
        self._dead_for_s = usual_pause_s(config)
        self._fetch: _Fetch | None = None
        self._is_awaited = False
        """Whether a fetch waits until the last request to its servers has ended."""
        self._dead: tuple[str, float] | None = None
        """The fetch that was found dead, and when."""
        self._noted: dict[str, int] = {}
        self._note_at = 0.0
        self._stopping = threading.Event()

    def open(self) -> None:
        """Says that there is a service, takes up what earlier ones have left, and looks for a
        fetch: what is sent from now on is sent knowingly."""
        self._place = self._stack.enter_context(serving(self._crawl_dir, self._config, self._clock))
        self._take_back(None)
        self._keep(self._of_dead_services())
        self._gate.yielded = NOBODY
        self.look()

    def stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        """Notes what servers are owed, when nothing is sent any more."""
        with self._stack:
            if self._place is None:
                return
            try:
                self._require_place()
                self._place.keep_pauses(self._pauses(lambda key: True))
            except StorageError as error:
                _log.warning("what servers are owed is not noted for later fetches: %s", error)

    def run(self) -> None:
        """Looks until it is stopped. A store that fails ends the lease, and so all requests,
        until it answers again."""
        while not self._stopping.wait(_LOOK_SOON_S if self._is_awaited else LOOK_S):
            try:
                self.look()
            except StorageError as error:
                self._counters["fetch_watch.failed"] += 1
                _log.warning("nobody is asked until the crawl's folder can be read: %s", error)

    @property
    def fetch(self) -> str:
        """What fetch is at work; empty where none is."""
        return "" if self._fetch is None else self._fetch.owner.described(self._clock.now_ms())

    def look(self) -> None:
        """Looks for a fetch, and does what is to be done."""
        self._require_place()
        began = self._clock.monotonic()
        owner = self._owner()
        now = self._fetch
        if (owner and owner.token) != (now and now.owner.token):
            self._change(owner)
        elif now is not None and not now.any_host and asks_any_host(self._crawl_dir, now.owner):
            self._leave(_Fetch(now.owner, True, now.segment), EVERYBODY)
        self._gate.renew(began)
        if self._is_awaited and not self._lane.under_way(self._gate.yielded.__contains__):
            self._say_yielded()
        if began >= self._note_at:
            self._note_at = began + _NOTE_S
            self._note_pauses()

    def _owner(self) -> LockOwner | None:
        """Whose fetch is at work. One that is dead counts until the last of its tasks must have
        noticed, and its servers have had their pause."""
        owner = lock_owner(self._crawl_dir.fetching_folder)
        if owner is None or not owner.is_dead(self._clock.now_ms(), self._stale_after_ms):
            self._dead = None
            return owner
        if self._dead is None or self._dead[0] != owner.token:
            self._dead = owner.token, self._clock.monotonic()
        return owner if self._clock.monotonic() < self._dead[1] + self._dead_for_s else None

    def _change(self, owner: LockOwner | None) -> None:
        before, self._gate.yielded = self._fetch, EVERYBODY
        if before is not None:
            self._take_back(before.segment)
        if owner is None:
            self._fetch, self._is_awaited = None, False
            self._gate.yielded = NOBODY
            self._on_taken_back()
            return
        segment = self._segment_of(owner)
        any_host = segment is None or asks_any_host(self._crawl_dir, owner)
        if any_host or segment is None:
            self._leave(_Fetch(owner, True, segment), EVERYBODY)
        else:
            self._leave(_Fetch(owner, False, segment), self._servers_of(segment))

    def _leave(self, fetch: _Fetch, servers: ServerSet) -> None:
        self._gate.yielded = servers
        self._fetch, self._is_awaited = fetch, True
        self._counters["fetches_yielded_to"] += 1
        self._lane.give_back(servers.__contains__, YIELDED)
        self._on_taken_back()

    def _say_yielded(self) -> None:
        assert self._fetch is not None and self._place is not None
        pauses = self._pauses(self._gate.yielded.__contains__)
        token, any_host = self._fetch.owner.token, self._fetch.any_host
        self._place.say_yielded(Yielded(token, any_host, tuple(pauses)))
        self._is_awaited = False

    # which hosts

    def _segment_of(self, owner: LockOwner) -> Segment | None:
        """The segment that a fetch is at: the one that the same process has locked for it."""
        segments = self._crawl_dir.segments
        for name in reversed(segments.folder.names()):
            segment = segments.segment(name)
            holder = lock_owner(segment.folder)
            if holder is None or holder.command != "fetch":
                continue
            if _process(holder) == _process(owner):
                return segment
        return None

    def _servers_of(self, segment: Segment) -> ServerSet:
        """The servers of a fetch list, and those that their robots.txt is likely on."""

        def keys() -> Iterator[str]:
            for file in segment.require(GENERATE).files:
                for host in listed_hosts(segment.folder, file):
                    yield self._lane.key_of(host)
                    yield self._lane.key_of(twin_of(host))

        try:
            return ServerSet(keys())
        except StorageError as error:
            _log.warning("%s; all hosts are left to the fetch", error)
            return EVERYBODY

    # pauses

    def _pauses(self, is_asked: Callable[[str], bool]) -> list[ServerPause]:
        """What servers are owed for our requests."""
        states = [state for state in self._lane.pauses().values() if is_asked(state.key)]
        return [
            pause
            for pause in pauses_of(states, self._clock)
            if pause.matters_until_ms > pause.told_ms
        ]

    def _note_pauses(self) -> None:
        """Notes pauses that are longer than usual: should we die, a fetch keeps them."""
        assert self._place is not None
        states = self._lane.long_pauses(self._usual_s)
        pauses = pauses_of(states, self._clock)
        noted = {
            each.server: each.ready_ms if each.pause_s(each.told_ms) > 0 else 0 for each in pauses
        }
        known = self._noted
        if all(abs(ms - known.get(key, -_SAME_MS)) < _SAME_MS for key, ms in noted.items()):
            return
        self._place.keep_pauses(pauses)
        self._noted = noted

    def _of_dead_services(self) -> list[ServerPause]:
        """What services before this one have left; of those that died, too."""
        pauses: list[ServerPause] = []
        for place in serving_places(self._crawl_dir):
            if place != self._place:
                pauses += place.pauses()
                place.forget_if_over(self._clock.now_ms())
        return pauses

    def _take_back(self, segment: Segment | None) -> None:
        """Keeps the pauses that a fetch has left: in the dataset of all, or where it died before
        it came to that, with its segment."""
        pauses = list(self._of_all_fetches())
        states: list[ServerState] = []
        if segment is not None:
            try:
                pauses += self._of_tasks(segment)
                if not segment.is_complete(FETCH):
                    now_ms = self._clock.now_ms()
                    for file in segment.require(GENERATE).files:
                        states += pauses_of_previous_task(segment.folder, file.part, now_ms)
            except StorageError as error:
                _log.warning("%s; the pauses that it held are not known", error)
        self._keep(pauses, states)

    def _keep(self, pauses: list[ServerPause], further: list[ServerState] | None = None) -> None:
        now_ms = self._clock.now_ms()
        owed = [each for each in last_pauses(pauses) if each.matters_until_ms > now_ms]
        # what another fetch has given up is only to be left alone for a while by us
        states = [replace(state, closed_reason="") for state in states_of(owed, now_ms)]
        self._lane.keep_pauses([*states, *(further or ())])

    def _of_all_fetches(self) -> Iterator[ServerPause]:
        rows = KeyedRows.current(self._crawl_dir.dataset(SERVERS))
        if rows is None:
            return
        now_ms = self._clock.now_ms()
        for bucket in range(rows.snapshot.buckets):
            for table in rows.of_bucket(bucket):
                yield from to_pauses(_that_matter(table, now_ms))

    def _of_tasks(self, segment: Segment) -> Iterator[ServerPause]:
        folder = segment.part_folder(SERVERS_LEFT)
        for name in folder.names():
            with open_table(folder, name) as source:
                for table in each_group(source):
                    yield from to_pauses(_that_matter(table, self._clock.now_ms()))


def _that_matter(table: pa.Table, now_ms: int) -> pa.Table:
    """The rows of pauses and failures that are not over."""
    ready, failures = (table[name].cast(pa.int64()) for name in ("ready_at", "failures_until"))
    now = pa.scalar(now_ms, pa.int64())
    return table.filter(pc.or_(pc.greater(ready, now), pc.greater(failures, now)))


def _process(owner: LockOwner) -> tuple[object, ...]:
    return owner.host, owner.namespace, owner.pid, owner.process_started
