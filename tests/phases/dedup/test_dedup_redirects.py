"""dedup --redirects: chains, circles, other hosts and targets that nobody knows, and beside all of
them the rule written out row by row."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import NothingToDo, UsageError
from crawl.model.datum import CrawlDatum
from crawl.model.parse import REDIRECT_KEY
from crawl.model.status import Status
from crawl.model.tables import CONTENT, PARSE_DATA
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import number_of
from crawl.urls.parse import host_of
from tests.examples import scaled
from tests.phases.dedup.test_dedup import DUPLICATE, page, run_dedup, statuses
from tests.phases.dedup.test_dedup_near import SEGMENT, add_canonicals, add_parse
from tests.phases.made import datum, make_crawldb

MOVED = Status.DB_REDIR_PERM
LATER = "20260201000000"


def add_answers(directory: CrawlDir, moves: Mapping[str, str], name: str = SEGMENT) -> None:
    """A segment's content: URLs that answer with these Location headers; a page without one."""
    rows = [
        {
            "url": url,
            "content": b"",
            "code": 301 if location else 200,
            "headers": [("location", location)] if location else [],
            "status": Status.FETCH_REDIR_PERM if location else Status.FETCH_SUCCESS,
            "request_headers": b"",
            "response_headers": b"",
        }
        for url, location in moves.items()
    ]
    add_parse(directory, CONTENT, rows, name)


def add_refreshes(directory: CrawlDir, said: Mapping[str, str], name: str = SEGMENT) -> None:
    """A segment's parse: pages that send their reader on, or not."""
    rows = [
        {"url": url, "metadata": [(REDIRECT_KEY, target)] if target else []}
        for url, target in said.items()
    ]
    add_parse(directory, PARSE_DATA, rows, name)


def of(text: str, **changes: Any) -> CrawlDatum:
    """A page of that content."""
    return page(md5(text.encode()).digest(), **changes)


def duplicates(directory: CrawlDir) -> set[str]:
    return {url for url, status in statuses(directory).items() if status is DUPLICATE}


def test_where_pages_send_on_survives_and_what_only_leads_on_stays(tmp_path: Path) -> None:
    records = {
        "http://a.org/old": of("please wait", score=9.0),
        "http://a.org/step": datum(status=MOVED),
        "http://b.org/new": of("the page", score=1.0),
        "http://b.org/copy": of("the page", score=0.5),
        "http://a.org/alone": datum(status=MOVED),
    }
    directory = make_crawldb(str(tmp_path), records, buckets=4)
    add_refreshes(directory, {"http://a.org/old": "http://a.org/step", "http://b.org/new": ""})
    add_answers(
        directory,
        {"http://a.org/step": "//b.org/x/../new#top", "http://a.org/alone": "http://b.org/new"},
    )
    done = run_dedup(directory, redirects=True, groups=5)
    assert duplicates(directory) == {"http://a.org/old", "http://b.org/copy"}
    assert statuses(directory)["http://a.org/step"] is MOVED, "what is no page is not marked"
    (group,) = done.groups
    assert (group.size, group.survivor) == (3, "http://b.org/new")
    assert done.report.counters["redirects"] == 3
    assert "redirects_unknown" not in done.report.counters
    again = run_dedup(directory, redirects=True)
    assert again.snapshot.number == done.snapshot.number, "nothing is left to change"


def test_a_circle_is_one_group_that_is_compared_by_the_rest(tmp_path: Path) -> None:
    records = {f"http://a.org/{n}": of(str(n), score=n) for n in range(3)}
    directory = make_crawldb(str(tmp_path), records)
    add_refreshes(directory, {f"http://a.org/{n}": f"http://a.org/{(n + 1) % 3}" for n in range(3)})
    run_dedup(directory, redirects=True)
    assert duplicates(directory) == {"http://a.org/0", "http://a.org/1"}


def test_a_circle_without_a_page_is_nothing(tmp_path: Path) -> None:
    records = {"http://a.org/1": datum(status=MOVED), "http://a.org/2": datum(status=MOVED)}
    directory = make_crawldb(str(tmp_path), {**records, "http://a.org/": of("page")})
    add_answers(directory, {"http://a.org/1": "/2", "http://a.org/2": "/1"})
    assert run_dedup(directory, redirects=True).report.counters["duplicates"] == 0


@pytest.mark.parametrize(
    "target", ["http://a.org/gone", "http://a.org/never-heard-of", "http://a.org/new", "mailto:x"]
)
def test_a_target_that_is_no_page_has_no_word(tmp_path: Path, target: str) -> None:
    records = {
        "http://a.org/page": of("page"),
        "http://a.org/moved": datum(status=MOVED),
        "http://a.org/gone": datum(status=Status.DB_GONE),
        "http://a.org/new": datum(),
    }
    directory = make_crawldb(str(tmp_path), records)
    add_refreshes(directory, {"http://a.org/page": target})
    add_answers(directory, {"http://a.org/moved": target})
    counters = run_dedup(directory, redirects=True).report.counters
    assert not duplicates(directory)
    assert counters["redirects_unknown"] + counters["redirects_without_target"] == 2


