"""Whatever is submitted, answered, given back and killed in whatever order: every job that was
acknowledged is in the queue or has its answer, at every moment, and ends."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crawl.model.status import Status
from crawl.service.values import JobState, Priority, Wish
from crawl.testing.clock import ManualClock
from tests.examples import scaled
from tests.service.parts_in_process import Death, Parts

_URLS = [f"http://{host}.org/{path}" for host in "abc" for path in "12"]
_ONE = strategies.sampled_from(_URLS)
_CHANCE = strategies.integers(0, 1000)
_START_MS = 1_800_000_000_000


class _Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.parts = Parts(Path(self.folder.name) / "queue", ManualClock(_START_MS))

    @rule(
        urls=strategies.lists(_ONE, min_size=1, max_size=3),
        priority=strategies.sampled_from(Priority),
        max_age_s=strategies.sampled_from([None, 0.0, 5.0]),
    )
    def submit(self, urls: list[str], priority: Priority, max_age_s: float | None) -> None:
        wishes = [Wish(url=url, priority=priority, max_age_s=max_age_s) for url in urls]
        self._alive(lambda: self.parts.submit(*wishes))

    @rule()
    def dispatch(self) -> None:
        self._alive(self.parts.dispatch)

    @precondition(lambda self: self.parts.lane.fed)
    @rule(
        chance=_CHANCE,
        status=strategies.sampled_from(
            [Status.FETCH_SUCCESS, Status.FETCH_GONE, Status.FETCH_RETRY, Status.FETCH_REDIR_TEMP]
        ),
        leads_to=_ONE,
    )
    def answer(self, chance: int, status: Status, leads_to: str) -> None:
        fed = sorted(self.parts.lane.fed)
        url = fed[chance % len(fed)]
        self._alive(lambda: self.parts.answer(url, status, leads_to))

    @precondition(lambda self: self.parts.lane.fed)
    @rule(
        chance=_CHANCE,
        reason=strategies.sampled_from(["service_ends", "robots_deferred", "ended", "stuck"]),
    )
    def give_back(self, chance: int, reason: str) -> None:
        fed = sorted(self.parts.lane.fed)
        url = fed[chance % len(fed)]
        self._alive(lambda: self.parts.give_back(url, reason))

    @rule(step=strategies.integers(1, 8))
    def will_die(self, step: int) -> None:
        self.parts.mortal.dies_at(step)

    @rule(seconds=strategies.sampled_from([0.001, 1.0, 10.0, 600.0]))
    def wait(self, seconds: float) -> None:
        self.parts.clock.advance(seconds)

    @rule()
    def killed(self) -> None:
        self.parts.die()
        self.parts.begin()

    def _alive(self, does: object) -> None:
        try:
            does()  # type: ignore[operator]
        except Death:
            self.killed()

    @invariant()
    def nothing_acknowledged_is_lost(self) -> None:
        for each in self.parts.acknowledged:
            assert self.parts.queue.contains(each.id) or self.parts.answers.get(each.id)

    @invariant()
    def whoever_was_told_can_ask(self) -> None:
        for each in self.parts.heard.told:
            assert self.parts.answers.get(each.job) is not None

    def teardown(self) -> None:
        parts = self.parts
        parts.mortal.dies_at(None)
        turns = 0
        while parts.queue.count().unfinished:
            parts.dispatch()
            for url in list(parts.lane.fed):
                parts.answer(url, Status.FETCH_GONE)
            parts.clock.advance(1)
            turns += 1
            assert turns < 100, "what is in the queue does not end"
        assert not parts.lane.fed and not parts.lane.late
        told = defaultdict(set)
        for each in parts.heard.stored:
            told[each.job].add(each.state)
        for job in parts.acknowledged:
            end = parts.answers.get(job.id)
            assert end is not None and end.state in (JobState.FINISHED, JobState.REFUSED)
            assert end.state in told[job.id]
        parts.close()
        self.folder.cleanup()


def test_every_acknowledged_job_ends_whatever_happens() -> None:
    run_state_machine_as_test(
        _Machine, settings=settings(max_examples=scaled(100), stateful_step_count=30)
    )
