"""Three rounds over the synthetic web come to exactly what its truth predicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.rounds.steps import UNBOUNDED, LoopOptions, StopReason
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT
from crawl.synthetic.web import PageKind, RobotsKind, Settings, Web, WebServer, running
from tests.phases.made import NOW, records_of
from tests.phases.round_loops import Diary, SetClock, run_rounds
from tests.phases.round_model import DAY, ROBOTS_SAY_NO, Answer, Model, Record
from tests.phases.webs import AGENT, web_config

pytestmark = [pytest.mark.slow(seconds=30), pytest.mark.exhaustive]

ROUNDS = 3
MOMENTS = tuple(NOW + number * DAY for number in range(ROUNDS))
SHAPE = Settings(
    sites=14,
    seed=1,
    pages=300,
    size=1500,
    fanout=5,
    external=0.3,
    odd=0.5,
    slow=0.05,
    crawl_delay=0.05,
)
SHUT = (RobotsKind.UNAVAILABLE, RobotsKind.THROTTLED)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(SHAPE)) as server:
        yield server


@pytest.fixture(scope="module")
def open_server() -> Iterator[WebServer]:
    """Of a smaller web without hosts that let nobody in, which every round would wait for."""
    kinds = tuple(kind for kind in RobotsKind if kind not in SHUT)
    with running(Web(replace(SHAPE, pages=120, robots=kinds))) as server:
        yield server


def truth(web: Web, url: str, _: Record) -> Answer | None:
    """What a visit to a URL of the web brings."""
    host = url.split("/")[2].partition(":")[0]
    if web.robots(host) in SHUT:
        return None
    if not web.allowed(url, AGENT):
        return Answer(ROBOTS_SAY_NO)
    page = web.expected(url)
    links = page.links if page.code == 200 else ()
    return Answer(page.code, links, page.target, bytes.fromhex(page.digest))


def predicted(web: Web, moments: Sequence[int] = MOMENTS, *, until_empty: bool = False) -> Model:
    """A round at each of these moments, or as many as bring something."""
    model = Model()
    model.inject(web.seeds(), moments[0])
    for now in moments:
        run = model.run_rounds if until_empty else model.run_round
        run(now, lambda url, record: truth(web, url, record))
    return model


@dataclass(frozen=True)
class Crawled:
    """The state after the rounds."""

    records: dict[str, CrawlDatum]
    parses: dict[str, dict[str, Any]]


def crawled(
    folder: Path,
    server: WebServer,
    *,
    parts: int,
    diary: Diary | None = None,
    overlap: bool = False,
    **settings: object,
) -> Crawled:
    """Three rounds, each a day after the other, so that what failed is tried again; where they
    overlap, as many on each of the days as bring something."""
    seeds = folder / "seeds.txt"
    folder.mkdir()
    seeds.write_text("\n".join(server.web.seeds()))
    directory = CrawlDir(str(folder / "crawl"))
    config = web_config(
        server.web,
        fetcher__server__delay=0,
        fetcher__max__exceptions__per__queue=-1,
        **settings,
    )
    clock = SetClock(NOW)
    for now in MOMENTS:
        clock.set(now)
        result = run_rounds(
            directory,
            config,
            clock,
            LoopOptions(UNBOUNDED if overlap else 1),
            seeds=(str(seeds),) if now == NOW else (),
            parts=parts,
            diary=diary,
            overlap=overlap,
        )
        assert result.ending is (StopReason.NOTHING_DUE if overlap else StopReason.ROUNDS_DONE)
    return Crawled(records_of(directory), parses_of(directory))


def parses_of(directory: CrawlDir) -> dict[str, dict[str, Any]]:
    """All that was parsed, by URL: here each is fetched well once at the most."""
    found: dict[str, dict[str, Any]] = {}
    for segment in directory.segments.generated():
        for part in (PARSE_DATA, PARSE_TEXT):
            for file in segment.require(part).files:
                with open_table(segment.part_folder(part), file.path) as source:
                    for row in source.read().to_pylist():
                        found.setdefault(row["url"], {}).update(row)
    return found


def as_record(datum: CrawlDatum) -> Record:
    return Record(
        datum.status,
        datum.fetch_time,
        datum.fetch_interval,
        datum.modified_time,
        datum.retries,
        datum.score,
        datum.signature,
    )


def assert_as_predicted(found: Mapping[str, CrawlDatum], expected: Mapping[str, Record]) -> None:
    """In all but the scores."""
    assert set(found) == set(expected)
    for url, datum in found.items():
        assert replace(as_record(datum), score=0.0) == replace(expected[url], score=0.0), url


@pytest.fixture(scope="module")
def diary() -> Diary:
    return Diary()


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory, server: WebServer, diary: Diary) -> Crawled:
    """Three rounds in two parts."""
    return crawled(tmp_path_factory.mktemp("usual") / "c", server, parts=2, diary=diary)


def test_the_state_is_what_the_web_predicts(
    server: WebServer, usual: Crawled, diary: Diary
) -> None:
    web = server.web
    expected = predicted(web).records
    assert_as_predicted(usual.records, expected)
    for url, datum in usual.records.items():
        assert datum.score == pytest.approx(expected[url].score, rel=1e-5), url
    for url, parse in usual.parses.items():
        page = web.expected(url)
        assert parse["status"] == "success"
        assert parse["title"] == page.title
        links = [link for link in page.links if link != url]
        assert [link["url"] for link in parse["outlinks"]] == links
    counted = Counter(record.status for record in expected.values())
    last = diary.rounds[-1]
    assert last.db_urls == len(expected)
    assert sum(done.fetched for done in diary.rounds) == counted[Status.DB_FETCHED]
    assert sum(done.gone for done in diary.rounds) == counted[Status.DB_GONE]
    moved = counted[Status.DB_REDIR_TEMP] + counted[Status.DB_REDIR_PERM]
    assert sum(done.redirects for done in diary.rounds) == moved
    assert sum(done.new for done in diary.rounds) == len(expected) - len(web.seeds())


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_rounds_that_overlap_come_to_what_the_web_predicts(
    tmp_path: Path, open_server: WebServer, parts: int
) -> None:
    """But for the scores, which hang on what was known when a page was fetched."""
    diary = Diary()
    found = crawled(
        tmp_path / "c",
        open_server,
        parts=parts,
        diary=diary,
        overlap=True,
        # the model knows of no hosts that are left alone for a while
        db__host__wait__max=0,
    )
    assert len(diary.rounds) > ROUNDS
    expected = predicted(open_server.web, until_empty=True).records
    assert_as_predicted(found.records, expected)
    assert len(Counter(record.status for record in expected.values())) == 4
    assert max(record.retries for record in expected.values()) == ROUNDS
    for url, parse in found.parses.items():
        assert parse["title"] == open_server.web.expected(url).title
    assert len(found.parses) == sum(done.fetched for done in diary.rounds) > 50


def test_the_web_was_worth_it(server: WebServer) -> None:
    """Nothing is asserted about nothing: all kinds of pages were met, and of the copies of a
    page several."""
    web = server.web
    expected = predicted(web).records
    assert {record.status for record in expected.values()} == {
        Status.DB_UNFETCHED,
        Status.DB_FETCHED,
        Status.DB_GONE,
        Status.DB_REDIR_TEMP,
        Status.DB_REDIR_PERM,
    }
    assert {web.expected(url).kind for url in expected} == set(PageKind) - {PageKind.TOUR}
    assert max(record.retries for record in expected.values()) > 1
    copies = Counter(record.signature for record in expected.values() if record.signature)
    assert sum(count > 1 for count in copies.values()) > 2
    scores = [record.score for record in expected.values()]
    assert len({round(score, 9) for score in scores}) > len(scores) / 2


@pytest.mark.parametrize(
    ("parts", "settings"),
    [
        (1, {"plugin.parser": ["html"]}),
        (4, {"plugin.parser": ["html"]}),
        (1, {"plugin.parser": ["html-soup"]}),
        (2, {"plugin.parser": ["html-soup"]}),
        (4, {"fetcher.parse": True}),
    ],
)
def test_neither_parts_nor_parser_nor_when_it_is_parsed_make_a_difference(
    tmp_path: Path,
    server: WebServer,
    usual: Crawled,
    parts: int,
    settings: dict[str, Any],
) -> None:
    """To the last bit of every record, but for how long an answer took; and of every parse."""
    found = crawled(tmp_path / "c", server, parts=parts, **settings)
    assert timeless(found.records) == timeless(usual.records)
    assert len(found.parses) > 100
    assert found.parses == usual.parses


def timeless(records: dict[str, CrawlDatum]) -> dict[str, CrawlDatum]:
    return {
        url: replace(
            datum,
            metadata={key: value for key, value in datum.metadata.items() if key != "_rs_"},
        )
        for url, datum in records.items()
    }
