"""What both lanes have fetched, in one CrawlDb: a record for each URL, by the newest answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.status import Status
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.readers.explain.url import explain
from crawl.rounds.steps import LoopOptions
from crawl.service.service import Service
from crawl.service.values import Finished, Wish
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import is_of_service
from crawl.tables.runner import InProcess
from tests.phases.made import records_of
from tests.phases.round_loops import Diary, run_rounds
from tests.phases.scripted_web import PLAYED, Scene, Script
from tests.service.events import PATIENCE_S
from tests.service.rolling import page, parses_of, roll_of

CLOCK = SystemClock()
ROOT = "http://a.example/"
_DAY_MS = 86_400_000


class Web:
    """Pages that the test changes."""

    def __init__(self) -> None:
        self.pages: dict[str, Scene] = {
            ROOT: Scene(text="home", links=(f"{ROOT}x", "http://b.example/y"), etag='"1"'),
            f"{ROOT}old": Scene(code=301, target=f"{ROOT}new"),
            f"{ROOT}new": Scene(text="new page"),
            f"{ROOT}gone": Scene(code=410),
            f"{ROOT}x": Scene(text="x"),
            "http://b.example/y": Scene(text="y"),
        }
        scenes = {url: self._scene_of(url) for url in self.pages}
        PLAYED["lanes"] = self.script = Script(scenes, CLOCK.now_ms)

    def _scene_of(self, url: str) -> Callable[[int], Scene]:
        return lambda now: self.pages[url]


@pytest.fixture
def web() -> Iterator[Web]:
    yield Web()
    del PLAYED["lanes"]


@pytest.fixture
def config() -> Config:
    return Config.of(
        {
            "http.agent.name": "testbot",
            "test.script": "lanes",
            "plugin.protocol": ["tests.phases.scripted_web:ScriptedProtocol"],
            "urlfilter.order": [],
            "fetcher.server.delay": 0.02,
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": "hosts.txt",
            "crawldb.buckets": 2,
        },
        {"hosts.txt": "127.0.0.1 a.example\n127.0.0.1 b.example\n"},
    )


def served(directory: CrawlDir, config: Config, *urls: str) -> list[Finished]:
    """What the service makes of URLs, asked for anew; its segments are published."""
    service = Service(directory, config, CLOCK)
    service.start()
    try:
        done = service.intake.submit([Wish(url=url, max_age_s=0) for url in urls])
        return [service.wait_for(each.id).result(PATIENCE_S) for each in done]
    finally:
        service.stop()


def update(directory: CrawlDir, config: Config, *names: str) -> None:
    updatedb.run(InProcess(), directory, config, UpdateDbOptions(segments=names), CLOCK)


@pytest.mark.slow(seconds=15)
def test_every_answer_of_the_service(tmp_path: Path, web: Web, config: Config) -> None:
    directory = CrawlDir(str(tmp_path / "c"))
    served(directory, config, ROOT, f"{ROOT}old", f"{ROOT}gone")
    served(directory, config, ROOT)
    assert (ROOT, 304) in [(url, code) for _, url, code in web.script.asked]
    update(directory, config)
    records = records_of(directory)
    assert {url: record.status for url, record in records.items()} == {
        ROOT: Status.DB_NOTMODIFIED,
        f"{ROOT}old": Status.DB_REDIR_PERM,
        f"{ROOT}new": Status.DB_FETCHED,
        f"{ROOT}gone": Status.DB_GONE,
        f"{ROOT}x": Status.DB_UNFETCHED,
        "http://b.example/y": Status.DB_UNFETCHED,
    }
    home = records[ROOT]
    assert home.signature is not None, "of the page that the 304 is about"
    assert home.modified_time > 0
    assert home.metadata["ETag"] == '"1"'
    interval_ms = home.fetch_interval * 1000
    assert abs(home.fetch_time - interval_ms - CLOCK.now_ms()) < _DAY_MS


@pytest.mark.slow(seconds=30)
def test_rounds_take_what_the_service_fetched(tmp_path: Path, web: Web, config: Config) -> None:
    """Each URL has one record, its history tells both, and the service's segments are no rounds."""
    directory = CrawlDir(str(tmp_path / "c"))
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(f"{ROOT}\n{ROOT}gone\tnutch.score=7\tnutch.fetchInterval=1000\n")
    run_rounds(directory, config, CLOCK, LoopOptions(1), seeds=(str(seeds),))
    web.pages[ROOT] = replace(web.pages[ROOT], text="other", etag='"2"')
    served(directory, config, ROOT, f"{ROOT}gone", f"{ROOT}x")
    diary = Diary()
    result = run_rounds(directory, config, CLOCK, LoopOptions(1), diary=diary)
    assert len(result.rounds) == 1
    assert diary.names == ["updatedb", "generate", "fetch", "parse", "updatedb"]
    (own,) = diary.steps[0][1]
    assert is_of_service(own)
    asked = [url for _, url, _ in web.script.asked]
    assert asked.count(f"{ROOT}x") == 1, "the round knows that the service has it"
    records = records_of(directory)
    assert records[ROOT].status is Status.DB_FETCHED
    assert records[f"{ROOT}gone"].score == 7.0
    explained = explain(directory, ROOT, config, CLOCK.now_ms())
    lanes = {is_of_service(mention.segment) for mention in explained.segments}
    assert lanes == {True, False}


def test_the_newest_answer_counts_whatever_is_applied_first(tmp_path: Path, config: Config) -> None:
    directory = CrawlDir(str(tmp_path / "c"))
    roll = roll_of(directory)
    newer = page(ROOT, "newer")
    older = page(ROOT, "older")
    older = replace(older, datum=replace(older.datum, fetch_time=older.datum.fetch_time - _DAY_MS))
    first = roll.add([older], parses_of([older]))[ROOT]
    last = roll.add([newer], parses_of([newer]))[ROOT]
    roll.close()
    update(directory, config, last)
    record = records_of(directory)[ROOT]
    update(directory, config, first)
    assert records_of(directory)[ROOT] == record
    links = set(records_of(directory)) - {ROOT}
    assert links == {f"{ROOT}of-newer", f"{ROOT}of-older"}


@pytest.mark.parametrize("passing", [Status.FETCH_NOTMODIFIED, Status.FETCH_RETRY])
def test_what_says_nothing_of_a_page_leaves_the_one_before(
    tmp_path: Path, config: Config, passing: Status
) -> None:
    """As if each segment had been applied by itself."""
    found = []
    for way in ("together", "apart"):
        directory = CrawlDir(str(tmp_path / way))
        roll = roll_of(directory)
        answers = [page(ROOT), page(ROOT, status=passing)]
        names = [roll.add([each], parses_of([each]))[ROOT] for each in answers]
        roll.close()
        for each in [names] if way == "together" else [[name] for name in names]:
            update(directory, config, *each)
        found.append(records_of(directory)[ROOT])
    together, apart = found
    assert together.signature == apart.signature is not None
    assert (together.status, together.retries) == (apart.status, apart.retries)