def test_another_host_is_of_another_group(tmp_path: Path) -> None:
    records = {"http://a.org/": of("a"), "http://b.org/": of("b")}
    directory = make_crawldb(str(tmp_path), records)
    add_refreshes(directory, {"http://a.org/": "http://b.org/"})
    counters = run_dedup(directory, redirects=True, group="host").report.counters
    assert counters["redirects_of_other_groups"] == 1
    assert not duplicates(directory)
    run_dedup(directory, redirects=True)
    assert duplicates(directory) == {"http://a.org/"}


def test_the_latest_word_counts(tmp_path: Path) -> None:
    records = {"http://a.org/": of("a"), "http://b.org/": of("b"), "http://c.org/": of("c")}
    directory = make_crawldb(str(tmp_path), records)
    add_refreshes(directory, {"http://a.org/": "http://b.org/", "http://c.org/": "http://b.org/"})
    add_refreshes(directory, {"http://a.org/": ""}, LATER)
    # an answer's word is for URLs that redirect now, and this one has become a page
    add_answers(directory, {"http://b.org/": "http://a.org/"})
    run_dedup(directory, redirects=True)
    assert duplicates(directory) == {"http://c.org/"}


def test_a_canonical_url_that_redirects_leads_to_its_page(tmp_path: Path) -> None:
    records = {
        "http://a.org/print": of("print", score=0.1),
        "http://a.org/old": datum(status=MOVED),
        "http://a.org/new": of("new", score=1.0),
    }
    directory = make_crawldb(str(tmp_path), records)
    add_canonicals(directory, {"http://a.org/print": "http://a.org/old"})
    add_answers(directory, {"http://a.org/old": "/new"})
    done = run_dedup(directory, canonical=True)
    assert done.report.counters["canonicals_unknown"] == 1
    assert not duplicates(directory)
    run_dedup(directory, canonical=True, redirects=True)
    assert duplicates(directory) == {"http://a.org/print"}


def test_odd_locations_are_counted(tmp_path: Path) -> None:
    urls = [f"http://a.org/{n}" for n in range(4)]
    records = {**{url: datum(status=MOVED) for url in urls}, "http://a.org/": of("page")}
    directory = make_crawldb(str(tmp_path), records)
    odd = ["http://[", "x" * 100_000, "\x1b[2J\n", "//"]
    add_answers(directory, dict(zip(urls, odd, strict=True)))
    counters = run_dedup(directory, redirects=True).report.counters
    assert counters["redirects_without_target"] + counters["redirects_unknown"] == 4
    assert not duplicates(directory)


def test_its_place_in_the_order_needs_the_option(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": of("a")})
    with pytest.raises(UsageError, match="redirect is known only with --redirects"):
        run_dedup(directory, compare_order="redirect,score")


_URLS = [f"http://{host}.org/{path}" for host in "abc" for path in range(4)]
_SOME_URL = st.sampled_from([*_URLS, "http://c.org/nowhere"])
_CRAWLS = st.dictionaries(
    st.sampled_from(_URLS),
    st.builds(
        page,
        st.sampled_from([b"1" * 16, b"2" * 16, b"3" * 16]),
        status=st.sampled_from([Status.DB_FETCHED, DUPLICATE, MOVED, MOVED, Status.DB_GONE]),
        score=st.sampled_from([0.0, 1.0, 2.0]),
    ),
    min_size=4,
)


@settings(max_examples=scaled(60), deadline=None)
@given(
    _CRAWLS,
    st.dictionaries(st.sampled_from(_URLS), _SOME_URL),
    st.dictionaries(st.sampled_from(_URLS), _SOME_URL),
    st.sampled_from(["none", "host"]),
    st.sampled_from([1, 3]),
)
def test_it_is_the_rule(
    tmp_path_factory: pytest.TempPathFactory,
    records: dict[str, CrawlDatum],
    moves: dict[str, str],
    refreshes: dict[str, str],
    group: str,
    buckets: int,
) -> None:
    directory = make_crawldb(str(tmp_path_factory.mktemp("c")), records, buckets=buckets)
    add_answers(directory, {url: moves.get(url, "") for url in _URLS})
    add_refreshes(directory, {url: refreshes.get(url, "") for url in _URLS})
    with suppress(NothingToDo):
        run_dedup(directory, Config.of({"crawldb.file.rows": 3}), redirects=True, group=group)
    assert duplicates(directory) == _expected(records, moves, refreshes, group)


def _expected(
    records: dict[str, CrawlDatum], moves: dict[str, str], refreshes: dict[str, str], group: str
) -> set[str]:
    """The duplicates, one by one."""
    comparable = {url for url, each in records.items() if each.status not in _OTHERS}
    nodes = comparable | {url for url, each in records.items() if each.status is MOVED}
    if not comparable:
        return {url for url, each in records.items() if each.status is DUPLICATE}
    cluster = {url: {url} for url in nodes}

    def join(one: str, other: str) -> None:
        if group == "host" and host_of(one) != host_of(other):
            return
        both = cluster[one] | cluster[other]
        for url in both:
            cluster[url] = both

    leads = {}
    for url in nodes:
        target = (refreshes if url in comparable else moves).get(url, url)
        if target != url:
            leads[url] = target
            if target in nodes:
                join(url, target)
    for one in comparable:
        for other in comparable:
            if records[one].signature == records[other].signature:
                join(one, other)

    def rank(url: str) -> Any:
        host = number_of(host_of(url) or "")
        return url in leads, -records[url].score, len(url), host, url

    return {url for url in comparable if min(cluster[url] & comparable, key=rank) != url}


_OTHERS = (MOVED, Status.DB_GONE)
