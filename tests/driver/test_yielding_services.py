"""A fetch begins when services have left its servers to it, and with what these are owed."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from contextlib import ExitStack
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.driver import yielding_services
from crawl.driver.yielding_services import LeavingLists, ServicesLeft, YieldingServices
from crawl.storage.crawl_dir import SERVING, CrawlDir
from crawl.storage.fetch_lanes import (
    ASKS_ANY_HOST,
    KEEPS_TO_ITS_LIST,
    LEASE_S,
    Yielded,
    asks_any_host,
    is_served,
    say_any_host,
    serving,
    serving_places,
    twin_of,
)
from crawl.storage.lock import Lock
from crawl.storage.server_pauses import ServerPause
from crawl.testing.clock import ManualClock

CONFIG = Config.of({"http.agent.name": "testbot", "fetcher.server.delay": 7.0})
NOW_MS = 1_800_000_000_000
_DIES = multiprocessing.get_context("spawn")


def pause(server: str, seconds: float, crawl_delay_s: float = 0.0) -> ServerPause:
    return ServerPause(server, NOW_MS + round(seconds * 1000), 0, 0, crawl_delay_s, "", NOW_MS)


def die_serving(address: str) -> None:
    with serving(CrawlDir(address), CONFIG, ManualClock(NOW_MS)) as place:
        place.keep_pauses([pause("a.org", 60.0), pause("slow.org", 0.0, 20.0)])
        os._exit(1)


class Fetch:
    """A fetch that is about to begin, by a clock that its waits advance."""

    def __init__(self, folder: Path) -> None:
        self.directory, self.clock = CrawlDir(str(folder / "c")), ManualClock(NOW_MS)
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.advance(seconds)

    def wait(self, *, any_host: bool = False) -> dict[str, float]:
        command = ASKS_ANY_HOST if any_host else KEEPS_TO_ITS_LIST
        with self.directory.fetching(command, CONFIG, self.clock) as lock:
            services = YieldingServices(self.directory, lock, CONFIG, self.clock, self.sleep)
            left = services.wait(any_host=any_host)
        return {each.server: each.pause_s(self.clock.now_ms()) for each in left.pauses}

    def is_served(self) -> bool:
        return is_served(self.directory, self.clock.now_ms(), 60_000)


def test_no_service_costs_nothing(tmp_path: Path) -> None:
    fetch = Fetch(tmp_path)
    assert fetch.wait() == {}
    assert fetch.slept == []
    assert not fetch.directory.folder.exists(SERVING)
    assert not fetch.is_served()


def test_a_service_that_yields_is_waited_for(tmp_path: Path) -> None:
    fetch = Fetch(tmp_path)
    with serving(fetch.directory, CONFIG, fetch.clock) as place:
        assert fetch.is_served()
        with fetch.directory.fetching("fetch", CONFIG, fetch.clock) as lock:
            token = lock.owner.token
            answers = [
                Yielded("another", True, (pause("z.org", 9.0),)),
                Yielded(token, False, (pause("a.org", 60.0),)),
                Yielded(token, True, (pause("b.org", 60.0),)),
            ]
            services = YieldingServices(
                *(fetch.directory, lock, CONFIG, fetch.clock),
                sleep=lambda seconds: place.say_yielded(answers.pop(0)),
            )
            assert services.wait() == ServicesLeft((pause("a.org", 60.0),), is_served=True)
            assert services.wait(any_host=True).pauses == (pause("b.org", 60.0),)
        place.keep_pauses([pause("c.org", 30.0)])
    assert fetch.wait() == {"c.org": 30.0}, "it has ended in good order"
    assert fetch.slept == []


def test_what_a_killed_service_owed_is_kept(tmp_path: Path) -> None:
    fetch = Fetch(tmp_path)
    process = _DIES.Process(target=die_serving, args=(fetch.directory.address,))
    process.start()
    process.join()
    assert fetch.wait() == {"a.org": 53.0, "slow.org": 13.0}
    assert fetch.slept == [7.0], "whoever else was asked just before it died"
    assert fetch.wait()["a.org"] == 53.0
    assert fetch.slept == [7.0]
    fetch.clock.advance(60)
    fetch.wait()
    assert serving_places(fetch.directory) == []


def test_one_that_says_nothing_has_no_lease(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fetch = Fetch(tmp_path)
    with serving(fetch.directory, CONFIG, fetch.clock) as place:
        place.keep_pauses([pause("a.org", 3600.0)])
        assert set(fetch.wait()) == {"a.org"}
    assert sum(fetch.slept) > LEASE_S
    assert "does not answer" in caplog.text


def test_a_fetch_says_when_it_goes_beyond_its_list(tmp_path: Path) -> None:
    fetch = Fetch(tmp_path)
    with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
        assert not asks_any_host(fetch.directory, lock.owner)
        say_any_host(fetch.directory, lock.owner.token)
        assert asks_any_host(fetch.directory, lock.owner)
    with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
        assert not asks_any_host(fetch.directory, lock.owner), "that was another"
    with fetch.directory.fetching("sitemap", CONFIG, fetch.clock) as lock:
        assert asks_any_host(fetch.directory, lock.owner)


class TestLeavingLists:
    """A fetch that began where no service was comes to a server of no list."""

    @pytest.fixture
    def fetch(self, tmp_path: Path) -> Fetch:
        return Fetch(tmp_path)

    def leaving(self, fetch: Fetch, lock: Lock) -> LeavingLists:
        asked = LeavingLists(fetch.directory.folder.address, lock.owner.token, fetch.clock)
        again: LeavingLists = pickle.loads(pickle.dumps(asked))
        return again

    def test_where_no_service_is_it_may_and_whoever_begins_then_knows(self, fetch: Fetch) -> None:
        with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
            may_leave = self.leaving(fetch, lock)
            assert not asks_any_host(fetch.directory, lock.owner), "before there is need"
            assert may_leave()
            assert asks_any_host(fetch.directory, lock.owner)
            with serving(fetch.directory, CONFIG, fetch.clock):
                assert may_leave(), "that one asks nobody"
                assert not self.leaving(fetch, lock)(), "another task need not know that"

    def test_a_service_that_has_begun_keeps_it_from_that(self, fetch: Fetch) -> None:
        with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
            with serving(fetch.directory, CONFIG, fetch.clock) as place:
                may_leave = self.leaving(fetch, lock)
                assert not may_leave()
                assert not asks_any_host(fetch.directory, lock.owner)
                place.keep_pauses([pause("a.org", 30.0)])
            assert not may_leave()
            assert not self.leaving(fetch, lock)(), "a.org is owed a pause, which tasks do not know"
            fetch.clock.advance(31)
            assert self.leaving(fetch, lock)()

    def test_so_does_one_that_has_died(self, fetch: Fetch) -> None:
        process = _DIES.Process(target=die_serving, args=(fetch.directory.address,))
        with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
            process.start()
            process.join()
            fetch.clock.advance(3_600)
            assert not self.leaving(fetch, lock)()

    def test_so_does_one_that_begins_just_as_it_says_so(
        self, fetch: Fetch, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ExitStack() as begun:

            def say(crawl_dir: CrawlDir, token: str) -> None:
                begun.enter_context(serving(crawl_dir, CONFIG, fetch.clock))
                say_any_host(crawl_dir, token)

            monkeypatch.setattr(yielding_services, "say_any_host", say)
            with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
                assert not self.leaving(fetch, lock)()

    def test_a_fetch_that_has_lost_its_lock_says_nothing(self, fetch: Fetch) -> None:
        with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
            late = self.leaving(fetch, lock)
        with fetch.directory.fetching(KEEPS_TO_ITS_LIST, CONFIG, fetch.clock) as lock:
            say_any_host(fetch.directory, lock.owner.token)
            assert not late()
            assert asks_any_host(fetch.directory, lock.owner)


def test_twins() -> None:
    assert twin_of("a.org") == "www.a.org"
    assert twin_of("www.a.org") == "a.org"
