from __future__ import annotations

from dataclasses import replace

import pytest

from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.model.tables import CRAWL_PARSE, PARSE_DATA, PARSE_TEXT
from tests.parsing.small_parsers import (
    NOW,
    URL,
    content,
    crawl_statuses,
    only_row,
    parse_batch,
    parsed,
    plan,
)


def test_a_page_becomes_rows_of_three_tables() -> None:
    batch = parsed("title T", "text Hello", "link http://b.org/ B", "meta key value")
    assert batch.parse_data.schema.equals(PARSE_DATA.schema)
    assert batch.parse_text.schema.equals(PARSE_TEXT.schema)
    assert batch.crawl_parse.schema.equals(CRAWL_PARSE.schema)
    row = only_row(batch)
    assert (row["status"], row["title"], row["mime_type"]) == ("success", "T", "text/plain")
    assert row["charset"] == "utf-8"
    assert row["metadata"] == [("key", "value")]
    assert row["outlinks"] == [{"url": "http://b.org/", "anchor": "B", "rel": "", "tag": "a"}]
    assert len(row["signature"]) == 16
    assert batch.parse_text.to_pylist() == [{"url": URL, "text": "Hello", "main_text": None}]
    assert crawl_statuses(batch) == [(URL, Status.SIGNATURE), ("http://b.org/", Status.LINKED)]
    assert batch.crawl_parse["host"].to_pylist() == ["a.org", "b.org"]
    (_, _), (_, link) = to_records(batch.crawl_parse)
    assert (link.fetch_time, link.fetch_interval, link.score) == (NOW, 2_592_000, 0.0)


def test_no_pages_no_rows() -> None:
    batch = parse_batch(plan(), [])
    assert batch.parse_data.num_rows == batch.crawl_parse.num_rows == 0
    assert batch.parse_data.schema.equals(PARSE_DATA.schema)


def test_only_pages_that_were_fetched_well_are_parsed() -> None:
    gone = content(URL, status=int(Status.FETCH_GONE))
    batch = parse_batch(plan(), [gone, content(URL, status=0)])
    assert batch.parse_data.num_rows == 0
    assert batch.counters == {"pages": 2, "skipped.not_success": 2}


def test_what_is_not_whole_is_recorded_and_parsed_only_if_wanted() -> None:
    page = content(URL, "title T", truncated="length")
    batch = parse_batch(plan(), [page])
    assert only_row(batch)["status"] == "failed_truncated"
    assert "length" in only_row(batch)["message"]
    assert crawl_statuses(batch) == [(URL, Status.SIGNATURE)]
    parsed = parse_batch(plan(parser__skip__truncated=False), [page])
    assert only_row(parsed)["title"] == "T"
    assert batch.counters["truncated.length"] == parsed.counters["truncated.length"] == 1


@pytest.mark.parametrize(
    ("instruction", "status", "message"),
    [
        ("do raise value", "failed_exception", "ValueError: value then"),
        ("do raise exit", "failed_exception", "SystemExit: exit then"),
        ("do raise memory", "failed_memory", "the parser wanted more memory than it may have"),
        ("do recurse x", "failed_exception", "RecursionError"),
        ("fail failed_invalid_format no such thing", "failed_invalid_format", "no such thing"),
    ],
)
def test_a_page_that_cannot_be_parsed_is_recorded(
    instruction: str, status: str, message: str
) -> None:
    batch = parsed("title T", "link http://b.org/", instruction)
    row = only_row(batch)
    assert row["status"] == status
    assert row["message"].startswith(message)
    assert (row["title"], row["outlinks"]) == ("", [])
    assert batch.parse_text.num_rows == 0
    ((url, failed),) = to_records(batch.crawl_parse)
    assert (url, failed.status) == (URL, Status.PARSE_FAILED)
    assert failed.metadata == {"_parse_status_": status}
    assert failed.signature == row["signature"] is not None


def test_a_failure_s_message_is_one_short_line() -> None:
    message = only_row(parsed("fail failed_exception " + "long \t" * 1000))["message"]
    assert "\t" not in message and len(message) <= 300


