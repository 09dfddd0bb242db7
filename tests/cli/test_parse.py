"""crawl parse through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import PARSE_DATA, PARSE_TEXT
from tests.cli.calling import Caller
from tests.parsing.small_parsers import content
from tests.phases.fetched import NAME, fetched_segment, parse_rows

pytestmark = pytest.mark.slow

PAGE = "<!DOCTYPE html><title>T{0}</title><p>text {0} <a href='/x{0}'>to x</a> <a href='/y'>y</a>"


def _fetched(place: Path) -> CrawlDir:
    directory = CrawlDir(str(place))
    pages = [
        content(f"http://h{number}.org/", PAGE.format(number), content_type="text/html")
        for number in range(3)
    ]
    fetched_segment(directory, [pages])
    return directory


def test_a_segment_is_parsed_and_parsed_again(crawl: Caller, tmp_path: Path) -> None:
    segment = _fetched(tmp_path).segments.segment(NAME)
    answer = crawl("parse", tmp_path)
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["parse.success", "3"] in rows and ["outlinks_kept", "6"] in rows
    assert f"{tmp_path}/segments/{NAME}: 3 pages" in answer.err
    assert [row["title"] for row in parse_rows(segment, PARSE_DATA)] == ["T0", "T1", "T2"]

    answer = crawl("parse", tmp_path)
    assert answer.code == 1
    assert "no segment that is fetched and not parsed" in answer.err
    answer = crawl("parse", tmp_path, NAME)
    assert answer.code == 2 and "--reparse" in answer.err

    again = crawl("parse", tmp_path, NAME, "--reparse", "--json", "-D", "parser.store.text=false")
    assert again.code == 0, again.err
    assert again.json["segment"] == NAME
    assert again.json["report"]["counters"]["parse.success"] == 3
    assert parse_rows(segment, PARSE_TEXT) == []


def test_what_is_wrong_is_reported_in_one_line(crawl: Caller, tmp_path: Path) -> None:
    _fetched(tmp_path)
    answer = crawl("parse", tmp_path, "-D", "plugin.parser=htlm")
    assert answer.code == 2
    assert "no parser plugin is called 'htlm'" in answer.err
    answer = crawl("parse", tmp_path, "-D", "parser.timeout=soon")
    assert answer.code == 2 and "parser.timeout" in answer.err
    assert crawl("parse", tmp_path / "nowhere").code == 2
