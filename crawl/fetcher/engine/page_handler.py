"""The engine's part that knows what the answer to a page means: a record, a redirect, and what its
server is owed for it."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.fetcher.engine.core import EngineCore
from crawl.fetcher.engine.follower import Follower
from crawl.fetcher.frontier.queue import HostQueue
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.outcome import UNASKED, Answer, Blame, answer_label, outcome_of, reply_of
from crawl.fetcher.values.record import record_of
from crawl.interfaces.protocol import Response
from crawl.model.answer_keys import VALIDATOR_KEYS
from crawl.model.datum import CrawlDatum
from crawl.model.protocol_status import ProtocolStatus
from crawl.model.status import Status
from crawl.robots.waits import retry_after_seconds


@dataclass(frozen=True, slots=True)
class PageHandler:
    """Takes in the answers to pages."""

    engine: EngineCore
    follower: Follower

    def handle(self, item: FetchItem, queue: HostQueue, answer: Answer, now: float) -> None:
        """Takes in the answer to a page, whose server was given back."""
        engine = self.engine
        outcome = outcome_of(answer)
        if outcome.status is Status.FETCH_NOTMODIFIED and not _is_known(item.datum):
            outcome = UNASKED
        now_ms = engine.hooks.clock.now_ms()
        engine.counters[outcome.label] += 1
        engine.counters[answer_label(answer)] += 1
        engine.emit(
            record_of(item, outcome, now_ms, answer, store_content=engine.settings.store_content)
        )
        if isinstance(answer, Response) and 300 <= answer.code < 400 and answer.code != 304:
            temporary = outcome.protocol_status is ProtocolStatus.TEMP_MOVED
            self.follower.follow_redirect(item, answer, temporary=temporary)
        if outcome.blame is Blame.NONE:
            queue.exceptions = 0
            if engine.troubles:
                engine.troubles.answered(item.host)
        else:
            self._blame(item, queue, outcome.blame, answer, now)

    def _blame(
        self, item: FetchItem, queue: HostQueue, blame: Blame, answer: Answer, now: float
    ) -> None:
        """Has a server that does not work rest, or gives it up."""
        engine, politeness, deadline = self.engine, self.engine.politeness, self.engine.deadline
        queue.exceptions += 1
        pause = politeness.back_off(queue.exceptions, engine.hooks.rng.random())
        why = "failures"
        if blame is Blame.PAUSE and isinstance(answer, Response):
            header = answer.header("retry-after")
            asked_for = retry_after_seconds(header, engine.hooks.clock.now_ms())
            if asked_for is not None:
                pause, why = max(asked_for, queue.pace.delay_s), "Retry-After"
        queue.wait_until(now + pause, why)
        reply = reply_of(answer)
        engine.troubles.pause(item.host, "failures", now, now + pause, pause, reply)
        if 0 <= politeness.max_exceptions <= queue.exceptions:
            engine.close(queue, "too_many_failures", now, reply)
        elif deadline is not None and now + pause >= deadline:
            engine.close(queue, "pause_beyond_time_limit", now, reply)
        else:
            engine.queues.offer(queue)


def _is_known(datum: CrawlDatum) -> bool:
    """Whether the page was fetched before, so that there is what may not have changed."""
    return datum.modified_time > 0 or any(key in datum.metadata for key in VALIDATOR_KEYS)
