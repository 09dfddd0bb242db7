"""invertlinks: the LinkDb is the segments' links turned around, in whatever order they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.errors import ConfigError, NothingToDo, UsageError
from crawl.model.report import Report
from crawl.phases.invertlinks.linkdb import linkdb_of
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import PARSE
from tests.examples import scaled
from tests.phases.linking import (
    LinkingPage,
    expected_inlinks,
    inlinks_of,
    invert,
    make_parsed,
)
from tests.phases.made import datum, make_crawldb

FIRST = [
    LinkingPage("http://a.org/", (("http://b.org/", "to b"), ("http://a.org/x", "inside"))),
    LinkingPage("http://c.org/", (("http://b.org/", ""), ("http://d.org/", "d"))),
]
SECOND = [
    LinkingPage("http://a.org/", (("http://b.org/", "now else"), ("http://d.org/", "é"))),
    LinkingPage("http://e.org/", (("http://b.org/", "e"),), 7.5),
]
ONE, TWO = "20260101000000", "20260102000000"


def parsed_crawl(folder: Path, **segments: list[LinkingPage]) -> CrawlDir:
    directory = make_crawldb(str(folder), {"http://a.org/": datum()}, buckets=3)
    for name, pages in segments.items():
        make_parsed(directory, name.lstrip("s"), pages)
    return directory


def two_segments(folder: Path) -> CrawlDir:
    return parsed_crawl(folder, **{f"s{ONE}": FIRST, f"s{TWO}": SECOND})


def test_links_are_turned_around(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    done = invert(directory)
    assert inlinks_of(directory) == expected_inlinks({ONE: FIRST, TWO: SECOND})
    assert done.segments == (ONE, TWO)
    assert done.state.buckets == 3, "as many as the CrawlDb has"
    counters = done.report.counters
    assert counters["pages"] == 4 and counters["links"] == 7
    assert counters["dropped.internal"] == 1
    assert counters["links_repeated"] == 1
    assert counters["links_kept"] == 5
    assert check(directory, deep=True).faults == []


def test_what_no_reader_can_follow_is_no_link(tmp_path: Path) -> None:
    canonical = LinkingPage("http://a.org/", (("http://b.org/", ""),), tag="link")
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": [canonical, *FIRST[1:]]})
    counters = invert(directory).report.counters
    assert inlinks_of(directory) == expected_inlinks({ONE: FIRST[1:]})
    assert counters["links"] == 3 and counters["dropped.unfollowable"] == 1


HOSTS = ["a.org", "b.org", "c.net"]
URLS = st.builds("http://{}/{}".format, st.sampled_from(HOSTS), st.text("xé~", max_size=1))
PAGES = st.lists(
    st.builds(
        LinkingPage,
        URLS,
        st.lists(st.tuples(URLS, st.sampled_from(["", "x", "é", "long one"])), max_size=6).map(
            tuple
        ),
        st.sampled_from([None, 0.25, 1.0, 2.0]),
    ),
    max_size=8,
)


@settings(max_examples=scaled(60), deadline=None)
@given(
    segments=st.lists(PAGES, min_size=1, max_size=3),
    most=st.sampled_from([1, 2, 100]),
    data=st.data(),
)
def test_the_order_of_segments_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory,
    segments: list[list[LinkingPage]],
    most: int,
    data: st.DataObject,
) -> None:
    named = {f"2026010100000{number}": pages for number, pages in enumerate(segments)}
    expected = expected_inlinks(named, most=most)
    names = data.draw(st.permutations(sorted(named)))
    directory = parsed_crawl(tmp_path_factory.mktemp("crawl"))
    for name, pages in named.items():
        make_parsed(directory, name, pages)
    together = data.draw(st.integers(1, len(names)))
    shape: dict[str, Any] = {
        "linkdb__max__inlinks": most,
        "crawldb__file__rows": 3,
        "crawldb__row__group__size": 2,
    }
    for start in range(0, len(names), together):
        invert(directory, *names[start : start + together], **shape)
    assert inlinks_of(directory) == expected


def test_a_segment_is_inverted_once(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    invert(directory, ONE)
    assert inlinks_of(directory) == expected_inlinks({ONE: FIRST})
    with pytest.raises(UsageError, match=f"{ONE} is in the LinkDb already, since snapshot 1; --a"):
        invert(directory, ONE)
    assert invert(directory).segments == (TWO,)
    with pytest.raises(NothingToDo, match="every segment that was parsed is in the LinkDb already"):
        invert(directory)


def test_force_replaces_what_a_segment_brought(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    invert(directory)
    fewer = [LinkingPage("http://e.org/", (("http://f.org/", "f"),), 7.5)]
    make_parsed(directory, TWO, fewer)
    done = invert(directory, TWO, again=True)
    assert done.report.counters["links_replaced"] == 3
    assert (
        f"{TWO} is in the LinkDb already, since snapshot 1; inverted all the same" in done.remarks
    )
    found = inlinks_of(directory)
    assert {key for key, (_, _, segment) in found.items() if segment == TWO} == {
        ("http://f.org/", "http://e.org/")
    }
    assert ("http://d.org/", "http://c.org/") in found


def test_internal_links_alone(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    done = invert(
        directory, linkdb__ignore__internal__links=False, linkdb__ignore__external__links=True
    )
    assert set(inlinks_of(directory)) == {("http://a.org/x", "http://a.org/")}
    assert done.report.counters["dropped.external"] == 6


def test_all_links(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    invert(directory, linkdb__ignore__internal__links=False)
    assert inlinks_of(directory) == expected_inlinks({ONE: FIRST, TWO: SECOND}, internal=True)


def test_no_link_could_be_left(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="both true: no link would be left"):
        invert(two_segments(tmp_path), linkdb__ignore__external__links=True)


def test_anchors_are_cut_by_characters(tmp_path: Path) -> None:
    pages = [LinkingPage("http://a.org/", (("http://b.org/", "é" * 4), ("http://c.org/", "é" * 5)))]
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": pages})
    done = invert(directory, linkdb__max__anchor__length=4)
    assert {anchor for anchor, _, _ in inlinks_of(directory).values()} == {"éééé"}
    assert done.report.counters["anchors_cut"] == 1


def test_both_ends_are_normalized_and_filtered(tmp_path: Path) -> None:
    pages = [
        LinkingPage("HTTP://A.org/./", (("http://b.org:80/", "b"), ("http://bad.org/x", ""))),
        LinkingPage("http://bad.org/", (("http://b.org/", "bad"),)),
    ]
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": pages})
    rules: dict[str, Any] = {
        "urlfilter__order": ["domaindenylist"],
        "urlfilter__domaindenylist__rules": "bad.org",
    }
    done = invert(directory, normalize=True, filter=True, **rules)
    assert set(inlinks_of(directory)) == {("http://b.org/", "http://a.org/")}
    assert done.report.counters["dropped.filtered"] == 2


@pytest.mark.parametrize("score", ["nan", "inf", "1e999", "-", "zwei", "1e39", ""])
def test_a_score_that_is_none_is_nothing(tmp_path: Path, score: str) -> None:
    class Odd(float):
        def __repr__(self) -> str:
            return score

    pages = [LinkingPage("http://a.org/", (("http://b.org/", "b"),), Odd())]
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": pages})
    invert(directory)
    assert [value for _, value, _ in inlinks_of(directory).values()] == [0.0]


def test_a_segment_without_a_parse(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    with pytest.raises(UsageError, match="20269999999999 is not parsed: `crawl parse "):
        invert(directory, "20269999999999")


def test_a_parse_that_is_not_whole(tmp_path: Path) -> None:
    directory = parsed_crawl(tmp_path)
    make_parsed(directory, ONE, FIRST, whole=False)
    with pytest.raises(
        NothingToDo, match=f"passed over: the parse of {ONE} was interrupted .`crawl parse "
    ):
        invert(directory)
    with pytest.raises(UsageError, match="was interrupted .* --again inverts it all the same"):
        invert(directory, ONE)
    invert(directory, ONE, again=True)
    assert inlinks_of(directory) == expected_inlinks({ONE: FIRST})


def test_segments_without_a_link_are_inverted_too(tmp_path: Path) -> None:
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": []})
    assert invert(directory).state.applied == {ONE: 1}
    assert inlinks_of(directory) == {}


def test_the_linkdb_follows_a_crawldb_that_was_rebucketed(tmp_path: Path) -> None:
    directory = two_segments(tmp_path)
    invert(directory, ONE)
    make_crawldb(str(tmp_path), {"http://a.org/": datum()}, buckets=12)
    assert invert(directory, TWO).state.buckets == 12
    assert inlinks_of(directory) == expected_inlinks({ONE: FIRST, TWO: SECOND})
    make_crawldb(str(tmp_path), {"http://a.org/": datum()}, buckets=5)
    assert invert(directory, TWO, again=True).state.buckets == 12
    assert linkdb_of(directory).require_current().number == 3


HOME = LinkingPage("http://a.org/", (("http://a.org/x", "x"), ("http://a.org/y", "y")))
INNER = LinkingPage("http://a.org/x", (("http://a.org/", "home"),))
AWAY = LinkingPage("http://a.org/y", (("http://b.org/", "b"), ("http://a.org/", "home")))
AUTO: dict[str, Any] = {"linkdb__ignore__internal__links": "auto"}
LINKDB_AUTO = "linkdb.ignore.internal.links=auto"


def test_links_within_the_only_host_are_kept(tmp_path: Path) -> None:
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": [HOME, INNER]})
    done = invert(directory, **AUTO)
    assert inlinks_of(directory) == expected_inlinks({ONE: [HOME, INNER]}, internal=True)
    assert done.remarks == (
        f"all links have to do with a.org: those within the host are kept ({LINKDB_AUTO})",
    )
    assert done.report.details["sites"]["rules"] == {"ignore_internal": False}


@settings(max_examples=scaled(30), deadline=None)
@given(order=st.lists(st.permutations([0, 1, 2]).map(tuple), min_size=1, max_size=1))
def test_a_crawl_that_outgrows_its_host_ends_as_if_it_had_never_had_one(
    tmp_path_factory: pytest.TempPathFactory, order: list[tuple[int, ...]]
) -> None:
    segments = {ONE: [HOME], TWO: [INNER], "20260103000000": [AWAY]}
    names = list(segments)
    at_once = parsed_crawl(
        tmp_path_factory.mktemp("x"), **{f"s{k}": v for k, v in segments.items()}
    )
    invert(at_once, **AUTO)
    one_by_one = parsed_crawl(
        tmp_path_factory.mktemp("x"), **{f"s{k}": v for k, v in segments.items()}
    )
    for number in order[0]:
        invert(one_by_one, names[number], **AUTO)
    assert inlinks_of(one_by_one) == inlinks_of(at_once) == expected_inlinks(segments)


def test_a_crawl_that_outgrows_its_host_is_told_so(tmp_path: Path) -> None:
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": [HOME, INNER], f"s{TWO}": [AWAY]})
    invert(directory, ONE, **AUTO)
    done = invert(directory, TWO, **AUTO)
    assert done.report.counters["links_outgrown"] == 3
    assert "more than one host now: 3 links within a host" in done.remarks[0]
    kept = parsed_crawl(tmp_path / "kept", **{f"s{ONE}": [HOME, INNER], f"s{TWO}": [AWAY]})
    for name in (ONE, TWO):
        invert(kept, name, linkdb__ignore__internal__links=False)
    assert len(inlinks_of(kept)) == 5


def test_what_leaves_no_link_is_named_with_what_mends_it(tmp_path: Path) -> None:
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": [HOME, INNER]})
    (remark,) = invert(directory).remarks
    assert remark == (
        "none of 3 links are left: 3 were left out by linkdb.ignore.internal.links (within a host);"
        f" `crawl invertlinks {directory.address} {ONE} --again"
        " -D linkdb.ignore.internal.links=false` keeps them"
    )
    bare = parsed_crawl(tmp_path / "bare", **{f"s{ONE}": [LinkingPage("http://a.org/", ())]})
    assert invert(bare, **AUTO).remarks == ("the pages of these segments have no links",)


def test_where_parse_has_kept_no_link_its_reason_is_named(tmp_path: Path) -> None:
    directory = parsed_crawl(tmp_path, **{f"s{ONE}": [LinkingPage("http://a.org/", ())]})
    parsed = Report("parse", 0, "", {})
    parsed.counters.update({"pages": 1, "parse.success": 1, "outlinks": 2})
    parsed.counters["outlinks_dropped.external"] = 2
    directory.segments.segment(ONE).write_report(PARSE, parsed)
    first, reason = invert(directory, **AUTO).remarks
    assert f"`crawl invertlinks {directory.address} {ONE} --again` takes them in" in first
    assert f"{ONE} --reparse -D db.ignore.external.links=false` keeps them" in reason
