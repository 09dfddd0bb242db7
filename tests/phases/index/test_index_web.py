"""Three years of the synthetic web: after each round every index writer has the pages that can be
fetched, want to be indexed and are no duplicates, and a search for a page's words finds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.model.status import Status
from crawl.phases.clean import run as clean
from crawl.phases.clean.options import CleanOptions
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.index import run as index
from crawl.phases.index.options import IndexOptions
from crawl.readers.search.search import CrawlSearch
from crawl.rounds.steps import LoopOptions
from crawl.search.answers import SearchOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import PageKind, RobotsKind, Settings, Web
from crawl.tables.runner import InProcess
from tests.phases.indexed import FILE_WRITERS, documents_of
from tests.phases.living_web import SERVED, YEAR_S, LivingWeb
from tests.phases.made import NOW, records_of
from tests.phases.round_loops import SetClock, run_rounds
from tests.phases.webs import AGENT

pytestmark = pytest.mark.slow(seconds=20)

YEARS = 3
SHAPE = Settings(
    sites=5,
    pages=160,
    size=1500,
    odd=0.7,
    kinds=(PageKind.DUPLICATE, PageKind.NEAR, PageKind.MOVED, PageKind.ERROR, PageKind.CHANGING),
    robots=(RobotsKind.OPEN, RobotsKind.PRIVATE, RobotsKind.MISSING),
    retry_after=0,
)


@pytest.fixture
def living() -> Iterator[LivingWeb]:
    SERVED["index"] = LivingWeb(Web(SHAPE))
    yield SERVED["index"]
    del SERVED["index"]


def _config() -> Config:
    return Config.of(
        {
            "http.agent.name": AGENT,
            "plugin.protocol": ["tests.phases.living_web:LivingProtocol"],
            "test.web": "index",
            "fetcher.parse": True,
            "fetcher.server.delay": 0,
            "fetcher.max.exceptions.per.queue": -1,
            "urlfilter.order": ["length"],
            "crawldb.buckets": 4,
            "db.signature.class": "md5",
            "db.fetch.interval.default": 30 * 86_400,
            "index.shards": 2,
            "index.writers": ",".join(FILE_WRITERS),
        }
    )


def _groups(living: LivingWeb) -> dict[bytes, set[str]]:
    """The pages that may be indexed; those with the same bytes together."""
    groups: dict[bytes, set[str]] = {}
    for url in set(living.web.urls()):
        page = living.page(url)
        if page.code == 200 and not page.is_noindex and living.web.allowed(url, AGENT):
            groups.setdefault(page.body, set()).add(url)
    return groups


def test_every_writer_has_the_indexable_pages_of_each_year(
    living: LivingWeb, tmp_path: Path
) -> None:
    directory, config, clock = CrawlDir(str(tmp_path / "crawl")), _config(), SetClock(NOW)
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(living.web.urls()))
    before: set[str] = set()
    for year in range(YEARS):
        living.year = year
        clock.set(NOW + int(year * YEAR_S * 1000))
        injected = () if year else (str(seeds),)
        run_rounds(directory, config, clock, LoopOptions(1), seeds=injected)
        dedup.run(InProcess(), directory, config, DedupOptions(), clock)
        index.run(InProcess(), directory, config, IndexOptions(), clock)
        stale = set(documents_of(directory, "jsonl"))
        done = clean.run(InProcess(), directory, config, CleanOptions(), clock)

        groups = _groups(living)
        duplicates = {
            url
            for url, record in records_of(directory).items()
            if record.status is Status.DB_DUPLICATE
        }
        wanted = {url for urls in groups.values() for url in urls - duplicates}
        assert len(wanted) == len(groups)  # one of each stays
        titles = {url: living.page(url).answer.title for url in wanted}
        for writer in FILE_WRITERS:
            found = documents_of(directory, writer)
            assert set(found) == wanted, (year, writer)
            assert {url: each["title"] for url, each in found.items()} == titles, (year, writer)
        assert dict(done.documents) == dict.fromkeys(FILE_WRITERS, len(wanted))
        if year:
            assert stale - wanted and before - wanted and wanted - before
        before = wanted
        _search_for_all(directory, config, living, wanted, clock)
    assert len(before) > 80


def _search_for_all(
    directory: CrawlDir, config: Config, living: LivingWeb, wanted: set[str], clock: SetClock
) -> None:
    search = CrawlSearch(directory, config)
    scripts = set()
    for url in sorted(wanted):
        words = living.page(url).words
        scripts.add(words.isascii())
        answer = search.search(words, clock, SearchOptions(limit=3))
        assert answer.hits and answer.hits[0].record.url == url, (url, words)
    assert scripts == {True, False}
