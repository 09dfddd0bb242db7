from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import NoSnapshot
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.readers.explain.url import Explanation, explain
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, GENERATE
from tests.phases.made import DAY, NOW, datum, make_crawldb
from tests.phases.made_segments import link, make_segment

URL = "http://a.org/x"
FIRST, SECOND = "20270101000000", "20270102000000"


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    """A crawl with two snapshots, the later of which knows URL as fetched."""
    address = str(tmp_path / "c")
    make_crawldb(address, {URL: datum(), "http://b.org/": datum()})
    fetched = datum(status=Status.DB_FETCHED, fetch_time=NOW + 5 * DAY)
    return make_crawldb(address, {URL: fetched, "http://b.org/": datum()})


def _explain(directory: CrawlDir, url: str = URL, **options: Any) -> Explanation:
    config = Config.of(options.pop("config", {}))
    return explain(directory, url, config, NOW, **options)


def test_record_and_history(directory: CrawlDir) -> None:
    found = _explain(directory)
    assert found.record is not None
    assert [(past.snapshot, past.phase) for past in found.history] == [(1, "test"), (2, "test")]
    assert [past.record and past.record.status for past in found.history] == [
        Status.DB_UNFETCHED,
        Status.DB_FETCHED,
    ]
    assert found.prospect == "may be selected by generate from 2027-01-20 08:00:00 UTC on"


def test_a_url_is_found_by_its_normal_form_too(directory: CrawlDir) -> None:
    found = _explain(directory, "HTTP://A.org:80/x#top")
    assert (found.asked, found.url) == ("HTTP://A.org:80/x#top", URL)
    assert found.is_known
    assert [step.plugin for step in found.normalizing][:2] == ["basic", "regex"]
    assert [step.plugin for step in found.filtering] == ["length", "regex", "trap"]


def test_a_url_in_an_older_snapshot_only(directory: CrawlDir) -> None:
    make_crawldb(directory.address, {"http://b.org/": datum()})
    found = _explain(directory)
    assert found.record is None
    assert found.is_known
    assert found.generating == ()
    assert found.prospect == "unknown until a seed or a page names it"


def test_why_it_is_not_selected(directory: CrawlDir) -> None:
    config = {"generate.restrict.status": "db_gone"}
    found = _explain(directory, "http://b.org/", config=config)
    assert found.prospect.startswith("not selected by generate: status_rejected (db_unfetched")
    assert _explain(directory, "http://b.org/").prospect == "may be selected by the next generate"


def test_strangers(directory: CrawlDir) -> None:
    stranger = _explain(directory, "http://c.org/")
    assert not stranger.is_known
    assert stranger.prospect == "unknown until a seed or a page names it"
    rejected = _explain(directory, "http://c.org/x.gif")
    assert rejected.prospect.startswith("never crawled: rejected by the filter regex (")
    nothing = _explain(directory, "mailto:a@b.org")
    assert nothing.prospect == "never crawled: no URL that could be"
    assert (nothing.url, nothing.filtering) == ("mailto:a@b.org", ())


def test_what_a_segment_has_in_store(directory: CrawlDir) -> None:
    records = [(URL, datum())]
    fetched = [(URL, datum(status=Status.FETCH_SUCCESS))]
    make_segment(directory, FIRST, generate=records)
    assert _explain(directory).prospect == f"fetched with segment {FIRST} (`crawl fetch`)"
    make_segment(directory, FIRST, generate=records, fetch=[])
    assert _explain(directory).prospect.startswith("may be selected by generate from")
    make_segment(directory, FIRST, generate=records, fetch=fetched, complete=False)
    assert _explain(directory).prospect == f"parsed with segment {FIRST} (`crawl parse`)"
    make_segment(directory, FIRST, generate=records, fetch=fetched)
    assert _explain(directory).prospect == f"parsed with segment {FIRST} (`crawl parse`)"
    make_segment(directory, FIRST, generate=records, fetch=fetched, parse=[])
    expected = f"taken into the CrawlDb with segment {FIRST} (`crawl updatedb`)"
    assert _explain(directory).prospect == expected
    with directory.writing_crawldb("updatedb", Config(), SystemClock()) as transaction:
        base = directory.require_crawldb()
        transaction.publish(
            base.files,
            Report("updatedb", NOW, ""),
            buckets=base.buckets,
            keep=3,
            applying=[FIRST],
        )
    applied = _explain(directory)
    assert applied.prospect.startswith("may be selected by generate from")
    assert [mention.part for mention in applied.segments] == [GENERATE, FETCH]


def test_links_are_looked_for_where_there_are_some(directory: CrawlDir) -> None:
    linked = [(URL, datum(status=Status.LINKED, score=0.5))]
    for name, page in ((FIRST, "http://b.org/1"), (SECOND, "http://b.org/2")):
        make_segment(
            directory,
            name,
            generate=[(page, datum())],
            fetch=[(page, datum(status=Status.FETCH_SUCCESS))],
            parse=linked,
            pages=[{"url": page, "outlinks": [link(URL, "see")]}],
        )
    found = _explain(directory, most_inlinks=1)
    assert [(link.segment, link.url) for link in found.inlinks] == [(SECOND, "http://b.org/2")]
    assert len(_explain(directory).inlinks) == 2
    assert _explain(directory, most_inlinks=0).inlinks == ()
    assert _explain(directory, "http://b.org/1").inlinks == ()


def test_without_a_crawldb(tmp_path: Path) -> None:
    with pytest.raises(NoSnapshot, match="has no CrawlDb yet"):
        _explain(CrawlDir(str(tmp_path / "none")))
