"""A batch fetch and the service on one crawl, as the server's own log tells it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.phases.fetch.run import FetchResult
from crawl.service.service import Service
from crawl.service.values import Finished, Wish
from crawl.synthetic.web import (
    LogEntry,
    RobotsKind,
    Settings,
    Web,
    WebServer,
    before_robots,
    concurrency,
    gaps,
    running,
)
from tests.phases.webs import listed, web_config
from tests.service.events import PATIENCE_S, eventually
from tests.service.lane_processes import fetch_segment, serve_urls

pytestmark = pytest.mark.slow(seconds=40)

DELAY = 0.3


SLOW_DELAY = 2.5


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    """Of four hosts the last two ask for a far longer pause."""
    kinds = (RobotsKind.OPEN, RobotsKind.OPEN, RobotsKind.DELAY, RobotsKind.DELAY)
    shape = Settings.plain(
        4, 80, skew=0, port=0, size=500, fanout=4, robots=kinds, crawl_delay=SLOW_DELAY
    )
    with running(Web(shape)) as server:
        yield server


class Lanes:
    """A crawl whose fetch list has these URLs."""

    def __init__(self, folder: Path, server: WebServer, urls: list[str]) -> None:
        self.server = server
        self.config = web_config(
            server.web,
            fetcher__server__delay=DELAY,
            fetcher__progress__interval=0.1,
            service__segment__seconds=1.0,
        )
        self.directory, self.segment = listed(str(folder / "crawl"), urls)
        self.config = self.config.with_values({"crawldb.buckets": 4}, "test")
        self._seen = len(server.requests())

    @property
    def log(self) -> list[LogEntry]:
        return self.server.requests()[self._seen :]

    def asked(self, host: str) -> int:
        """Pages that a host was asked for."""
        return sum(each.host == host and each.path != "/robots.txt" for each in self.log)

    def fetch(self) -> FetchResult:
        return fetch_segment(self.directory.address, self.segment, self.config)

    @contextmanager
    def serving(self) -> Iterator[Service]:
        service = Service(self.directory, self.config, SystemClock())
        service.start()
        try:
            yield service
        finally:
            service.stop()

    def assert_polite(self) -> None:
        log = self.log
        slow = {host for host in self.server.web.hosts() if self._is_slow(host)}
        assert before_robots(log) == []
        assert max(concurrency(log).values()) == 1
        pauses = [(gap.key, gap.seconds) for gap in gaps(log)]
        assert [each for each in pauses if each[1] < DELAY] == []
        assert sum(host in slow and seconds < SLOW_DELAY for host, seconds in pauses) == 0

    def _is_slow(self, host: str) -> bool:
        return self.server.web.robots(host) is RobotsKind.DELAY


def pages_of(server: WebServer, host: str, first: int, end: int) -> list[str]:
    urls = [url for url in server.web.urls() if url.startswith(f"http://{host}:")]
    return [url for url in urls if "private" not in url][first:end]


def submitted(service: Service, urls: list[str]) -> list[Future[Finished]]:
    done = service.intake.submit([Wish(url=url) for url in urls])
    return [service.wait_for(each.id) for each in done]


def assert_pages(answers: Iterable[Future[Finished]]) -> None:
    for each in answers:
        page = each.result(PATIENCE_S).page
        assert page is not None and page.code == 200


def killed_after(lanes: Lanes, requests: int, work: Callable[..., object], *given: object) -> None:
    """Has work done in another process, which is killed after some requests of it."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=given)
    process.start()
    enough = len(lanes.log) + requests
    try:
        eventually(lambda: len(lanes.log) >= enough or not process.is_alive())
        assert process.is_alive()
    finally:
        process.kill()
        process.join()


