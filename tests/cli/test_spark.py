from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from crawl.buckets.runner import InProcess
from crawl.cli.spark import SMALL_ROWS, SparkOptions
from crawl.config import Config


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions that were asked for."""
    names: list[str] = []

    @contextmanager
    def session(self: SparkOptions, name: str, config: Config) -> Iterator[None]:
        names.append(name)
        yield None

    monkeypatch.setattr(SparkOptions, "session", session)
    return names


def test_little_work_is_done_here(opened: list[str]) -> None:
    with SparkOptions(None, True).runner("parse", Config.of({}), rows=SMALL_ROWS) as runner:
        assert isinstance(runner, InProcess)
    assert opened == []


def test_more_is_done_on_spark(opened: list[str]) -> None:
    with SparkOptions(None, True).runner("parse", Config.of({}), rows=SMALL_ROWS + 1):
        assert opened == ["parse"]


def test_what_was_asked_of_a_cluster_is_done_there(
    opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with SparkOptions("local[2]", True).runner("readdb", Config.of({}), rows=1):
        assert opened == ["readdb"]
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "40001")
    with SparkOptions(None, True).runner("parse", Config.of({}), rows=1):
        assert opened == ["readdb", "parse"]
