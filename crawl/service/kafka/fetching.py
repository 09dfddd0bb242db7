"""The role that asks servers: jobs come from Kafka, what they brought goes there. It needs nothing
else: no store, no credentials, no crawl.

    membership → holdings → feeder → lane → arrivals → bringer → topic of results
                                                            └► then the job's message is done with
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT
from crawl.counters import Counters
from crawl.errors import ConfigError, StorageError
from crawl.fetcher.frontier.queue import ADDRESS_MARK, ServerState
from crawl.fetcher.frontier.queue_stats import IdleQueues
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.politeness import Politeness
from crawl.fetcher.values.settings import FETCHER_QUEUE_MODE
from crawl.model.answer_keys import ETAG_KEY, LAST_MODIFIED_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.arrivals import Arrivals
from crawl.service.kafka.bringer import Bringer
from crawl.service.kafka.client import Kafka, Outgoing, prepare_topics
from crawl.service.kafka.holdings import Held, Holdings
from crawl.service.kafka.host_topic import HostTopic, Inheritance
from crawl.service.kafka.lease import Lease
from crawl.service.kafka.membership import Membership
from crawl.service.kafka.messages import JobMessage, job_message, job_message_of
from crawl.service.kafka.partitions import Partitions
from crawl.service.kafka.values import KafkaSettings
from crawl.service.lane import Lane
from crawl.service.service import ServiceStats
from crawl.service.settings import IDLE
from crawl.urls.parse import host_of
from crawl.urls.partition import PartitionMode

if TYPE_CHECKING:
    from confluent_kafka import Message

_TICK_S = 0.25
_CLOSING_S = 10.0
"""So long requests under way are waited for when a partition is given away."""
_ASK_S = 5.0
_ENDS_S = 5.0
_ROOM_AGAIN = 0.8

_log = logging.getLogger(__name__)


class FetchService:
    """One fetching process, from `start` to `stop`."""

    def __init__(self, config: Config, clock: Clock, settings: KafkaSettings) -> None:
        if PartitionMode(config[FETCHER_QUEUE_MODE]) is PartitionMode.BY_IP:
            raise ConfigError(
                f"{FETCHER_QUEUE_MODE.name}: with --role fetch a domain has one owner, not an"
                " address: expected byHost or byDomain"
            )
        self.counters = Counters()
        self._clock = clock
        self._settings = settings
        self._idle_s: float = config[IDLE]
        self._interval_s = int(config[DB_FETCH_INTERVAL_DEFAULT])
        self._politeness = Politeness.of(config)
        self._kafka = kafka = Kafka(settings)
        self._sender = kafka.sender(None)
        self._holdings = Holdings()
        self._lease = Lease(settings.session_s, settings.margin_s)
        self._partitions = Partitions(settings.partitions)
        self._owned: frozenset[int] = frozenset()
        """Replaced as a whole: it is asked before every request."""
        self._taken_over_s: dict[int, float] = {}
        """When partitions were taken over from an owner that did not end in good order."""
        self._arrivals = Arrivals(lambda answer: None)
        self._lane = Lane(
            *(config, clock, self._arrivals, lambda authority: None, lambda key: None),
            may_send=self.may_send,
        )
        self._hosts_seen = IdleQueues(0)
        self._in_lane: dict[str, int] = {}
        """Partitions of the URLs that are in it."""
        self._changed = threading.Condition()
        self._is_woken = False
        self._is_full = False
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._membership: Membership | None = None
        self._fault: BaseException | None = None

    # its life

    def start(self) -> None:
        """Joins the group; waits for brokers that come up."""
        self._partitions = Partitions(prepare_topics(self._kafka, self._sender, self._stopping))
        self._hosts = HostTopic(
            self._kafka,
            self._sender,
            self._clock,
            self._politeness.usual.delay_s,
            self._partitions.of_host,
        )
        self._bringer = Bringer(
            holdings=self._holdings,
            arrivals=self._arrivals,
            sender=self._sender,
            topic=self._settings.topics.results,
            largest=self._settings.message_bytes,
            pause_of=self._lane.pause_s,
            clock=self._clock,
            counters=self.counters,
            on_left=self._left_lane,
        )
        self._membership = Membership(self._kafka, self._lease, self, self._clock, self.counters)
        self._lane.start()
        self._threads = [
            self._thread("kafka-membership", self._membership.run),
            self._thread("kafka-feeder", self._feed_all),
            self._thread("kafka-bringer", self._bringer.run),
        ]

    def stop(self) -> None:
        """Leaves the group in good order: another takes over at once."""
        self._stopping.set()
        if self._membership is None:
            self.close()
            return
        self._membership.stop()
        membership, feeder, bringer = self._threads
        membership.join()
        self._wake()
        feeder.join()
        self._lane.stop()
        self._bringer.stop()
        bringer.join()
        self._sender.close(_ENDS_S)

    def close(self) -> None:
        """Lets go of what was opened, where it was never started."""
        self._sender.close()

    @property
    def last_stats(self) -> ServiceStats:
        """How it was when it ended: what it held is somebody else's by now."""
        return replace(self.stats(), waiting={}, claimed=0)

    def stats(self) -> ServiceStats:
        """How it is, for a look."""
        return ServiceStats(
            waiting={"normal": self._holdings.count - self._holdings.claimed_count},
            claimed=self._holdings.claimed_count,
            in_lane=self._lane.count,
            per_second=0.0,
            counters=dict(sorted(self.counters.items())),
            is_ready=self.fault is None and self._lease.holds(self._clock.monotonic()),
            hosts=self._hosts_seen,
            segment_age_s=0.0,
            published_ms=0,
            search_behind_s=0.0,
            store_failing_s=0.0,
        )

    @property
    def fault(self) -> BaseException | None:
        """Why it ended by itself; None while it works."""
        return self._fault or self._lane.fault

    def require_running(self) -> None:
        """Raises why it has ended by itself."""
        if self.fault is not None:
            raise StorageError(f"the service has ended: {self.fault}") from self.fault

    def check(self) -> None:
        """Raises what keeps it from working; owning nothing does not, as others may own all."""
        self.require_running()
        self._sender.check()
        if self._membership is None:
            raise StorageError("it has not joined its group yet")
        if self._owned and not self._lease.holds(self._clock.monotonic()):
            raise StorageError("the lease is over: nobody is asked until the brokers answer")

    def figures(self) -> dict[str, int]:
        """How it is, for a look."""
        return {
            "partitions": len(self._owned),
            "held": self._holdings.count,
            "in_lane": self._lane.count,
            "unsent": self._sender.unsent,
            **dict(sorted(self.counters.items())),
        }

    def _thread(self, name: str, run: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                run()
            except BaseException as fault:
                _log.exception("%s ended", name)
                self._fault = self._fault or fault
                self._owned = frozenset()  # whatever ended: nobody is asked any more

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread

    # the right to ask

    def may_send(self, item: FetchItem) -> bool | str:
        """Whether the server of an item is this process's to ask at this moment."""
        if self._partitions.of_host(item.host) not in self._owned:
            self.counters["withheld.not_owner"] += 1
            return "not_owner"
        if not self._lease.holds(self._clock.monotonic()):
            self.counters["withheld.lease_over"] += 1
            return "lease_over"
        return True

    # what the membership asks of an owner (membership.py)

    def begin(self, partition: int, first: int, left: Inheritance, mark: str) -> None:
        self._hosts.begin([partition], mark, _ASK_S)
        states = left.owed(self._clock.now_ms())
        if not left.is_clean:
            # the owner before may have asked any server until its lease was over
            states = [_with_delay(each, self._politeness) for each in states]
            self._taken_over_s[partition] = self._clock.monotonic()
            known = self._lane.pauses()
            states += [
                _with_delay(state, self._politeness)
                for key, state in known.items()
                if self._is_in(key, (partition,))
            ]
        else:
            self._taken_over_s.pop(partition, None)
        if states:
            self._lane.keep_pauses(states)
        self._holdings.open(partition, first)
        self._owned |= {partition}

    def take(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        try:
            job = job_message_of(message.value() or b"")
        except ValueError as error:
            self.counters["jobs.unreadable"] += 1
            _log.warning("message %d of partition %d is no job: %s", offset, partition, error)
            self._holdings.pass_over(partition, offset)
            return
        host = host_of(job.job.url) or ""
        now_ms = self._monotonic_ms()
        due_ms = now_ms + max(0, job.not_before_ms - self._clock.now_ms())
        since = self._taken_over_s.get(partition)
        if since is not None:
            owed_s = since + self._politeness.pace_of(host).delay_s
            due_ms = max(due_ms, round(owed_s * 1000))
        self.counters["jobs.taken"] += 1
        if self._partitions.of_host(host) != partition:
            # partitions were added since it was put here: its domain has another owner now
            self.counters["jobs.moved"] += 1
            moved = self._holdings.take(partition, offset, job, 1 << 62)
            self._carry([] if moved is None else [moved])
            return
        self._holdings.take(partition, offset, job, due_ms)
        self._wake()

    def has_room(self) -> bool:
        bound = self._settings.owned
        self._is_full = self._holdings.count >= (bound * _ROOM_AGAIN if self._is_full else bound)
        return not self._is_full

    def end(self, marks: Mapping[int, str]) -> dict[int, int]:
        partitions = marks.keys()
        self._withdraw(partitions)
        is_done = self._await_requests(partitions)
        if not is_done:
            _log.warning("requests are under way still in partitions that are given away")
        positions = {
            partition: position
            for partition, position in self._holdings.positions().items()
            if partition in partitions
        }
        self._holdings.drop(partitions)
        for partition, mark in marks.items():
            self._taken_over_s.pop(partition, None)
            # one whose requests may still be under way did not end in good order
            if is_done:
                self._hosts.end(self._states_of((partition,)), (partition,), mark)
        self._sender.flush(_ASK_S)
        return positions

    def lose(self, partitions: Collection[int]) -> None:
        self._withdraw(partitions)
        self._holdings.drop(partitions)
        self._hosts.forget()
        for partition in partitions:
            self._taken_over_s.pop(partition, None)

    def positions(self) -> dict[int, int]:
        return self._holdings.positions()

    def care(self) -> None:
        if self._lease.holds(self._clock.monotonic()):
            self._hosts.tell(self._states_of(self._owned))
        self._carry(self._holdings.carry())
        self._hosts_seen = self._lane.retire_idle(self._idle_s)
        self.counters["hosts_retired"] += self._hosts_seen.retired

    def _withdraw(self, partitions: Collection[int]) -> None:
        """Has nothing more of them sent: not what is chosen, not what waits in the lane."""
        self._owned -= frozenset(partitions)
        self._lane.give_back(lambda key: self._is_in(key, partitions), "not_owner")

    def _await_requests(self, partitions: Collection[int]) -> bool:
        """Waits until nothing of partitions is in the lane, for a while; whether it is so."""
        deadline = self._clock.monotonic() + _CLOSING_S
        while self._clock.monotonic() < deadline:
            with self._changed:
                if self._changed.wait_for(lambda: not self._is_busy(partitions), _TICK_S):
                    return True
            # one may have been fed at that moment
            self._lane.give_back(lambda key: self._is_in(key, partitions), "not_owner")
        return False

    def _is_in(self, key: str, partitions: Collection[int]) -> bool:
        return not key.startswith(ADDRESS_MARK) and self._partitions.of_host(key) in partitions

    def _states_of(self, partitions: Collection[int]) -> dict[str, ServerState]:
        return {
            key: state for key, state in self._lane.pauses().items() if self._is_in(key, partitions)
        }

    def _carry(self, jobs: list[Held]) -> None:
        """Sends jobs to the end of their topic."""
        for held in jobs:
            self.counters["jobs.carried"] += 1
            message = held.message
            raw = job_message(
                message.job,
                message.not_before_ms,
                message.etag,
                message.last_modified,
                message.modified_ms,
                is_known=message.is_known,
            )

            def carried(fault: str, held: Held = held) -> None:
                if not fault:
                    self._holdings.finish([held])

            partition = self._partitions.of_host(held.host)
            self._sender.send(
                Outgoing(self._settings.topics.jobs, raw, held.host.encode(), partition), carried
            )

    # the feeder

    def _feed_all(self) -> None:
        while not self._stopping.is_set():
            self._wait()
            if self._lease.holds(self._clock.monotonic()):
                while (room := self._lane.room()) > 0:
                    claimed = self._holdings.claim(
                        room, self._monotonic_ms(), self._lane.max_per_host
                    )
                    for held in claimed:
                        self._feed(held)
                    if not claimed:
                        break

    def _feed(self, held: Held) -> None:
        url = held.job.url
        with self._changed:
            if url in self._in_lane or held.partition not in self._owned:
                return  # it has the answer of the one before, or is given back with it
            self._in_lane[url] = held.partition
        self._lane.feed(url, self._datum(held.message))

    def _wait(self) -> None:
        with self._changed:
            if not self._is_woken:
                now_ms = self._monotonic_ms()
                due_ms = self._holdings.next_due_ms(now_ms)
                wait_s = _TICK_S if due_ms is None else min(_TICK_S, (due_ms - now_ms) / 1000)
                self._changed.wait(wait_s)
            self._is_woken = False

    def _wake(self) -> None:
        with self._changed:
            self._is_woken = True
            self._changed.notify_all()

    def _left_lane(self, url: str) -> None:
        """What came of a URL is taken care of."""
        self._lane.ended(url)
        with self._changed:
            self._in_lane.pop(url, None)
        # of jobs that came for it too late somebody has to look after
        self._holdings.give_back(url, 0)
        self._wake()

    def _is_busy(self, partitions: Collection[int]) -> bool:
        return any(partition in partitions for partition in self._in_lane.values())

    def _datum(self, message: JobMessage) -> CrawlDatum:
        metadata = {}
        if message.etag:
            metadata[ETAG_KEY] = message.etag
        if message.last_modified:
            metadata[LAST_MODIFIED_KEY] = message.last_modified
        return CrawlDatum(
            Status.DB_FETCHED if message.is_known else Status.DB_UNFETCHED,
            self._clock.now_ms(),
            message.modified_ms,
            self._interval_s,
            score=1.0,
            metadata=metadata,
        )

    def _monotonic_ms(self) -> int:
        """What moments of the holdings are in: a clock that is set changes nothing."""
        return round(self._clock.monotonic() * 1000)


def _with_delay(state: ServerState, politeness: Politeness) -> ServerState:
    """The state of a server that may have been asked a moment ago."""
    delay_s = max(politeness.pace_of(state.key).delay_s, state.min_delay_s)
    return ServerState(
        state.key,
        max(state.pause_s, delay_s),
        state.exceptions,
        state.closed_reason,
        state.counts_s,
        state.min_delay_s,
        state.wait_reason,
    )
