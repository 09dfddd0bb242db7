"""A robots.txt on a host of no list, which a service may ask meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.interfaces.protocol import Request, Response
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.storage.fetch_lanes import ServingPlace, Yielded, asks_any_host, serving
from crawl.storage.lock import lock_owner
from crawl.storage.server_pauses import ServerPause
from crawl.tables.runner import InProcess
from tests.phases.counted_fetch import ShortAnswers
from tests.phases.fetch_commands import assert_one_record_each
from tests.phases.webs import listed

URLS = [f"http://blog{number}.org/" for number in range(8)]
HUB = "http://hub.org/robots.txt"
CONFIG = Config.of(
    {
        "http.agent.name": "testbot",
        "plugin.protocol": ["tests.phases.fetch.test_fetch_beside_service:Hosted"],
        "urlfilter.order": ["length"],
        "fetcher.server.delay": 0,
        "fetcher.progress.interval": 0.1,
    }
)
PATIENCE_S = 60.0
PAUSE_MS = 1500


class Hosted(ShortAnswers):
    """Named in the configuration. All blogs have the robots.txt of a host that is on no list."""

    on_request: Callable[[str], None] = staticmethod(lambda url: None)

    def fetch(self, request: Request) -> Response:
        type(self).on_request(request.url)
        if request.url.startswith("http://blog") and request.url.endswith("/robots.txt"):
            return Response(request.url, 301, (("Location", HUB),), b"", sent=1.0)
        return super().fetch(request)


class Crawl:
    """What was asked, and what services could know then."""

    def __init__(self, folder: Path) -> None:
        self.directory, self.name = listed(str(folder / "crawl"), URLS, parts=2)
        self.asked: list[tuple[str, bool]] = []
        """URLs, each with whether services knew then that any host may be asked."""
        self.asked_at_ms: dict[str, int] = {}
        """When each was asked for first."""

    def on_request(self, url: str) -> None:
        self.asked.append((url, self.says_any_host()))
        self.asked_at_ms.setdefault(url, SystemClock().now_ms())

    def says_any_host(self) -> bool:
        owner = lock_owner(self.directory.fetching_folder)
        return owner is not None and asks_any_host(self.directory, owner)

    def run(self, interrupted: Callable[[], bool] = lambda: False) -> FetchResult:
        clock = SystemClock()
        return fetch.run(InProcess(2), self.directory, CONFIG, FetchOptions(), clock, interrupted)

    def fetch(self) -> FetchResult:
        done = self.run()
        assert done.complete and done.report.counters["fetch_success"] == len(URLS)
        assert_one_record_each(self.directory, self.name, URLS)
        return done

    def said_when_asked(self, url: str) -> set[bool]:
        return {is_said for each, is_said in self.asked if each == url}


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crawl:
    crawl = Crawl(tmp_path)
    monkeypatch.setattr(Hosted, "on_request", crawl.on_request)
    return crawl


def test_where_no_service_is_it_is_asked_at_once_and_any_that_begins_knows(crawl: Crawl) -> None:
    done = crawl.fetch()
    assert crawl.said_when_asked(HUB) == {True}
    assert not all(is_said for _, is_said in crawl.asked), "before there was need"
    assert done.report.counters["robots_elsewhere"] == 0


@pytest.fixture
def service(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """One that begins with the fetch's first request. The moments at which it has yielded all
    hosts, of which the hub is owed a pause."""
    yielded_at_ms: list[int] = []
    begins, ended = threading.Lock(), threading.Event()
    threads: list[threading.Thread] = []

    def look(place: ServingPlace) -> None:
        while not (crawl.says_any_host() or ended.wait(0.02)):
            pass
        owner = lock_owner(crawl.directory.fetching_folder)
        if owner is None:
            return
        now_ms = SystemClock().now_ms()
        pause = ServerPause("hub.org", now_ms + PAUSE_MS, 0, 0, 0.0, "", now_ms)
        yielded_at_ms.append(now_ms)
        place.say_yielded(Yielded(owner.token, True, (pause,)))

    with ExitStack() as serves:

        def on_request(url: str) -> None:
            with begins:
                if not threads:
                    place = serves.enter_context(serving(crawl.directory, CONFIG, SystemClock()))
                    threads.append(threading.Thread(target=look, args=(place,)))
                    threads[0].start()
            crawl.on_request(url)

        monkeypatch.setattr(Hosted, "on_request", on_request)
        try:
            yield yielded_at_ms
        finally:
            ended.set()
            for thread in threads:
                thread.join(PATIENCE_S)


def test_a_service_that_has_begun_since_is_asked_to_yield_it(
    crawl: Crawl, service: list[int]
) -> None:
    done = crawl.fetch()
    assert done.report.counters["robots_elsewhere"] == len(URLS)
    assert len(service) == 1
    assert crawl.said_when_asked(HUB) == {True}
    assert crawl.asked_at_ms[HUB] >= service[0] + PAUSE_MS


def test_one_that_is_interrupted_while_it_waits_for_a_service_asks_nobody(crawl: Crawl) -> None:
    with serving(crawl.directory, CONFIG, SystemClock()):  # and does not answer
        assert not crawl.run(interrupted=lambda: True).complete
    assert crawl.asked == []
    crawl.fetch()


def test_so_does_one_that_waits_for_servers_of_no_list(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    begins, begun = threading.Lock(), threading.Event()
    with ExitStack() as serves:

        def on_request(url: str) -> None:
            if begins.acquire(blocking=False):
                serves.enter_context(serving(crawl.directory, CONFIG, SystemClock()))
                begun.set()
            begun.wait(PATIENCE_S)
            crawl.on_request(url)

        monkeypatch.setattr(Hosted, "on_request", on_request)
        assert not crawl.run(interrupted=crawl.says_any_host).complete
    assert crawl.said_when_asked(HUB) == set()
    monkeypatch.setattr(Hosted, "on_request", crawl.on_request)
    crawl.fetch()
