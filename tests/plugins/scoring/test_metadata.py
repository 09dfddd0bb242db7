from __future__ import annotations

from dataclasses import replace

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.status import Status
from crawl.plugins.scoring.metadata import MetadataScoring
from tests.plugins.scoring.pages import PLAIN, shared

TAGGED = CrawlDatum(Status.DB_FETCHED, 5, metadata={"tag": "t", "owner": "o", "other": "x"})


def carrying(db: str, content: str, parse: str) -> MetadataScoring:
    return MetadataScoring(
        Config.of({"scoring.db.md": db, "scoring.content.md": content, "scoring.parse.md": parse})
    )


def test_a_key_goes_as_far_as_the_lists_say() -> None:
    all_the_way = carrying("tag owner", "tag owner", "tag")
    assert shared(all_the_way, "http://a/", TAGGED, ["http://b/"]) == [
        ("http://b/", replace(PLAIN, metadata={"tag": "t"}))
    ]
    cut_off = carrying("tag", "owner", "tag owner")
    assert shared(cut_off, "http://a/", TAGGED, ["http://b/"]) == [("http://b/", PLAIN)]


def test_headers_are_part_of_the_content() -> None:
    plugin = carrying("", "Server tag", "")
    content = Content("u", b"", headers={"server": "s", "tag": "header"}, metadata={"tag": "own"})
    after = plugin.after_parse("u", content, Parse("u", metadata={"k": "v"}))
    assert after.metadata == {"k": "v", "Server": "s", "tag": "own"}


def test_without_lists_nothing_is_carried() -> None:
    assert shared(MetadataScoring(Config.of()), "http://a/", TAGGED, ["http://b/"]) == [
        ("http://b/", PLAIN)
    ]
