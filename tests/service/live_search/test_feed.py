"""The process that is fed: a real one, as what is tested is its death, and what it says."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import NoSnapshot
from crawl.search.answers import SearchOptions
from crawl.service.live_search import LiveSearch, feed
from crawl.storage.crawl_dir import CrawlDir
from tests.service.fetched import page_record, parse_of
from tests.service.live_search.test_writing import NAME, open_segment

LONG_S = 120.0
pytestmark = pytest.mark.slow(seconds=20)


@pytest.fixture
def crawl_dir(tmp_path: Path) -> CrawlDir:
    return CrawlDir(str(tmp_path / "crawl"))


@pytest.fixture
def counters() -> Counters:
    return Counters()


@pytest.fixture
def search(
    crawl_dir: CrawlDir, tmp_path: Path, counters: Counters, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LiveSearch]:
    monkeypatch.setattr(feed, "_AGAIN_S", 0.01)
    config = Config.of({"service.search.seconds": 0.1})
    made = LiveSearch(crawl_dir, tmp_path, config, SystemClock(), counters)
    made.start()
    yield made
    made.close()


def found(search: LiveSearch, query: str) -> list[str]:
    try:
        answer = search.search(query, SearchOptions())
    except NoSnapshot:
        return []
    return [hit.record.url for hit in answer.hits]


def wait_until(holds: Callable[[], bool]) -> None:
    nobody, waited = threading.Event(), 0.0
    while not holds():
        assert waited < LONG_S, "it does not come true"
        nobody.wait(0.05)
        waited += 0.05


def take(search: LiveSearch, url: str, text: str, segment: str = NAME) -> None:
    search.take(parse_of(page_record(url, text)), segment, [])


def test_pages_appear_and_go(search: LiveSearch) -> None:
    take(search, "http://a.test/1", "harbour lantern")
    wait_until(lambda: found(search, "harbour") == ["http://a.test/1"])
    search.take(None, NAME, ["http://a.test/1"])
    wait_until(lambda: not found(search, "harbour"))


def test_pages_that_are_larger_than_a_pipe_appear(search: LiveSearch, counters: Counters) -> None:
    take(search, "http://a.test/1", " ".join(f"word{number}" for number in range(100_000)))
    wait_until(lambda: found(search, "word77777") == ["http://a.test/1"])
    assert not counters["search.restarts"]


def test_what_was_taken_is_committed_at_the_end(
    crawl_dir: CrawlDir, tmp_path: Path, counters: Counters
) -> None:
    config = Config.of({"service.search.seconds": 10_000.0})
    search = LiveSearch(crawl_dir, tmp_path, config, SystemClock(), counters)
    search.start()
    for number in range(20):
        take(search, f"http://a.test/{number}", f"harbour word{number}")
    search.close()
    assert found(search, "word7") == ["http://a.test/7"]
    assert found(search, "word19") == ["http://a.test/19"]


def test_a_process_that_dies_is_followed_by_one_that_misses_nothing(
    search: LiveSearch, crawl_dir: CrawlDir, counters: Counters
) -> None:
    take(search, "http://a.test/1", "harbour")
    wait_until(lambda: bool(found(search, "harbour")))
    # of pages that it has, and has not committed
    page = page_record("http://a.test/2", "lantern")
    process = search._feed._process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    search.take(parse_of(page), NAME, [])
    wait_until(lambda: not search._feed._waiting)
    os.kill(process.pid, signal.SIGKILL)
    wait_until(lambda: counters["search.restarts"] == 1)
    open_segment(crawl_dir, page).publish()
    search.published(NAME)
    wait_until(lambda: found(search, "lantern") == ["http://a.test/2"])
    assert found(search, "harbour") == ["http://a.test/1"]


def test_it_outlives_signals_that_are_meant_for_its_parent(
    search: LiveSearch, counters: Counters
) -> None:
    """Terminals and supervisors send them to all of a group; the last pages come after them."""
    wait_until(lambda: search._feed._process is not None)
    process = search._feed._process
    assert process is not None
    for number, each in enumerate((signal.SIGTERM, signal.SIGINT, signal.SIGHUP)):
        url = f"http://a.test/{number}"
        # it runs: none of them comes before its first line
        take(search, url, f"harbour word{number}")
        wait_until(lambda url=url: url in found(search, "harbour"))  # type: ignore[misc]
        os.kill(process.pid, each)
    take(search, "http://a.test/last", "meadow")
    wait_until(lambda: found(search, "meadow") == ["http://a.test/last"])
    assert search._feed._process is process and not counters["search.restarts"]


def test_what_does_not_fit_is_read_when_its_segment_is_published(
    search: LiveSearch,
    crawl_dir: CrawlDir,
    counters: Counters,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "MAX_BYTES", 0)
    page = page_record("http://a.test/1", "harbour")
    search.take(parse_of(page), NAME, [])
    assert counters["search.left_for_later"] == 1
    open_segment(crawl_dir, page).publish()
    search.published(NAME)
    wait_until(lambda: found(search, "harbour") == ["http://a.test/1"])


def test_nothing_is_searched_before_there_is_anything(
    crawl_dir: CrawlDir, tmp_path: Path, counters: Counters
) -> None:
    search = LiveSearch(crawl_dir, tmp_path, Config.of({}), SystemClock(), counters)
    with pytest.raises(NoSnapshot, match="nothing has been indexed"):
        search.search("harbour", SearchOptions())
    search.close()
