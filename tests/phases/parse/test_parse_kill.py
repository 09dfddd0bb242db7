"""kill -9 at every single write of a parse, and of a parse that replaces another."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import PARSE_DATA, PARSED
from tests.parsing.small_parsers import content
from tests.phases.fetched import NAME, fetched_segment, parse_rows, rows_for_crawldb, stray_files
from tests.phases.killed import run_killed
from tests.phases.parse_jobs import parse_again, parse_once, parse_with

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

PAGES = 6


def _segment(address: Path) -> CrawlDir:
    directory = CrawlDir(str(address))
    pages = [
        content(f"http://h{number}.org/", f"text {number}", f"links 5 http://h{number}.org/q")
        for number in range(PAGES)
    ]
    fetched_segment(directory, [pages[:3], pages[3:]])
    return directory


def _links(directory: CrawlDir) -> int | None:
    """How many links a page keeps in the segment's parse, all parts agreeing; None while
    there is no parse."""
    segment = directory.segments.segment(NAME)
    parsed = segment.parsed()
    if not parsed:
        return None
    assert set(parsed) == set(PARSED)
    (kept,) = {len(row["outlinks"]) for row in parse_rows(segment, PARSE_DATA)}
    assert len(rows_for_crawldb(segment)) == PAGES * (1 + kept)
    assert len(parse_rows(segment, "parse_text")) == PAGES
    return kept


def test_a_parse_killed_at_every_write(tmp_path: Path) -> None:
    base = _segment(tmp_path / "base")
    at = 1
    seen = set()
    while True:
        wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
        shutil.copytree(base.address, wreck.address)
        killed = run_killed(parse_once, wreck.address, 2, at=at)
        seen.add(_links(wreck))
        parse_with(wreck.address, 3, reparse=_links(wreck) is not None)
        assert _links(wreck) == 3
        assert not stray_files(wreck.segments.segment(NAME))
        shutil.rmtree(wreck.address)
        if not killed:
            break
        at += 1
    assert seen == {None, 2}
    assert at > 10


def test_a_parse_that_replaces_another_killed_at_every_write(tmp_path: Path) -> None:
    base = _segment(tmp_path / "base")
    parse_with(base.address, 2)
    at = 1
    seen = set()
    while True:
        wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
        shutil.copytree(base.address, wreck.address)
        killed = run_killed(parse_again, wreck.address, 4, at=at)
        seen.add(_links(wreck))
        shutil.rmtree(wreck.address)
        if not killed:
            break
        at += 1
    assert seen == {2, 4}
    assert at > 10
