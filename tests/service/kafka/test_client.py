from __future__ import annotations

import threading
from typing import Any

import pytest

from crawl.service.kafka.client import left_within


class Group:
    """What leaves it waits for a broker, which may never answer."""

    def __init__(self, answers: threading.Event) -> None:
        self._answers = answers
        self.done: list[str] = []

    def commit(self) -> None:
        self.done.append("committed")

    def close(self) -> None:
        self._answers.wait(120)
        self.done.append("left")


def test_a_group_is_left_after_what_is_done_is_committed() -> None:
    answers = threading.Event()
    answers.set()
    group: Any = Group(answers)
    assert left_within(group, group.commit)
    assert group.done == ["committed", "left"]


def test_a_broker_that_does_not_answer_holds_nobody_up(caplog: pytest.LogCaptureFixture) -> None:
    answers = threading.Event()
    group: Any = Group(answers)
    try:
        assert not left_within(group, group.commit, seconds=0.05)
        assert "Kafka did not answer when its group was left" in caplog.text
    finally:
        answers.set()
