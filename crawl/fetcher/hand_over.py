"""What one fetch leaves to the next, as a task reads and writes it: answers for robots.txt, and
the pauses that servers are owed.

A task takes up what is known of its own hosts when it meets them. What it learns is committed
along with its chunks (answers) and written when it ends (pauses); the phase then merges it into
the crawl's datasets `robots` and `servers` (crawl/phases/fetch/hand_over.py).
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.errors import StorageError
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.values.hooks import KnownServer
from crawl.robots.stored import StoredAnswer, seconds_left
from crawl.storage.chunks import ROBOTS_LEARNT, Chunk, Piece
from crawl.storage.folder import Folder
from crawl.storage.keyed_rows import KeyedRows
from crawl.storage.robots_store import read_pieces, to_answers
from crawl.storage.server_pauses import (
    ServerPause,
    last_pauses,
    read_pause_rows,
    to_pauses,
    write_pauses,
)
from crawl.urls.parse import host_of

_MAX_LOADED_BYTES = 64 << 20
"""Of answers that a task holds before it needs them; more are looked up one by one."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HandedOver:
    """What fetches before this one have left, as tasks are given it."""

    robots: KeyedRows | None = None
    servers: KeyedRows | None = None
    pauses: tuple[ServerPause, ...] = ()
    """For the requests of services, which have just left their servers to this fetch."""


class KnownRobots:
    """Answers for robots.txt that still count, each handed out once."""

    def __init__(
        self,
        rows: KeyedRows | None,
        hosts: Collection[str],
        keep_s: float,
        clock: Clock,
        max_bytes: int = _MAX_LOADED_BYTES,
    ) -> None:
        """Loads those of the hosts; of others, and beyond `max_bytes`, they are looked up."""
        self._rows = rows if keep_s > 0 else None
        self._keep_s = keep_s
        self._clock = clock
        self._answers: dict[str, StoredAnswer] = {}
        self._loaded: Collection[str] = ()
        self._taken: set[str] = set()
        if self._rows is not None:
            self._load(self._rows, hosts, max_bytes)

    def __len__(self) -> int:
        return len(self._answers)

    def add(self, answers: Iterable[StoredAnswer]) -> None:
        """Takes in answers of a task before this one; the newest of an authority counts."""
        for answer in answers if self._keep_s > 0 else ():
            before = self._answers.get(answer.authority)
            if before is None or before.asked_ms <= answer.asked_ms:
                self._answers[answer.authority] = answer

    def take(self, authority: str) -> StoredAnswer | None:
        """The answer for an authority's robots.txt; None where none counts any more, or where
        it was taken before: whoever asks again then wants to know it anew."""
        if authority in self._taken:
            return None
        self._taken.add(authority)
        answer = self._answers.pop(authority, None)
        host = host_of(f"{authority}/") or ""
        if answer is None and self._rows is not None and host not in self._loaded:
            row = self._rows.row(authority, host)
            answer = None if row is None else next(to_answers(row), None)
        return answer if answer is not None and self._counts(answer) else None

    def _load(self, rows: KeyedRows, hosts: Collection[str], max_bytes: int) -> None:
        size = 0
        for table in rows.of_places(hosts):
            valid = [answer for answer in to_answers(table) if self._counts(answer)]
            size += sum(len(answer.body) for answer in valid)
            if size > max_bytes:
                return
            self.add(valid)
        self._loaded = hosts

    def _counts(self, answer: StoredAnswer) -> bool:
        return seconds_left(answer, self._clock.now_ms(), self._keep_s) > 0


class KnownServers:
    """Pauses that servers are owed for requests of other fetches, each handed out once."""

    def __init__(
        self, rows: KeyedRows | None, clock: Clock, further: Iterable[ServerPause] = ()
    ) -> None:
        self._rows = rows
        self._clock = clock
        self._further = {pause.server: pause for pause in further}
        self._buckets: dict[int, dict[str, ServerPause]] = {}
        """Those that were looked at; a bucket is read when a server of it is met."""

    def load(self, keys: Iterable[str]) -> None:
        """Reads the buckets of these servers ahead."""
        if self._rows is not None:
            for number in {self._rows.bucket_of(key) for key in keys}:
                self._bucket(self._rows, number)

    def take(self, key: str) -> KnownServer | None:
        """What a server is owed, in the engine's time; None where that is nothing."""
        told = [self._further.pop(key, None)]
        if self._rows is not None:
            told.append(self._bucket(self._rows, self._rows.bucket_of(key)).pop(key, None))
        pauses = last_pauses(pause for pause in told if pause is not None)
        if not pauses:
            return None
        (pause,) = pauses
        now_ms = self._clock.now_ms()
        failures = pause.failures if pause.failures_until_ms > now_ms else 0
        ready_at = self._clock.monotonic() + pause.pause_s(now_ms)
        return KnownServer(ready_at, failures, pause.crawl_delay_s, pause.reason)

    def _bucket(self, rows: KeyedRows, number: int) -> dict[str, ServerPause]:
        pauses = self._buckets.get(number)
        if pauses is None:
            now_ms = self._clock.now_ms()
            pauses = {
                pause.server: pause
                for table in rows.of_bucket(number)
                for pause in to_pauses(table)
                if pause.matters_until_ms > now_ms
            }
            self._buckets[number] = pauses
        return pauses


def learnt_answers(segment: Folder, chunks: Iterable[Chunk]) -> Iterable[StoredAnswer]:
    """The answers that tasks before this one have committed with their chunks."""
    pieces = [chunk.robots for chunk in chunks if chunk.robots is not None]
    for rows in read_pieces(segment.child(ROBOTS_LEARNT), pieces):
        yield from to_answers(rows)


def write_server_states(
    folder: Folder, part: int, states: Iterable[ServerState], clock: Clock
) -> Piece | None:
    """Writes what the servers of a task are owed at its end; None where that is nothing."""
    pauses = pauses_of(states, clock)
    return write_pauses(folder, part, pauses) if pauses else None


def pauses_of(states: Iterable[ServerState], clock: Clock) -> list[ServerPause]:
    """What servers are owed as others are told of it, who may have another clock."""
    now_ms = clock.now_ms()

    def moment(seconds: float) -> int:
        return now_ms + round(seconds * 1000)

    return [
        ServerPause(
            *(state.key, moment(state.pause_s), state.exceptions, moment(state.counts_s)),
            *(state.min_delay_s, state.wait_reason, now_ms, state.closed_reason),
        )
        for state in states
    ]


def states_of(pauses: Iterable[ServerPause], now_ms: int) -> Iterator[ServerState]:
    """What servers are owed as an engine keeps it, as of a moment."""
    for pause in pauses:
        counts_s = max(0, pause.failures_until_ms - now_ms) / 1000
        pause_s = max(0.0, pause.pause_s(now_ms))
        yield ServerState(
            *(pause.server, pause_s, pause.failures, pause.closed),
            *(counts_s, pause.crawl_delay_s, pause.reason),
        )


def read_server_states(
    folder: Folder, pieces: Iterable[Piece], now_ms: int
) -> Iterable[ServerState]:
    """What other tasks of the same job have left in a folder, as of a moment."""
    for piece in pieces:
        try:
            for rows in read_pause_rows(folder, piece):
                yield from states_of(to_pauses(rows), now_ms)
        except StorageError as error:
            _log.warning("%s; the pauses that it held are not known", error)