def test_no_host_is_asked_by_both(tmp_path: Path, server: WebServer) -> None:
    shared, other = server.web.hosts()[:2]
    mine = pages_of(server, shared, 0, 6)
    lanes = Lanes(tmp_path, server, mine)
    with lanes.serving() as service, ThreadPoolExecutor(1) as pool:
        before = submitted(service, pages_of(server, shared, 6, 9))
        eventually(lambda: lanes.asked(shared) > 0)
        batch = pool.submit(lanes.fetch)
        eventually(lambda: service.counters["fetches_yielded_to"] > 0)
        assert "fetch by" in service.fetch_at_work
        late = submitted(service, pages_of(server, shared, 9, 11))
        assert service.is_left_to_fetch(mine[0])
        assert not service.is_left_to_fetch(pages_of(server, other, 0, 1)[0])
        assert_pages(submitted(service, pages_of(server, other, 0, 2)))
        result = batch.result(PATIENCE_S)
        assert_pages((*before, *late))
        assert service.counters["hosts_held_for_fetch"] == 1
        assert not service.is_left_to_fetch(mine[0])
        assert service.fetch_at_work == ""
    assert result.complete and result.report.counters["records"] == len(mine)
    assert lanes.asked(shared) == 11
    lanes.assert_polite()


def test_pauses_hold_from_one_lane_to_the_other(tmp_path: Path, server: WebServer) -> None:
    """Every lane asks a slow host once or twice, so that the pauses between lanes are its own."""
    slow = server.web.hosts()[2]
    lanes = Lanes(tmp_path, server, pages_of(server, slow, 0, 2))
    with lanes.serving() as service:
        assert_pages(submitted(service, pages_of(server, slow, 2, 3)))
        assert lanes.fetch().complete
        assert_pages(submitted(service, pages_of(server, slow, 3, 4)))
    # one that begins anew keeps what the one before it was owed
    with lanes.serving() as service:
        assert_pages(submitted(service, pages_of(server, slow, 4, 5)))
    assert lanes.asked(slow) == 5
    lanes.assert_polite()


def test_a_killed_fetch_gives_its_hosts_back(tmp_path: Path, server: WebServer) -> None:
    shared, slow = server.web.hosts()[0], server.web.hosts()[2]
    mine = [*pages_of(server, shared, 0, 10), *pages_of(server, slow, 0, 10)]
    lanes = Lanes(tmp_path, server, mine)
    with lanes.serving() as service:
        assert_pages(submitted(service, pages_of(server, slow, 11, 12)))
        address, name = lanes.directory.address, lanes.segment
        killed_after(lanes, 6, fetch_segment, address, name, lanes.config)
        wanted = [*pages_of(server, shared, 12, 14), *pages_of(server, slow, 12, 14)]
        assert_pages(submitted(service, wanted))
        lanes.assert_polite()
        assert lanes.fetch().complete, "it goes on beside the service"
    lanes.assert_polite()


def test_a_service_begins_beside_a_fetch(tmp_path: Path, server: WebServer) -> None:
    shared, other = server.web.hosts()[:2]
    lanes = Lanes(tmp_path, server, pages_of(server, shared, 0, 8))
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(lanes.fetch)
        eventually(lambda: lanes.asked(shared) > 0)
        with lanes.serving() as service:
            waits = submitted(service, pages_of(server, shared, 10, 11))
            assert_pages(submitted(service, pages_of(server, other, 0, 1)))
            assert batch.result(PATIENCE_S).complete
            assert_pages(waits)
    lanes.assert_polite()


def test_a_killed_service_leaves_its_pauses(tmp_path: Path, server: WebServer) -> None:
    """The host that asks for long pauses may have been asked just before the death."""
    shared, slow = server.web.hosts()[1], server.web.hosts()[3]
    mine = [*pages_of(server, shared, 10, 13), *pages_of(server, slow, 10, 12)]
    lanes = Lanes(tmp_path, server, mine)
    urls = [*pages_of(server, slow, 0, 5), *pages_of(server, shared, 0, 5)]
    killed_after(lanes, 8, serve_urls, lanes.directory.address, lanes.config, urls)
    assert lanes.asked(slow) > 0
    assert lanes.fetch().complete
    lanes.assert_polite()
    with lanes.serving() as service:
        wanted = [*pages_of(server, shared, 14, 15), *pages_of(server, slow, 14, 15)]
        assert_pages(submitted(service, wanted))
    lanes.assert_polite()
