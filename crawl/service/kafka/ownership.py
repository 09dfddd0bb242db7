"""What a fetching process does with the partitions that are its own (membership.py): their jobs are
held, their servers asked under the pauses that are owed, and left in good order.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.fetcher.frontier.queue import ServerState
from crawl.fetcher.frontier.queue_stats import IdleQueues
from crawl.fetcher.values.politeness import Politeness
from crawl.service.fetching.lane import Lane
from crawl.service.kafka.client import Outgoing, Sender
from crawl.service.kafka.feeder import Feeder
from crawl.service.kafka.holdings import Held, Holdings
from crawl.service.kafka.host_topic import HostTopic, Inheritance
from crawl.service.kafka.messages import job_message, job_message_of
from crawl.service.kafka.sending_right import SendingRight
from crawl.service.kafka.values import KafkaSettings
from crawl.urls.parse import host_of

if TYPE_CHECKING:
    from confluent_kafka import Message

_CLOSING_S = 10.0
"""So long requests under way are waited for when a partition is given away."""
_ASK_S = 5.0
_ROOM_AGAIN = 0.8
_RETIRE_S = 10.0
"""For what has a look at all hosts."""

_log = logging.getLogger(__name__)


class Ownership:
    """An Owner (membership.py), for the thread of the membership."""

    def __init__(
        self,
        *,
        settings: KafkaSettings,
        right: SendingRight,
        holdings: Holdings,
        lane: Lane,
        feeder: Feeder,
        hosts: HostTopic,
        sender: Sender,
        politeness: Politeness,
        clock: Clock,
        counters: Counters,
        idle_s: float,
    ) -> None:
        self._settings = settings
        self._right = right
        self._holdings = holdings
        self._lane = lane
        self._feeder = feeder
        self._hosts = hosts
        self._sender = sender
        self._politeness = politeness
        self._clock = clock
        self._counters = counters
        self._idle_s = idle_s
        self.hosts_seen = IdleQueues(0)
        self._retire_at = clock.monotonic()
        self._is_full = False
        self._taken_over_s: dict[int, float] = {}
        """When partitions were taken over from an owner that did not end in good order."""

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
                if self._right.is_in(key, (partition,))
            ]
        else:
            self._taken_over_s.pop(partition, None)
        if states:
            self._lane.keep_pauses(states)
        self._holdings.open(partition, first)
        self._right.take(partition)

    def take(self, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        try:
            job = job_message_of(message.value() or b"")
        except ValueError as error:
            self._counters["jobs.unreadable"] += 1
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
        self._counters["jobs.taken"] += 1
        if self._right.partitions.of_host(host) != partition:
            # partitions were added since it was put here: its domain has another owner now
            self._counters["jobs.moved"] += 1
            moved = self._holdings.take(partition, offset, job, 1 << 62)
            self._carry([] if moved is None else [moved])
            return
        self._holdings.take(partition, offset, job, due_ms)
        self._feeder.wake()

    def has_room(self) -> bool:
        bound = self._settings.owned
        self._is_full = self._holdings.count >= (bound * _ROOM_AGAIN if self._is_full else bound)
        return not self._is_full

    def end(self, marks: Mapping[int, str]) -> dict[int, int]:
        partitions = marks.keys()
        self._withdraw(partitions)
        is_done = self._feeder.await_ends(
            partitions, _CLOSING_S, lambda: self._give_back(partitions)
        )
        if not is_done:
            _log.warning("requests are under way still in partitions that are given away")
        positions = {
            partition: position
            for partition, position in self._holdings.positions().items()
            if partition in partitions
        }
        self._holdings.drop(partitions)
        for partition, mark in marks.items():
            # where requests may be under way, or servers be owed a pause by one that died, of which
            # nobody knows which they are, the next owner waits as after a death
            if is_done and not self._owes_all(partition):
                self._hosts.end(self._states_of((partition,)), (partition,), mark)
            self._taken_over_s.pop(partition, None)
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
        if self._right.holds():
            self._hosts.tell(self._states_of(self._right.owned))
        self._carry(self._holdings.carry())
        now = self._clock.monotonic()
        if now >= self._retire_at:
            self._retire_at = now + _RETIRE_S
            self.hosts_seen = self._lane.retire_idle(self._idle_s)
            self._counters["hosts_retired"] += self.hosts_seen.retired

    def _owes_all(self, partition: int) -> bool:
        """Whether any server of a partition may be owed a pause by the owner before."""
        since = self._taken_over_s.get(partition)
        paces = (self._politeness.usual, *self._politeness.hosts.values())
        longest_s = max(pace.delay_s for pace in paces)
        return since is not None and self._clock.monotonic() < since + longest_s

    def _withdraw(self, partitions: Collection[int]) -> None:
        """Has nothing more of them sent: not what is chosen, not what waits in the lane."""
        self._right.drop(partitions)
        self._give_back(partitions)

    def _give_back(self, partitions: Collection[int]) -> None:
        self._lane.give_back(lambda key: self._right.is_in(key, partitions), "not_owner")

    def _states_of(self, partitions: Collection[int]) -> dict[str, ServerState]:
        return {
            key: state
            for key, state in self._lane.pauses().items()
            if self._right.is_in(key, partitions)
        }

    def _carry(self, jobs: list[Held]) -> None:
        """Sends jobs to the end of their topic."""
        for held in jobs:
            self._counters["jobs.carried"] += 1
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

            partition = self._right.partitions.of_host(held.host)
            self._sender.send(
                Outgoing(self._settings.topics.jobs, raw, held.host.encode(), partition), carried
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
