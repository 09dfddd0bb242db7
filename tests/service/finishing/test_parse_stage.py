"""The stage between what arrives and what is stored. Parses in this process: the sandbox has tests
of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from crawl.clock import SystemClock
from crawl.counters import Counters
from crawl.errors import EnvironmentFault
from crawl.model.contents import contents_of
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.service.fetching.arrivals import Arrivals
from crawl.service.finishing import parse_stage
from crawl.service.finishing.parse_stage import MAX_BATCH, ParseStage
from crawl.service.finishing.record_parser import RecordParser
from tests.service.fetched import failed_record, page_record, parse_of

LONG_S = 60.0


class Parser:
    """Stands in for the sandbox."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.fault: Exception | None = None
        self.failures = 1_000_000
        self.tries = 0

    def parse_table(self, contents: pa.Table) -> ParsedBatch:
        self.tries += 1
        if self.fault is not None and self.tries <= self.failures:
            raise self.fault
        self.sizes.append(contents.num_rows)
        return parse_of(*(page_record(each.url, "word") for each in contents_of(contents)))


@pytest.fixture
def parser() -> Parser:
    return Parser()


@pytest.fixture
def arrivals() -> Arrivals:
    return Arrivals(lambda answer: None)


@pytest.fixture
def stage(arrivals: Arrivals, parser: Any) -> Iterator[ParseStage]:
    nobody_waits: Any = SimpleNamespace(find=lambda urls: {})
    made = ParseStage(
        arrivals, RecordParser(parser, nobody_waits, nobody_waits, 1000, Counters()), SystemClock()
    )
    yield made
    made.abandon()


def started(stage: ParseStage) -> threading.Thread:
    thread = threading.Thread(target=stage.run)
    thread.start()
    return thread


def test_pages_come_with_their_parses_and_failures_without(
    arrivals: Arrivals, stage: ParseStage, parser: Parser
) -> None:
    arrivals.add(page_record("http://a.test/1", "harbour"))
    arrivals.add(failed_record("http://a.test/2"))
    thread = started(stage)
    ready = stage.take(LONG_S)
    assert [each.url for each in ready.records] == ["http://a.test/1", "http://a.test/2"]
    assert list(ready.parsed) == ["http://a.test/1"]
    assert ready.parsed["http://a.test/1"].status == "success"
    assert ready.batch is not None and ready.batch.parse_data.num_rows == 1
    assert parser.sizes == [1]
    stage.stop()
    thread.join(LONG_S)
    assert stage.has_ended and stage.take(LONG_S).is_empty


def test_nothing_is_parsed_where_there_is_no_page(
    arrivals: Arrivals, stage: ParseStage, parser: Parser
) -> None:
    arrivals.add(failed_record("http://a.test/", Status.FETCH_RETRY))
    started(stage)
    ready = stage.take(LONG_S)
    assert len(ready.records) == 1 and ready.batch is None and not parser.sizes


def test_what_arrives_meanwhile_is_the_next_batch_and_not_too_large(
    arrivals: Arrivals, stage: ParseStage, parser: Parser
) -> None:
    urls = [f"http://a.test/{number}" for number in range(3 * MAX_BATCH)]
    for url in urls:
        arrivals.add(page_record(url, "word"))
    thread = started(stage)
    stage.stop()
    taken: list[str] = []
    while not (ready := stage.take(LONG_S)).is_empty:
        assert len(ready.records) <= MAX_BATCH
        taken += [each.url for each in ready.records]
    thread.join(LONG_S)
    assert taken == urls, "none is lost at the end, and the order is that of the answers"


def test_it_is_one_batch_ahead_at_the_most(
    arrivals: Arrivals, stage: ParseStage, parser: Parser
) -> None:
    for number in range(4 * MAX_BATCH):
        arrivals.add(page_record(f"http://a.test/{number}", "word"))
    thread = started(stage)
    thread.join(1.0)
    assert len(parser.sizes) <= 2, "one waits to be taken, and one to be handed on"


def test_a_wake_has_take_come_back(stage: ParseStage) -> None:
    started(stage)
    stage.wake()
    assert stage.take(LONG_S).is_empty
    assert not stage.has_ended


def test_a_parser_that_cannot_be_started_ends_it(
    arrivals: Arrivals, stage: ParseStage, parser: Parser
) -> None:
    parser.fault = OSError("no process")
    arrivals.add(page_record("http://a.test/", "word"))
    with pytest.raises(OSError, match="no process"):
        stage.run()
    assert stage.has_ended and stage.take(LONG_S).is_empty


def test_a_parser_that_is_killed_as_it_starts_is_started_again(
    arrivals: Arrivals, stage: ParseStage, parser: Parser
) -> None:
    parser.fault, parser.failures = EnvironmentFault("it cannot be started"), 2
    arrivals.add(page_record("http://a.test/", "word"))
    started(stage)
    assert list(stage.take(LONG_S).parsed) == ["http://a.test/"]
    assert parser.tries == 3


def test_a_parser_that_nobody_needs_for_long_is_kept_warm(
    stage: ParseStage, parser: Parser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_stage, "_KEEP_WARM_S", 0.0)
    thread = started(stage)
    while not parser.sizes:
        thread.join(0.01)
    assert stage.take(0.0).is_empty, "nobody is told of it"


def test_abandoned_it_ends_with_pages_that_nobody_takes(
    arrivals: Arrivals, stage: ParseStage
) -> None:
    for number in range(4 * MAX_BATCH):
        arrivals.add(page_record(f"http://a.test/{number}", "word"))
    thread = started(stage)
    stage.abandon()
    thread.join(LONG_S)
    assert not thread.is_alive()