def test_directives_are_obeyed_after_the_signature_is_taken() -> None:
    plain = parsed("title T", "text x", "link http://b.org/")
    page = content(URL, "title T", "text x", "link http://b.org/")
    asked = replace(page, headers={"x-robots-tag": "noindex, otherbot: nofollow"})
    row = only_row(batch := parse_batch(plan(), [asked]))
    assert (row["title"], batch.parse_text["text"].to_pylist()) == ("", [""])
    assert row["directives"] == "noindex"
    assert len(row["outlinks"]) == 1
    assert row["signature"] == only_row(plain)["signature"]
    assert batch.counters["directives.noindex"] == 1


def test_a_page_that_says_nofollow_has_no_links() -> None:
    batch = parsed("robots nofollow noarchive", "link http://b.org/", "link http://b.org/2")
    assert only_row(batch)["outlinks"] == []
    assert crawl_statuses(batch) == [(URL, Status.SIGNATURE)]
    assert batch.counters["outlinks_dropped.page_nofollow"] == 2
    assert only_row(batch)["metadata"] == [("caching.forbidden", "content")]


def test_links_beyond_what_the_parser_reads_are_counted() -> None:
    markup = "".join(f"<a href=/{number}>x</a>" for number in range(30))
    page = content(URL, markup, content_type="text/html")
    limits = {"parser__html__outlinks__max": 20, "db__max__outlinks__per__page": 5}
    batch = parse_batch(plan(plugin__parser=["html"], **limits), [page])
    assert batch.counters["outlinks"] == 30
    assert batch.counters["outlinks_kept"] == 5
    assert batch.counters["outlinks_dropped.parser_limit"] == 10
    assert batch.counters["outlinks_dropped.limit"] == 15


@pytest.mark.parametrize("parser", ["html", "html-soup"])
def test_a_page_s_links_to_a_url_are_told_by_the_longest_text(parser: str) -> None:
    markup = (
        "<link rel=canonical href=/real><link rel=next href=/2>"
        "<a href=/><img src=/logo.svg></a><a href=/>\n  Home </a><a href=/><img alt=H></a>"
        f"<a href=/2>Next</a><a href={URL}#top>Top</a><a href=''>Here</a>"
    )
    page = content(URL, markup, content_type="text/html")
    batch = parse_batch(plan(plugin__parser=[parser]), [page])
    assert [(link["url"], link["tag"], link["anchor"]) for link in only_row(batch)["outlinks"]] == [
        ("http://a.org/real", "link", ""),
        ("http://a.org/2", "a", "Next"),
        ("http://a.org/", "a", "Home"),
        ("http://a.org/logo.svg", "img", ""),
    ]
    linked = [url for url, status in crawl_statuses(batch) if status is Status.LINKED]
    assert "http://a.org/real" in linked, "a canonical URL is to be fetched all the same"
    assert batch.counters["outlinks_dropped.self"] == 1
    assert batch.counters["outlinks_dropped.duplicate"] == 3


def test_the_link_header_names_a_canonical_url() -> None:
    page = content(URL, headers={"link": '</real>; rel="canonical"'})
    assert only_row(parse_batch(plan(), [page]))["canonical"] == "http://a.org/real"
    feed = replace(page, body=b"document http://a.org/entry")
    rows = parse_batch(plan(), [feed]).parse_data.to_pylist()
    assert [row["canonical"] for row in rows] == ["http://a.org/real", ""]


def test_a_canonical_url_is_no_longer_than_links_may_be() -> None:
    target = "http://a.org/" + "x" * 87
    page = content(URL, headers={"link": f"<{target}>; rel=canonical"})
    kept = parse_batch(plan(**{"db.max.outlink.length": 100}), [page])
    assert only_row(kept)["canonical"] == target
    assert kept.counters["canonicals_dropped.too_long"] == 0
    dropped = parse_batch(plan(**{"db.max.outlink.length": 99}), [page])
    assert only_row(dropped)["canonical"] == ""
    assert dropped.counters["canonicals_dropped.too_long"] == 1


