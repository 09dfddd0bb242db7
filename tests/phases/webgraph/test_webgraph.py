"""The link graph: what becomes a node and an edge, and what the next segments do to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import NothingToDo, UsageError
from crawl.model.status import Status
from crawl.phases.linkrank import run as linkrank
from crawl.phases.linkrank.options import LinkRankOptions
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import PARSED
from crawl.tables.runner import InProcess
from tests.examples import scaled
from tests.phases.linked_pages import (
    ALL_LINKS,
    add_parse,
    build,
    graph_of,
    links_of,
    nodes_of,
)
from tests.phases.made import DAY, NOW, datum, make_segment

A, B, C = "http://a.org/", "http://b.org/", "http://c.org/"


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    return CrawlDir(str(tmp_path / "crawl"))


def test_pages_that_link_or_are_linked_to_are_nodes(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: [B, C], B: [C], "http://d.org/": []})
    done = build(directory)
    graph = graph_of(directory)
    assert sorted(links_of(graph)) == [(A, B), (A, C), (B, C)]
    assert {url: counts[1:] for url, counts in nodes_of(graph).items()} == {
        A: (0, 2),
        B: (1, 1),
        C: (2, 0),
    }
    assert sorted(number for number, _, _ in nodes_of(graph).values()) == [0, 1, 2]
    assert done.report.counters["nodes"] == 3
    assert done.report.counters["edges"] == 3
    assert done.report.counters["links"] == 3
    assert not check(directory, deep=True).faults


def test_what_no_reader_can_follow_is_no_link(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: [B, C]})
    add_parse(directory, "20260102000000", {B: [A], C: [A, B]}, tag="link")
    counters = build(directory).report.counters
    assert links_of(graph_of(directory)) == [(A, B), (A, C)]
    assert counters["links"] == 5 and counters["dropped.unfollowable"] == 3


def test_links_within_a_host_or_a_domain_do_not_count(directory: CrawlDir) -> None:
    pages = {"http://www.a.org/1": ["http://www.a.org/2", "http://m.a.org/", B]}
    add_parse(directory, "20260101000000", pages)
    counters = build(directory).report.counters
    assert links_of(graph_of(directory)) == [("http://www.a.org/1", B)]
    assert counters["dropped.internal_host"] == 1
    assert counters["dropped.internal_domain"] == 1


def test_of_the_links_to_a_domain_the_first_counts(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: [f"{B}2", f"{B}1", "http://www.b.org/", C]})
    counters = build(directory).report.counters
    assert sorted(links_of(graph_of(directory))) == [(A, f"{B}2"), (A, C)]
    assert counters["dropped.limit_domain"] == 2


def test_of_the_links_to_a_page_the_first_counts(directory: CrawlDir) -> None:
    pages = {A: [f"{B}p?x=1", f"{B}P?x=2", f"{B}q", f"{B}q", f"{B}q#end"]}
    add_parse(directory, "20260101000000", pages)
    counters = build(directory, link__ignore__limit__domain=False).report.counters
    assert sorted(links_of(graph_of(directory))) == [(A, f"{B}p?x=1"), (A, f"{B}q")]
    assert counters["dropped.limit_page"] == 2
    assert counters["dropped.repeated"] == 1


def test_of_the_links_from_a_domain_one_is_ranked_by(directory: CrawlDir) -> None:
    pages = {"http://x.a.org/": [C], "http://y.a.org/": [C], B: [C]}
    add_parse(directory, "20260101000000", pages)
    done = build(directory)
    assert done.report.counters["edges_limited"] == 1
    assert len(links_of(graph_of(directory))) == 3
    counted = links_of(graph_of(directory, counts_limited=False))
    assert len(counted) == 2 and (B, C) in counted
    assert nodes_of(graph_of(directory))[C][1] == 3


def test_the_newest_fetch_of_a_page_wins_whatever_the_order(directory: CrawlDir) -> None:
    add_parse(directory, "20260102000000", {A: [B]}, at=NOW)
    build(directory)
    add_parse(directory, "20260101000000", {A: [C]}, at=NOW - DAY)
    done = build(directory)
    assert done.segments == ("20260101000000",)
    assert links_of(graph_of(directory)) == [(A, B)]
    add_parse(directory, "20260103000000", {A: [C]}, at=NOW + DAY)
    build(directory)
    assert links_of(graph_of(directory)) == [(A, C)]
    assert B not in nodes_of(graph_of(directory))


def test_a_segment_is_taken_in_once(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: [B]})
    build(directory)
    with pytest.raises(NothingToDo, match="in the link graph already"):
        build(directory)
    options = WebGraphOptions(("20260101000000",))
    with pytest.raises(UsageError, match="since snapshot 1; --again"):
        build(directory, options)
    build(directory, WebGraphOptions(("20260101000000",), again=True))
    assert links_of(graph_of(directory)) == [(A, B)]


def test_an_unparsed_segment_is_refused_or_passed_over(directory: CrawlDir) -> None:
    make_segment(directory, "20260101000000", [])
    with pytest.raises(UsageError, match="is not parsed: `crawl parse .* finds its links"):
        build(directory, WebGraphOptions(("20260101000000",)))
    with pytest.raises(NothingToDo, match="crawl parse"):
        build(directory)
    add_parse(directory, "20260102000000", {A: [B]})
    assert "is not parsed: `crawl parse" in build(directory).remarks[0]


def test_a_half_parsed_segment_waits_for_its_other_half(directory: CrawlDir) -> None:
    name = "20260101000000"
    add_parse(directory, name, {A: [B]})
    segment = directory.segments.segment(name)
    whole = {part: segment.require(part) for part in PARSED if segment.is_done(part)}
    segment.publish_parsed({part: replace(each, complete=False) for part, each in whole.items()})
    with pytest.raises(UsageError, match="was interrupted .* --again takes it all the same"):
        build(directory, WebGraphOptions((name,)))
    with pytest.raises(NothingToDo, match="passed over: the parse of .* was interrupted"):
        build(directory)
    segment.publish_parsed(whole)
    assert build(directory).segments == (name,)


def test_a_failed_parse_says_nothing_of_links(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: [B]})
    add_parse(directory, "20260102000000", {A: []}, at=NOW + DAY, status="failed_timeout")
    counters = build(directory).report.counters
    assert links_of(graph_of(directory)) == [(A, B)]
    assert counters["pages_not_parsed"] == 1


@pytest.mark.parametrize("delete", [False, True])
def test_pages_that_are_gone_may_lose_their_links(directory: CrawlDir, delete: bool) -> None:
    add_parse(directory, "20260101000000", {A: [B], B: [C]})
    gone = datum(status=Status.FETCH_GONE, fetch_time=NOW + DAY)
    fetched = make_segment(directory, "20260102000000", [(A, gone)])
    manifest = fetched.require("crawl_fetch")
    add_parse(directory, "20260102000000", {})
    fetched.publish("crawl_fetch", manifest)
    build(directory, link__delete__gone=delete)
    expected = [(B, C)] if delete else [(A, B), (B, C)]
    assert sorted(links_of(graph_of(directory))) == expected


def test_targets_are_filtered_and_normalised_where_asked(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: ["http://B.org:80/", "http://c.org/x.gif", B]})
    done = build(directory, WebGraphOptions(filter=True, normalize=True), **ALL_LINKS)
    assert links_of(graph_of(directory)) == [(A, B)]
    assert done.report.counters["dropped.filtered"] == 1
    assert done.report.counters["dropped.repeated"] == 1


def test_segments_without_a_link_make_an_empty_graph(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", {A: []})
    assert build(directory).state.rows == 0
    assert graph_of(directory).node_count == 0


URLS = st.builds("http://{}.org/{}".format, st.sampled_from("abcdef"), st.text("xyé", max_size=2))
PAGES = st.dictionaries(URLS, st.lists(URLS, max_size=6), max_size=12)


@settings(max_examples=scaled(60), deadline=None)
@given(rounds=st.lists(PAGES, min_size=1, max_size=3), file_rows=st.sampled_from([2, 1000]))
def test_the_graph_is_that_of_the_newest_pages(
    tmp_path_factory: pytest.TempPathFactory,
    rounds: list[dict[str, list[str]]],
    file_rows: int,
) -> None:
    directory = CrawlDir(str(tmp_path_factory.mktemp("crawl")))
    newest: dict[str, list[str]] = {}
    for number, pages in enumerate(rounds):
        add_parse(directory, f"2026010{number}000000", pages, at=NOW + number)
        build(directory, crawldb__file__rows=file_rows, crawldb__buckets=3, **ALL_LINKS)
        newest.update(pages)
        expected = {(page, link) for page, links in newest.items() for link in links}
        found = links_of(graph_of(directory))
        assert set(found) == expected and len(found) == len(expected)
        nodes = nodes_of(graph_of(directory))
        assert nodes.keys() == {url for link in expected for url in link}
        for url, (_, inlinks, outlinks) in nodes.items():
            assert inlinks == sum(to == url for _, to in expected)
            assert outlinks == sum(of == url for of, _ in expected)
    assert not check(directory, deep=True).faults


SITE = {"http://a.org/": ["http://a.org/1", "http://a.org/2"], "http://a.org/1": ["http://a.org/"]}


def test_the_links_of_a_site_count_where_there_is_no_other(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", SITE)
    done = build(directory)
    assert len(links_of(graph_of(directory))) == 3
    assert done.report.counters["edges_limited"] == 0
    (remark,) = done.remarks
    assert remark.startswith("all links have to do with a.org: they count")
    assert "link.ignore.internal.host, link.ignore.internal.domain" in remark


def test_a_graph_that_outgrows_its_site_is_as_if_it_had_never_had_one(tmp_path: Path) -> None:
    found = []
    for steps in (1, 2):
        directory = CrawlDir(str(tmp_path / str(steps)))
        add_parse(directory, "20260101000000", SITE)
        if steps == 2:
            build(directory)
            ranked = linkrank.run(
                InProcess(), directory, Config(), LinkRankOptions(), SystemClock()
            )
            assert not ranked.remarks, "and the scores do not make the graph forget"
        add_parse(directory, "20260102000000", {"http://a.org/2": ["http://a.org/", B]})
        done = build(directory)
        found.append((links_of(graph_of(directory)), nodes_of(graph_of(directory))))
    assert found[0] == found[1]
    assert found[0][0] == [("http://a.org/2", B)]
    assert done.report.counters["links_outgrown"] == 3
    assert "more than one site now: 3 links" in done.remarks[0]
    assert not check(directory, deep=True).faults


def test_what_leaves_no_link_is_named_with_what_mends_it(directory: CrawlDir) -> None:
    add_parse(directory, "20260101000000", SITE)
    (remark,) = build(directory, link__ignore__internal__host=True).remarks[1:]
    assert remark.startswith(
        "none of 3 links are left: 3 were left out by link.ignore.internal.host; `crawl webgraph"
        f" {directory.address} 20260101000000 --again -D link.ignore.internal.host=false"
    )
    ranked = linkrank.run(InProcess(), directory, Config(), LinkRankOptions(), SystemClock())
    assert "the link graph has no links" in ranked.remarks[0]
