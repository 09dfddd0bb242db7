"""Takes wishes on that come by the topic. Where it has read up to is committed when what follows
from the wishes is stored: at least once."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import StorageError, UsageError
from crawl.service.intake.ids import JobIds
from crawl.service.intake.intake import Intake, Submitted
from crawl.service.kafka.client import Kafka, Outgoing, Sender, consumed, left_within
from crawl.service.kafka.finished_topic import FinishedTopic
from crawl.service.kafka.wish_messages import refusal_of, wish_of
from crawl.service.values import Finished, JobState, Wish

_BATCH = 200
_POLL_S = 0.2
_AGAIN_S = 1.0
"""After which what was refused because too much waits, or by a store, is tried again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Said:
    """A message and what it wishes."""

    message: Any
    wish: Wish | None
    fault: str = ""


class WishReader:
    """Runs in a thread of its own, until it is stopped."""

    def __init__(
        self,
        kafka: Kafka,
        sender: Sender,
        finished: FinishedTopic,
        intake: Intake,
        clock: Clock,
        counters: Counters,
    ) -> None:
        self._kafka = kafka
        self._sender = sender
        self._finished = finished
        self._intake = intake
        self._clock = clock
        self._counters = counters
        self._ids = JobIds(clock)
        self._stopping = threading.Event()
        self._consumer = kafka.consumer("intake")
        self._early: list[Any] = []
        """Messages that came while others waited."""

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        """Reads until it is stopped. What cannot be stored is tried until it can."""
        self._consumer.subscribe([self._kafka.settings.topics.wishes])
        try:
            while not self._stopping.is_set():
                early, self._early = self._early, []
                messages = early + consumed(self._consumer, _BATCH, 0 if early else _POLL_S)
                said = [self._read(each) for each in messages if each.error() is None]
                if said and self._take(said):
                    self._commit(said)
        finally:
            left_within(self._consumer)

    def _read(self, message: Any) -> _Said:
        try:
            return _Said(message, wish_of(message.value()))
        except UsageError as error:
            return _Said(message, None, f"invalid: {error}")

    def _take(self, said: Sequence[_Said]) -> bool:
        """Whether all of it is stored; not where it was stopped before it could be."""
        invalid = [each for each in said if each.wish is None]
        self._counters["wishes.read"] += len(said)
        self._counters["wishes.invalid"] += len(invalid)
        refused = [(each.message, each.fault) for each in invalid]
        open_wishes = [(each.message, each.wish) for each in said if each.wish is not None]
        answered: list[Finished] = []
        while open_wishes and not self._stopping.is_set():
            try:
                submitted = self._intake.submit([wish for _, wish in open_wishes])
            except StorageError as error:
                _log.warning("wishes wait: %s", error)
                self._wait()
                continue
            left = []
            for (message, wish), each in zip(open_wishes, submitted, strict=True):
                if each.retry_after_s:
                    left.append((message, wish))
                elif each.state is JobState.REFUSED:
                    refused.append((message, each.reason))
                elif each.state is JobState.ANSWERED:
                    answered.append(self._answer(each))
            if left:
                self._counters["wishes.held_back"] += len(left)
                self._wait()
            open_wishes = left
        return not open_wishes and self._tell(refused, answered)

    def _wait(self) -> None:
        """For a moment, without being taken for dead."""
        self._pause(self._consumer.assignment(), is_paused=True)
        self._stopping.wait(_AGAIN_S)
        message = self._consumer.poll(0)
        if message is not None:  # of a partition that came meanwhile
            self._early.append(message)
        self._pause(self._consumer.assignment(), is_paused=False)

    def _pause(self, partitions: list[Any], *, is_paused: bool) -> None:
        if partitions:
            (self._consumer.pause if is_paused else self._consumer.resume)(partitions)

    def _answer(self, submitted: Submitted) -> Finished:
        """What is known already, told like what was fetched."""
        now_ms, answer = self._clock.now_ms(), submitted.answer
        return Finished(
            job=self._ids.new(),
            wish=submitted.wish,
            state=JobState.ANSWERED,
            submitted_ms=now_ms,
            finished_ms=now_ms,
            url=submitted.url if answer is None else answer.page.url,
            hops=() if answer is None else answer.hops,
            page=None if answer is None else answer.page,
        )

    def _tell(self, refused: Sequence[tuple[Any, str]], answered: Sequence[Finished]) -> bool:
        topic = self._kafka.settings.topics.refused
        messages = [
            Outgoing(
                topic,
                refusal_of(
                    message.value(),
                    reason,
                    f"{message.topic()}/{message.partition()}/{message.offset()}",
                ),
                message.key(),
            )
            for message, reason in refused
        ]
        try:
            self._sender.send_all(messages).result()
            if answered:
                self._finished.store(answered)
        except StorageError as error:
            if not self._stopping.is_set():
                raise
            _log.warning("wishes are read again by the next start: %s", error)
            return False
        return True

    def _commit(self, said: Sequence[_Said]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        next_by_place: dict[tuple[str, int], int] = {}
        for each in said:
            place = each.message.topic(), each.message.partition()
            next_by_place[place] = max(next_by_place.get(place, 0), each.message.offset() + 1)
        offsets = [TopicPartition(*place, next_) for place, next_ in next_by_place.items()]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            # such as ILLEGAL_GENERATION in a rebalance: they are read again, which does no harm
            self._counters["wishes.not_committed"] += len(said)
            _log.warning("wishes may be read twice: %s", self._kafka.line(error))
