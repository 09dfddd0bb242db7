from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.fetcher.values.record import FetchRecord
from crawl.search.index import EmbeddedIndex
from crawl.service.live_search.writing import FOLDER, LiveIndex
from crawl.service.segments.writer import SegmentWriter
from crawl.storage.crawl_dir import CrawlDir
from tests.service.fetched import CONFIG, FETCHED_MS, page_record, parse_of

NAME = "20261118093000-service"


@pytest.fixture
def crawl_dir(tmp_path: Path) -> CrawlDir:
    return CrawlDir(str(tmp_path / "crawl"))


def opened(crawl_dir: CrawlDir, tmp_path: Path) -> LiveIndex:
    return LiveIndex(crawl_dir, tmp_path, 10_000)


def urls_of(tmp_path: Path, query: str) -> list[str]:
    answer = EmbeddedIndex([str(tmp_path / FOLDER)]).search(query, FETCHED_MS)
    return [hit.record.url for hit in answer.hits]


def add(index: LiveIndex, *records: FetchRecord) -> None:
    batch = parse_of(*records)
    index.add(batch.parse_data, batch.parse_text)


def open_segment(crawl_dir: CrawlDir, *records: FetchRecord, name: str = NAME) -> SegmentWriter:
    writer = SegmentWriter(
        *(crawl_dir, name, CONFIG, SystemClock()),
        buckets=2,
        before_parse=lambda url, datum: {},
        parse=lambda contents: parse_of(),
    )
    batch = parse_of(*records)
    writer.add(records, {record.url: batch for record in records})
    return writer


def test_pages_are_found_once_committed_and_replaced_and_removed(
    crawl_dir: CrawlDir, tmp_path: Path
) -> None:
    index = opened(crawl_dir, tmp_path)
    add(index, page_record("http://a.test/", "harbour lantern"))
    index.commit()
    assert urls_of(tmp_path, "harbour") == ["http://a.test/"]
    add(index, page_record("http://a.test/", "meadow copper", FETCHED_MS + 1))
    index.commit()
    assert urls_of(tmp_path, "harbour") == []
    assert urls_of(tmp_path, "meadow") == ["http://a.test/"]
    index.remove(["http://a.test/"])
    index.close()
    assert urls_of(tmp_path, "meadow") == []


def test_a_page_that_forbids_it_is_not_found_any_more(crawl_dir: CrawlDir, tmp_path: Path) -> None:
    index = opened(crawl_dir, tmp_path)
    add(index, page_record("http://a.test/", "harbour lantern"))
    index.commit()
    forbidding = '<meta name="robots" content="noindex">'
    add(index, page_record("http://a.test/", "harbour lantern", FETCHED_MS + 1, forbidding))
    index.close()
    assert urls_of(tmp_path, "harbour") == []


def test_what_was_not_committed_is_read_from_segments(crawl_dir: CrawlDir, tmp_path: Path) -> None:
    first = page_record("http://a.test/1", "harbour")
    second = page_record("http://a.test/2", "lantern", FETCHED_MS + 1000)
    index = opened(crawl_dir, tmp_path)
    add(index, first)
    index.close()
    open_segment(crawl_dir, first, second).publish()
    again = opened(crawl_dir, tmp_path)
    again.catch_up()
    again.close()
    assert urls_of(tmp_path, "lantern") == ["http://a.test/2"]


def test_pages_that_were_left_out_are_read_when_their_segment_is_published(
    crawl_dir: CrawlDir, tmp_path: Path
) -> None:
    writer = open_segment(crawl_dir, page_record("http://a.test/1", "harbour"))
    index = opened(crawl_dir, tmp_path)
    index.miss(NAME)
    # later ones are committed meanwhile, and the process dies
    add(index, page_record("http://a.test/2", "lantern", FETCHED_MS + 60_000))
    index.read(NAME)
    index.close()
    assert urls_of(tmp_path, "harbour") == [], "the segment is not published yet"
    writer.publish()
    again = opened(crawl_dir, tmp_path)
    again.catch_up()
    again.close()
    assert urls_of(tmp_path, "harbour") == ["http://a.test/1"]


def test_a_note_that_cannot_be_read_has_all_segments_read(
    crawl_dir: CrawlDir, tmp_path: Path
) -> None:
    open_segment(crawl_dir, page_record("http://a.test/1", "harbour")).publish()
    (tmp_path / "search.json").write_text('{"newest_ms": "so')
    index = opened(crawl_dir, tmp_path)
    index.catch_up()
    index.close()
    assert urls_of(tmp_path, "harbour") == ["http://a.test/1"]


def test_segments_that_were_deleted_are_not_waited_for(crawl_dir: CrawlDir, tmp_path: Path) -> None:
    index = opened(crawl_dir, tmp_path)
    index.miss(NAME)
    index.catch_up()
    index.close()
    assert '"missing": []' in (tmp_path / "search.json").read_text()
