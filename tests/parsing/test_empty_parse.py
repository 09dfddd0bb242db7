"""A parse that has brought nothing of a body that is not empty says why, and is counted."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from crawl.config import Config
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from tests.parsing.small_parsers import parse_batch

PLAN = ParsePlan.from_config(Config.of({"http.agent.name": "test"}))


def outcome(body: bytes, declared: str, name: str = "x") -> tuple[dict[str, int], str]:
    content = Content(
        f"http://www.example.com/{name}", body, declared, 200, status=int(Status.FETCH_SUCCESS)
    )
    found = parse_batch(PLAN, [content])
    (row,) = found.parse_data.to_pylist()
    assert row["status"].startswith("success")
    reasons = {
        reason.removeprefix("parse_empty."): count
        for reason, count in found.counters.items()
        if reason.startswith("parse_empty.")
    }
    return reasons, row["message"]


def packed_archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("a.bin"), b"\0\1")
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "declared", "reason", "message"),
    [
        (b" \r\n\t\0", "text/html", "blank", "nothing found: the body is blank"),
        (b"\xef\xbb\xbf\n", "text/plain", "blank", "nothing found: the body is blank"),
        (b"\x89PNG\r\n\x1a\n", "image/png", "unread_type", "no parser reads image/png"),
        (b"\0\1\2", "binary/octet-stream", "unread_type", "no parser reads"),
        (b"%PDF-1.4 broken", "application/pdf", "unreadable", "no PDF that can be read"),
        (b"{", "application/json", "unreadable", "no JSON"),
        (b"\x1f\x8b\x08", "text/html", "unreadable", "no archive that can be read"),
        (b"<!DOCTYPE html><script>x</script>", "text/html", "no_content", "html sees neither"),
        (b"<doc/>", "text/xml", "no_content", "xml sees neither"),
        (b"<urlset/>", "text/xml", "no_content", "sitemap sees neither"),
        (b"f(1)", "text/javascript", "no_content", "js sees neither"),
        (b"{}", "application/json", "no_content", "json sees neither"),
        (gzip.compress(b"\0\1\2", mtime=0), "", "no_content", "zip sees neither"),
        (packed_archive(), "application/zip", "no_content", "zip sees neither"),
    ],
)
def test_nothing_has_a_reason(body: bytes, declared: str, reason: str, message: str) -> None:
    reasons, said = outcome(body, declared)
    assert reasons == {reason: 1}
    assert message in said


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        (b"", "text/html"),
        (b"<p>text", "text/html"),
        (b"<title>t</title>", "text/html"),
        (b"<a href='/x'></a>", "text/html"),
        (b"<meta http-equiv=refresh content='0;url=/y'>", "text/html"),
        (b"<meta name=robots content=noindex><p>text", "text/html"),
        (b"<urlset><url><loc>http://[</loc></url></urlset>", "text/xml"),
    ],
)
def test_something_needs_none(body: bytes, declared: str) -> None:
    assert outcome(body, declared) == ({}, "")
