"""The service's parts without threads, network and disk but for the queue's file: a test owns the
clock, says what comes of each URL, and has the process die at any durable step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any, cast

from crawl.config import Config
from crawl.counters import Counters
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.fetching.dispatcher import Dispatcher
from crawl.service.fetching.robots_waits import RobotsWaits
from crawl.service.fetching.send_gate import NOBODY, SendGate
from crawl.service.finishing.finisher import Finisher
from crawl.service.finishing.outcomes import Limits
from crawl.service.finishing.parse_stage import ParsedRecords
from crawl.service.finishing.related_images import RelatedImages
from crawl.service.finishing.stage_times import StageTimes
from crawl.service.intake.admission import Admission
from crawl.service.intake.decide import Policy
from crawl.service.intake.freshness import Freshness
from crawl.service.intake.ids import JobIds
from crawl.service.intake.intake import Intake, Submitted
from crawl.service.intake.throughput import Throughput
from crawl.service.pages import Pages
from crawl.service.queues.embedded import EmbeddedQueue
from crawl.service.queues.queue import Entry
from crawl.service.segments.roll import SegmentRoll
from crawl.service.settings import QueueBounds
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Row, Space
from crawl.service.telling.answers import Answers
from crawl.service.values import Finished, Wish
from crawl.telemetry.meter import Meter
from crawl.testing.clock import ManualClock
from crawl.urls.parse import host_of

INTERVAL_S = 86_400


class Death(BaseException):
    """The process is killed."""


class Mortal:
    """Dies at a durable step: before it, or when it is done."""

    def __init__(self) -> None:
        self._left: int | None = None

    def dies_at(self, step: int | None) -> None:
        """At the n-th step from now; odd ones are before what is done, even ones after."""
        self._left = step

    def step(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Death


class MortalStore(MemoryStore):
    mortal: Mortal

    def put_many(self, space: Space, rows: Sequence[Row]) -> None:
        self.mortal.step()
        super().put_many(space, rows)
        self.mortal.step()


class MortalQueue(EmbeddedQueue):
    def __init__(self, path: Path, mortal: Mortal) -> None:
        super().__init__(path)
        self._mortal = mortal

    def put(self, entries: Sequence[Entry]) -> Future[int]:
        return self._durably(lambda: super(MortalQueue, self).put(entries))

    def replace(self, entries: Sequence[Entry]) -> Future[int]:
        return self._durably(lambda: super(MortalQueue, self).replace(entries))

    def finish(self, ids: Sequence[str]) -> Future[int]:
        return self._durably(lambda: super(MortalQueue, self).finish(ids))

    def _durably(self, write: Callable[[], Future[int]]) -> Future[int]:
        self._mortal.step()
        done = write()
        done.result(60)
        self._mortal.step()
        return done


class StubLane:
    """Holds what it is fed until the test says what comes of it."""

    max_per_host = 2

    def __init__(self, most: int = 4096) -> None:
        self.fed: dict[str, CrawlDatum] = {}
        self.late: dict[str, list[str]] = {}
        self.most = most
        self.pause: dict[str, float] = {}
        self.times: Counters = Counters()
        """How often each URL was fed."""

    def room(self) -> int:
        return self.most - len(self.fed)

    def feed(self, url: str, datum: CrawlDatum, job_id: str = "") -> bool:
        if url in self.fed:
            self.late.setdefault(url, []).append(job_id)
            return False
        self.fed[url] = datum
        self.times[url] += 1
        return True

    def ended(self, url: str) -> Sequence[str]:
        del self.fed[url]
        return self.late.pop(url, ())

    def pause_s(self, host: str) -> float:
        return self.pause.get(host, 0.0)


class StubRoll:
    """A segment of which nobody reads."""

    due_in_s = None

    def __init__(self, mortal: Mortal) -> None:
        self._mortal = mortal
        self.published = 0

    def add(self, records: Sequence[FetchRecord], parsed: Mapping[str, Any]) -> dict[str, str]:
        self._mortal.step()
        return {record.url: "segment" for record in records}

    def add_host_troubles(self, troubles: Iterable[object]) -> None: ...

    def publish_if_due(self) -> None: ...

    def close(self) -> None:
        self.published += 1

    def abandon(self) -> None: ...


class NoStage:
    """Of the stage before the finisher: nothing comes, and it has ended."""

    has_ended = True

    def take(self, timeout_s: float) -> ParsedRecords:
        return ParsedRecords()

    def wake(self) -> None: ...

    def abandon(self) -> None: ...


class Heard:
    """A listener that keeps what it is told, as one outside of the process would."""

    def __init__(self) -> None:
        self.stored: list[Finished] = []
        self.told: list[Finished] = []

    def store(self, finished: Sequence[Finished]) -> None:
        self.stored += finished

    def tell(self, finished: Sequence[Finished]) -> None:
        self.told += finished


class NoLinks:
    def take(self, pages: Sequence[object]) -> None: ...


class Parts:
    """A service in one thread: `begin` again after a death, with what is durable."""

    def __init__(
        self, path: Path, clock: ManualClock, options: dict[str, Any] | None = None
    ) -> None:
        self.clock = clock
        self.mortal = Mortal()
        self.store = MortalStore(clock)
        self.store.mortal = self.mortal
        self.heard = Heard()
        self.acknowledged: list[Submitted] = []
        self._path = path
        self._config = Config.of(options or {})
        self._admission = (
            _admission() if options is None else Admission.of(self._config, Counters())
        )
        self.begin()

    def begin(self) -> None:
        config, clock, counters = self._config, self.clock, Counters()
        self.counters = counters
        self.queue = MortalQueue(self._path, self.mortal)
        self.pages = Pages(self.store, counters)
        self.answers = Answers(self.store, clock, 1e9)
        self.lane = StubLane()
        self.arrivals = Arrivals(lambda answer: None)
        self.wakes = 0
        admission = self._admission
        freshness = Freshness.of(config)
        throughput = Throughput(clock)
        self.intake = Intake(
            admission,
            self.pages,
            self.queue,
            Policy(freshness, QueueBounds.of(config)),
            JobIds(clock),
            clock,
            throughput,
            counters,
            self._wake,
        )
        self.dispatcher = Dispatcher(
            self.queue,
            cast(Any, self.lane),
            self.pages,
            clock,
            counters,
            on_known=lambda page: self.finisher.add_known(page),
            freshness=freshness,
            interval_s=INTERVAL_S,
            gate=_open_gate(clock),
            has_come=lambda job: False,
        )
        self.finisher = Finisher(
            queue=self.queue,
            lane=cast(Any, self.lane),
            arrivals=self.arrivals,
            admission=admission,
            pages=self.pages,
            roll=cast(SegmentRoll, StubRoll(self.mortal)),
            parses=cast(Any, NoStage()),
            images=RelatedImages(admission, self.pages, freshness, clock, counters, False),
            limits=Limits(tries=3, redirects=3, max_wait_s=3600),
            listeners=_Both(self.answers, self.heard),
            links=cast(Any, NoLinks()),
            clock=clock,
            counters=counters,
            throughput=throughput,
            stages=StageTimes(Meter(), RobotsWaits(clock)),
            search=None,
            on_room=self._wake,
            pause_of=self.lane.pause_s,
        )

    def _wake(self) -> None:
        self.wakes += 1

    def submit(self, *wishes: Wish) -> list[Submitted]:
        submitted = self.intake.submit(wishes)
        self.acknowledged += [each for each in submitted if each.id]
        return submitted

    def dispatch(self) -> None:
        """What the dispatcher and the finisher do of themselves."""
        while self.dispatcher.feed_some():
            pass
        self.settle()

    def settle(self) -> None:
        """A turn of the finisher, with nothing that came."""
        self.finisher.run()

    def answer(self, url: str, status: Status, location: str = "") -> None:
        """What a server said of a URL that was fed."""
        datum = self.lane.fed[url]
        answered = CrawlDatum(
            *(status, self.clock.now_ms(), datum.modified_time, datum.fetch_interval),
            score=1.0,
            metadata={},
        )
        record = FetchRecord(url, host_of(url) or "", answered, location=location)
        self.finisher.finish(ParsedRecords([record]))

    def give_back(self, url: str, reason: str) -> None:
        host = host_of(url) or ""
        self.finisher.take_back([(FetchItem(url, host, "", host, self.lane.fed[url]), reason)])

    def close(self) -> None:
        self.queue.close()

    def die(self) -> None:
        """What is in memory is gone; the queue's file is as its last transaction left it."""
        self.mortal.dies_at(None)
        self.queue.close()


def _open_gate(clock: ManualClock) -> SendGate:
    """No batch fetch is under way."""
    gate = SendGate(clock, lease_s=1e12)
    gate.yielded = NOBODY
    gate.renew(clock.monotonic())
    return gate


@cache
def _admission() -> Admission:
    """With the usual rules, whose patterns take a while to be compiled."""
    return Admission.of(Config.of({}), Counters())


class _Both:
    def __init__(self, *listeners: Any) -> None:
        self._listeners = listeners

    def store(self, finished: Sequence[Finished]) -> None:
        for each in self._listeners:
            each.store(finished)

    def tell(self, finished: Sequence[Finished]) -> None:
        for each in self._listeners:
            each.tell(finished)