def test_a_refresh_is_a_redirect_for_a_later_round() -> None:
    batch = parsed("title T", "refresh http://A.org/next#x", "text t")
    assert only_row(batch)["status"] == "success_redirect"
    assert crawl_statuses(batch) == [(URL, Status.SIGNATURE), ("http://a.org/next", Status.LINKED)]
    _, (_, link) = to_records(batch.crawl_parse)
    assert link.metadata == {"_repr_": URL}
    assert batch.parse_text.num_rows == 1


def test_a_refresh_that_may_not_be_followed_or_leads_nowhere() -> None:
    batch = parsed("refresh http://b.org/" + "x" * 3000)
    assert only_row(batch)["status"] == "success_redirect"
    assert crawl_statuses(batch) == [(URL, Status.SIGNATURE)]
    assert batch.counters["refreshes_dropped.filtered"] == 1
    assert only_row(parsed(f"refresh {URL}"))["status"] == "success"
    again = parsed(f"refresh {URL}#here")
    assert crawl_statuses(again) == [(URL, Status.SIGNATURE)]
    assert again.counters["refreshes_dropped.self"] == 1


@pytest.mark.parametrize(("also", "reason"), [(True, "external"), (False, "")])
def test_a_refresh_leads_no_further_than_any_redirect(also: bool, reason: str) -> None:
    rules = {"db.ignore.external.links": True, "db.ignore.also.redirects": also}
    batch = parse_batch(plan(**rules), [content(URL, "refresh http://b.org/")])
    assert (("http://b.org/", Status.LINKED) in crawl_statuses(batch)) is not also
    assert batch.counters[f"refreshes_dropped.{reason}"] == also
    inside = parse_batch(plan(**rules), [content(URL, "refresh http://a.org/in")])
    assert ("http://a.org/in", Status.LINKED) in crawl_statuses(inside)


def test_documents_inside_a_page_stand_under_urls_of_its_host() -> None:
    batch = parsed(
        *("title Feed", "document http://a.org/1#x", "title One", "text one"),
        *("link http://c.org/", "document http://b.org/2", "title Foreign"),
        *("document http://a.org/1", "title Again", "document nonsense", f"document {URL}"),
    )
    assert batch.parse_data["title"].to_pylist() == ["Feed", "One"]
    assert crawl_statuses(batch) == [
        (URL, Status.SIGNATURE),
        ("http://a.org/1", Status.FETCH_SUCCESS),
        ("http://a.org/1", Status.SIGNATURE),
        ("http://c.org/", Status.LINKED),
    ]
    assert batch.counters["documents_inside"] == 1
    assert batch.counters["documents_dropped.external"] == 1
    assert batch.counters["documents_dropped.duplicate"] == 2
    assert batch.counters["documents_dropped.filtered"] == 1
    one, other = batch.parse_data["signature"].to_pylist()
    assert one != other


def test_metadata_that_the_crawldb_wants() -> None:
    batch = parsed("meta a 1", "meta b 2", db__parsemeta__to__crawldb=["b", "c"])
    _, (_, noted) = to_records(batch.crawl_parse)
    assert (noted.status, noted.metadata) == (Status.PARSE_METADATA, {"b": "2"})


def test_texts_need_not_be_stored() -> None:
    batch = parsed("text x", parser__store__text=False)
    assert batch.parse_text.num_rows == 0 and batch.parse_data.num_rows == 1


def test_a_batch_is_as_its_pages_one_by_one() -> None:
    pages = [
        content(
            f"http://h{n % 3}.org/{n}", f"title {n}", f"links {n} http://x.org/{n}/", instruction
        )
        for n, instruction in enumerate(["", "do raise value", "robots noindex", "text a", ""] * 3)
    ]
    made = plan()
    together = parse_batch(made, pages)
    apart = [parse_batch(made, [page]) for page in pages]
    for table in ("parse_data", "parse_text"):
        rows = [row for batch in apart for row in getattr(batch, table).to_pylist()]
        assert getattr(together, table).to_pylist() == rows
    rows = [row for batch in apart for row in batch.crawl_parse.to_pylist()]
    assert sorted(together.crawl_parse.to_pylist(), key=str) == sorted(rows, key=str)
