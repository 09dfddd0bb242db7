"""What a fetching process does when partitions come and go, without brokers and without servers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

import pytest

from crawl.counters import Counters
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queue_stats import IdleQueues
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.lane import Lane
from crawl.service.kafka.feeder import Feeder
from crawl.service.kafka.holdings import Holdings
from crawl.service.kafka.host_topic import HostTopic, Inheritance
from crawl.service.kafka.lease import Lease
from crawl.service.kafka.messages import host_message, job_message, owner_message
from crawl.service.kafka.ownership import Ownership
from crawl.service.kafka.partitions import Partitions
from crawl.service.kafka.sending_right import SendingRight
from crawl.service.kafka.values import KafkaSettings
from crawl.service.values import Job, Wish
from crawl.testing.clock import ManualClock
from tests.service.kafka.sending import FakeSender

DELAY_S = 5.0


class FakeLane:
    """Knows pauses, and what was given back."""

    def __init__(self) -> None:
        self.kept: dict[str, ServerState] = {}
        self.lost: Callable[[str], bool] = lambda key: False

    def keep_pauses(self, states: Collection[ServerState]) -> None:
        self.kept |= {state.key: state for state in states}

    def pauses(self) -> dict[str, ServerState]:
        return dict(self.kept)

    def give_back(self, is_lost: Callable[[str], bool], reason: str) -> None:
        assert reason == "not_owner"
        self.lost = is_lost

    def retire_idle(self, older_than_s: float) -> IdleQueues:
        return IdleQueues(0)


class FakeFeeder:
    is_done = True

    def wake(self) -> None: ...

    def await_ends(self, partitions: Collection[int], seconds: float, again: object) -> bool:
        return self.is_done


class FakeHosts:
    """Keeps what is said of partitions."""

    def __init__(self) -> None:
        self.begun: dict[int, str] = {}
        self.ended: dict[int, str] = {}
        self.left: dict[str, ServerState] = {}

    def begin(self, partitions: Collection[int], owner: str, timeout_s: float) -> None:
        self.begun |= dict.fromkeys(partitions, owner)

    def tell(self, states: Mapping[str, ServerState]) -> None:
        self.left |= states

    def end(
        self, states: Mapping[str, ServerState], partitions: Collection[int], owner: str
    ) -> None:
        self.left |= states
        self.ended |= dict.fromkeys(partitions, owner)

    def forget(self) -> None: ...


class FakeMessage:
    def __init__(self, partition: int, offset: int, raw: bytes) -> None:
        self._place, self._raw = (partition, offset), raw

    def partition(self) -> int:
        return self._place[0]

    def offset(self) -> int:
        return self._place[1]

    def value(self) -> bytes:
        return self._raw


class Made:
    def __init__(self, **hosts: ServerPace) -> None:
        self.clock = ManualClock(1_000_000)
        self.clock.advance(100)
        self.counters = Counters()
        self.lane, self.feeder, self.hosts = FakeLane(), FakeFeeder(), FakeHosts()
        self.sender = FakeSender()
        self.lease = Lease(6.0, 1.5)
        self.right = SendingRight(Partitions(8), self.lease, self.clock, self.counters)
        self.holdings = Holdings()
        politeness = Politeness(
            usual=ServerPace(DELAY_S),
            hosts={name.replace("_", "."): p for name, p in hosts.items()},
        )
        self.owner = Ownership(
            settings=cast(KafkaSettings, Settings()),
            right=self.right,
            holdings=self.holdings,
            lane=cast(Lane, self.lane),
            feeder=cast(Feeder, self.feeder),
            hosts=cast(HostTopic, self.hosts),
            sender=self.sender.as_sender(),
            politeness=politeness,
            clock=self.clock,
            counters=self.counters,
            idle_s=300.0,
        )

    @property
    def now_ms(self) -> int:
        return round(self.clock.monotonic() * 1000)

    def partition_of(self, host: str) -> int:
        return self.right.partitions.of_host(host)

    def take(self, url: str, offset: int = 0, not_before_ms: int = 0) -> None:
        host = url.split("/")[2]
        job = Job(id=url, wish=Wish(url=url), url=url, submitted_ms=1)
        raw = job_message(job, not_before_ms)
        self.owner.take(cast(Any, FakeMessage(self.partition_of(host), offset, raw)))

    def claimed(self) -> list[str]:
        return [held.job.url for held in self.holdings.claim(99, self.now_ms, 9)]


class Settings:
    owned = 10

    class topics:  # noqa: N801 - as the settings call it
        jobs = "p.jobs"


def item(host: str) -> FetchItem:
    return FetchItem(f"http://{host}/", host, "", host, CrawlDatum(Status.DB_UNFETCHED, 0))


def died(*states: ServerState) -> Inheritance:
    """What an owner leaves that did not say that it ended."""
    left = Inheritance()
    left.take(b"!begun", owner_message("dead", 1))
    for state in states:
        left.take(state.key.encode(), host_message(state, 1_000_000))
    return left


def test_a_request_needs_the_partition_and_the_lease() -> None:
    made = Made()
    made.lease.asks(made.clock.monotonic())
    made.lease.answered(is_taken=True)
    assert made.right.may_send(item("a.test")) == "not_owner"
    partition = made.partition_of("a.test")
    made.owner.begin(partition, 0, Inheritance(), "mark")
    assert made.hosts.begun == {partition: "mark"}
    assert made.right.may_send(item("a.test")) is True
    made.clock.advance(4.6)  # as if the process had stood still
    assert made.right.may_send(item("a.test")) == "lease_over"
    made.owner.lose([partition])
    assert made.right.may_send(item("a.test")) == "not_owner"
    assert made.lane.lost("a.test")
    assert made.counters == {
        "withheld.not_owner": 2,
        "withheld.lease_over": 1,
    }


def test_after_a_death_every_server_gets_a_whole_pause_first() -> None:
    made = Made(slow_test=ServerPace(20.0))
    asking = ServerState("asks.test", 1.0, min_delay_s=12.0)
    for host in ("a.test", "slow.test", "asks.test"):
        made.owner.begin(made.partition_of(host), 0, died(asking), "mark")
        made.take(f"http://{host}/")
    assert made.lane.kept["asks.test"].pause_s == 12.0
    assert made.claimed() == []
    made.clock.advance(DELAY_S)
    assert "http://a.test/" in made.claimed()
    made.clock.advance(20 - DELAY_S)
    assert made.claimed() == ["http://slow.test/"]


def test_after_an_end_in_good_order_what_is_owed_is_known() -> None:
    made = Made()
    partition = made.partition_of("a.test")
    left = Inheritance()
    left.take(b"!begun", owner_message("one", 1))
    left.take(b"!ended", owner_message("one", 2))
    left.take(b"a.test", host_message(ServerState("a.test", 3.0), made.clock.now_ms()))
    made.owner.begin(partition, 0, left, "two")
    assert made.lane.kept == {"a.test": ServerState("a.test", 3.0)}
    made.take("http://a.test/")
    assert made.claimed() == ["http://a.test/"]  # the lane keeps the pause


def test_who_ends_leaves_what_is_owed_and_up_to_where_it_is_done() -> None:
    made = Made()
    partition = made.partition_of("a.test")
    made.owner.begin(partition, 5, Inheritance(), "mark")
    made.lane.kept = {
        "a.test": ServerState("a.test", 2.0),
        "@10.0.0.1": ServerState("@10.0.0.1", 9),
    }
    made.take("http://a.test/1", 5)
    made.take("http://a.test/2", 6)
    made.holdings.finish(made.holdings.of_url("http://a.test/1"))
    assert made.owner.end({partition: "mark"}) == {partition: 6}
    assert made.hosts.ended == {partition: "mark"}
    assert made.hosts.left == {"a.test": ServerState("a.test", 2.0)}
    assert made.holdings.count == 0


@pytest.mark.parametrize("waited_s", [0.0, DELAY_S])
def test_who_took_over_from_a_dead_one_owes_its_pauses_until_they_are_over(
    waited_s: float,
) -> None:
    """Which servers the dead one asked nobody knows: the next owner must not take the hand-over for
    one of all that is owed."""
    made = Made()
    partition = made.partition_of("a.test")
    made.owner.begin(partition, 0, died(), "mark")
    made.clock.advance(waited_s)
    made.owner.end({partition: "mark"})
    assert bool(made.hosts.ended) == (waited_s >= DELAY_S)


def test_an_end_with_requests_under_way_is_none_in_good_order() -> None:
    made = Made()
    made.feeder.is_done = False
    made.owner.begin(3, 0, Inheritance(), "mark")
    made.owner.end({3: "mark"})
    assert made.hosts.ended == {}


def test_a_job_of_a_domain_that_moved_goes_to_its_new_partition() -> None:
    made = Made()
    right = made.partition_of("a.test")
    wrong = (right + 1) % 8
    made.owner.begin(wrong, 0, Inheritance(), "mark")
    job = Job(id="1", wish=Wish(url="http://a.test/"), url="http://a.test/", submitted_ms=1)
    made.sender.fault = None
    made.owner.take(cast(Any, FakeMessage(wrong, 4, job_message(job))))
    assert [sent.partition for sent in made.sender.sent] == [right]
    assert made.holdings.positions() == {wrong: 4}  # it is not there yet
    made.sender.waiting.pop()("")
    assert made.holdings.positions() == {wrong: 5}


def test_what_cannot_be_read_is_passed_over_and_counted() -> None:
    made = Made()
    made.owner.begin(0, 0, Inheritance(), "mark")
    made.owner.take(cast(Any, FakeMessage(0, 0, b"\xc1")))
    assert made.holdings.positions() == {0: 1}
    assert made.counters["jobs.unreadable"] == 1


def test_no_more_is_taken_than_may_be_held() -> None:
    made = Made()
    partition = made.partition_of("a.test")
    made.owner.begin(partition, 0, Inheritance(), "mark")
    for offset in range(10):
        assert made.owner.has_room()
        made.take(f"http://a.test/{offset}", offset)
    assert not made.owner.has_room()
    made.holdings.finish(made.holdings.of_url("http://a.test/0"))
    assert not made.owner.has_room()  # not before a fifth of it is done
    for offset in (1, 2):
        made.holdings.finish(made.holdings.of_url(f"http://a.test/{offset}"))
    assert made.owner.has_room()


def test_a_job_that_is_to_wait_waits_by_the_clock_that_nobody_sets() -> None:
    made = Made()
    partition = made.partition_of("a.test")
    made.owner.begin(partition, 0, Inheritance(), "mark")
    made.take("http://a.test/", 0, made.clock.now_ms() + 2000)
    assert made.claimed() == []
    made.clock.advance(2)
    assert made.claimed() == ["http://a.test/"]
