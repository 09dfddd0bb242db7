"""Wicked pages through the whole pipeline, with the default parsers, in the sandbox."""

from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.sandbox import Sandbox

pytestmark = pytest.mark.slow

HTML = "text/html; charset=utf-8"
WORDS = "some words in a row "


def wicked_pages() -> dict[str, tuple[str, bytes]]:
    return {
        "nested": (HTML, b"<div>" * 200_000 + b"deep"),
        "tables": (HTML, b"<table><tr><td>" * 50_000 + b"deep"),
        "formatting": (HTML, b"<a><b><i><u><font><p>" * 8_000),
        "links": (HTML, b"".join(b'<a href="/%d">%d</a>' % (n, n) for n in range(1_000_000))),
        "nulls": (HTML, b"<title>T\0</title>" + b"\0" * 100_000 + b"<a href='/\0x'>a\0b</a>"),
        "mixed": (
            "text/html; charset=shift_jis",
            "<meta charset=utf-8><p>Grüße 日本".encode() + "日本".encode("cp932") + b"\xff\xfe\x80",
        ),
        "long": (HTML, b"<p>" + WORDS.encode() * (50 * 1024 * 1024 // len(WORDS))),
        "attributes": (HTML, b"<p " + b"".join(b"a%d=1 " % n for n in range(200_000)) + b">x"),
        "unclosed": (HTML, b"<title>" + b"<script>" * 1000 + b"<!--" * 1000 + b"<![CDATA["),
        "entities": (HTML, b"&amp;" * 1_000_000 + b"&" * 100_000 + b"&#x110000;&#0;"),
        "random": (HTML, bytes(n * n * 31 % 251 for n in range(300_000))),
        "xml": (
            "application/xml",
            b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY a 'aaaaaaaaaa'>"
            + b"".join(
                b"<!ENTITY a%d '&a%s;&a%s;'>" % (n, b"%d" % (n - 1), b"%d" % (n - 1))
                for n in range(1, 40)
            )
            + b"]><a>&a39;</a>",
        ),
        "feed": ("application/rss+xml", b"<rss><channel>" + b"<item>" * 100_000),
        "json": ("application/json", b"[" * 200_000),
        "pdf": ("application/pdf", b"%PDF-1.7\n" + b"1 0 obj << /A " * 50_000),
        "gzip": ("application/gzip", b"\x1f\x8b\x08" + b"\0" * 1000),
        "empty": (HTML, b""),
    }


def contents(pages: dict[str, tuple[str, bytes]]) -> list[Content]:
    return [
        Content(f"http://a.org/{name}", body, kind, 200, 1, status=int(Status.FETCH_SUCCESS))
        for name, (kind, body) in pages.items()
    ]


def test_every_wicked_page_is_parsed_or_recorded() -> None:
    config = Config.of(
        {"http.agent.name": "bot", "parser.timeout": 100, "parser.memory.limit": "1GiB"}
    )
    pages = wicked_pages()
    with Sandbox(ParsePlan.from_config(config)) as sandbox:
        batch = sandbox.parse(contents(pages))
    rows = {row["url"].rpartition("/")[2]: row for row in batch.parse_data.to_pylist()}
    assert list(rows) == list(pages)
    statuses = {name: row["status"] for name, row in rows.items()}
    for name, status in statuses.items():
        assert status.startswith(("success", "failed_")), name
    assert "failed_crashed" not in statuses.values(), statuses
    # what a browser shows without complaint is parsed
    for name in (
        "links",
        "nulls",
        "mixed",
        "attributes",
        "unclosed",
        "entities",
        "random",
        "empty",
    ):
        assert statuses[name] == "success", (name, rows[name]["message"])
    assert len(rows["links"]["outlinks"]) == 100
    assert batch.counters["pages"] == len(pages)
