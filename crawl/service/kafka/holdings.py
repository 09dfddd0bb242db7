"""The jobs that a fetching process holds, of the partitions that it owns: which URL is asked for
next, and which messages are done with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from threading import Lock

from crawl.service.kafka.messages import JobMessage
from crawl.service.kafka.offsets import Offsets
from crawl.service.queues.waiting import Limits, Waiting
from crawl.service.values import Job
from crawl.urls.parse import host_of

_CARRIED_AFTER = 1000
"""With so many messages of a partition done behind one that is not, what waits in front of them is
sent to the end of the topic: they would all be fetched again if this process died."""
_CARRIED_AT_ONCE = 200


@dataclass(slots=True, eq=False)
class Held:
    """A job that is held."""

    number: int
    partition: int
    offset: int
    host: str
    message: JobMessage
    given_back: int = 0
    """How often the engine gave it back without having asked anybody."""

    @property
    def job(self) -> Job:
        return self.message.job


class Holdings:
    """For several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._waiting = Waiting()
        self._held: dict[int, dict[int, Held]] = {}
        """By partition and number, oldest first."""
        self._by_url: dict[str, dict[int, Held]] = {}
        self._claimed: set[int] = set()
        self._carried: set[int] = set()
        self._offsets: dict[int, Offsets] = {}
        self._next_number = 1

    def open(self, partition: int, first: int) -> None:
        """A partition is this process's from now on."""
        with self._lock:
            self._offsets[partition] = Offsets(first)
            self._held[partition] = {}

    def take(self, partition: int, offset: int, message: JobMessage, due_ms: int) -> Held | None:
        """Holds a job, to be asked for from that moment on; None where its partition is not
        this process's."""
        job = message.job
        host = host_of(job.url) or ""
        with self._lock:
            offsets = self._offsets.get(partition)
            if offsets is None:
                return None
            offsets.take(offset)
            number, self._next_number = self._next_number, self._next_number + 1
            held = Held(number, partition, offset, host, message)
            self._held[partition][number] = held
            self._by_url.setdefault(job.url, {})[number] = held
            self._waiting.add(number, int(job.wish.priority), host, due_ms)
        return held

    def pass_over(self, partition: int, offset: int) -> None:
        """A message that is none: it is done with."""
        with self._lock:
            offsets = self._offsets.get(partition)
            if offsets is not None:
                offsets.take(offset)
                offsets.finish(offset)

    def claim(self, most: int, now_ms: int, per_host: int) -> list[Held]:
        """The next jobs; of a host no more than so many at a time."""
        with self._lock:
            taken = self._waiting.take(most, now_ms, Limits({}, per_host))
            claimed = []
            for number, _, _ in taken:
                held = self._find(number)
                assert held is not None
                self._claimed.add(number)
                claimed.append(held)
        return claimed

    def next_due_ms(self, now_ms: int) -> int | None:
        with self._lock:
            return self._waiting.next_due_ms(now_ms)

    def of_url(self, url: str) -> list[Held]:
        """The jobs that wait for a URL, oldest first."""
        with self._lock:
            return list(self._by_url.get(url, {}).values())

    def finish(self, jobs: Iterable[Held]) -> None:
        """What follows from them is stored elsewhere. Those of a partition that was lost meanwhile
        are somebody else's."""
        with self._lock:
            for held in jobs:
                if self._held.get(held.partition, {}).get(held.number) is held:
                    self._offsets[held.partition].finish(held.offset)
                    self._remove(held)

    def give_back(self, url: str, not_before_ms: int) -> list[Held]:
        """The claimed jobs of a URL wait again."""
        with self._lock:
            given = [
                held for held in self._by_url.get(url, {}).values() if held.number in self._claimed
            ]
            for held in given:
                held.given_back += 1
                self._claimed.remove(held.number)
                self._waiting.give_back(held.host)
                priority = int(held.job.wish.priority)
                self._waiting.add(held.number, priority, held.host, not_before_ms)
        return given

    def drop(self, partitions: Iterable[int]) -> None:
        """The partitions are not this process's any more: nothing of them is held."""
        with self._lock:
            for partition in partitions:
                self._offsets.pop(partition, None)
                for held in list(self._held.get(partition, {}).values()):
                    self._remove(held)
                self._held.pop(partition, None)

    def carry(self) -> list[Held]:
        """Jobs that are to be sent to the end of the topic; to be finished when they are there."""
        carried: list[Held] = []
        with self._lock:
            for partition, offsets in self._offsets.items():
                if offsets.behind - offsets.open_count < _CARRIED_AFTER:
                    continue
                before = offsets.position + offsets.behind // 2
                for held in self._held[partition].values():
                    if held.offset >= before or len(carried) >= _CARRIED_AT_ONCE:
                        break
                    if held.number not in self._claimed and held.number not in self._carried:
                        carried.append(held)
            for held in carried:
                self._carried.add(held.number)
                self._waiting.remove(held.number, int(held.job.wish.priority))
        return carried

    def positions(self) -> dict[int, int]:
        """The offsets to commit."""
        with self._lock:
            return {partition: each.position for partition, each in self._offsets.items()}

    @property
    def partitions(self) -> Sequence[int]:
        with self._lock:
            return list(self._offsets)

    @property
    def count(self) -> int:
        """How many jobs are held."""
        with self._lock:
            return sum(map(len, self._held.values()))

    @property
    def claimed_count(self) -> int:
        with self._lock:
            return len(self._claimed)

    def _find(self, number: int) -> Held | None:
        for jobs in self._held.values():
            if number in jobs:
                return jobs[number]
        return None

    def _remove(self, held: Held) -> None:
        number = held.number
        if number in self._claimed:
            self._claimed.remove(number)
            self._waiting.give_back(held.host)
        elif number in self._carried:
            self._carried.remove(number)
        else:
            self._waiting.remove(number, int(held.job.wish.priority))
        del self._held[held.partition][number]
        of_url = self._by_url[held.job.url]
        del of_url[number]
        if not of_url:
            del self._by_url[held.job.url]
