"""dedup on CrawlDbs made for tests, beside the rule written out row by row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import NothingToDo, UsageError
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.model.value import replace
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.dedup.rules import DEFAULT_ORDER
from crawl.phases.dedup.run import DedupResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import number_of
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from crawl.urls.domains import registered_domain
from crawl.urls.parse import host_of
from tests.examples import scaled
from tests.phases.made import NOW, datum, make_crawldb, records_of

FETCHED, SAME, DUPLICATE = Status.DB_FETCHED, Status.DB_NOTMODIFIED, Status.DB_DUPLICATE


def run_dedup(directory: CrawlDir, config: Config | None = None, **options: Any) -> DedupResult:
    return dedup.run(
        InProcess(), directory, config or Config(), DedupOptions(**options), ManualClock(NOW)
    )


def page(signature: bytes | None = b"s" * 16, **changes: Any) -> CrawlDatum:
    return datum(**{"status": FETCHED, "signature": signature, **changes})


def expected(
    records: Mapping[str, CrawlDatum], group: str = "none", order: str = DEFAULT_ORDER
) -> dict[str, CrawlDatum]:
    """What dedup makes of the records, one by one."""
    groups: dict[Any, list[str]] = {}
    for url, each in records.items():
        if each.status not in (FETCHED, SAME, DUPLICATE):
            continue
        host = host_of(url) or ""
        by = {"none": "", "host": host, "domain": registered_domain(host)}[group]
        if each.signature is not None or each.status is DUPLICATE:
            key = url if each.signature is None else each.signature
            groups.setdefault((key, by), []).append(url)

    def rank(url: str) -> Any:
        each = records[url]
        score = -math.inf if math.isnan(each.score) else each.score
        values = {
            "score": -score,
            "fetchTime": -each.fetch_time,
            "urlLength": len(unquote(url)),
            "httpsOverHttp": not url.startswith("https:"),
        }
        return *(values[name] for name in order.split(",")), number_of(host_of(url) or ""), url

    found = dict(records)
    for urls in groups.values():
        best, *others = sorted(urls, key=rank)
        if records[best].status is DUPLICATE:
            found[best] = replace(records[best], status=FETCHED)
        for url in others:
            found[url] = replace(records[url], status=DUPLICATE)
    return found


def statuses(directory: CrawlDir) -> dict[str, Status]:
    return {url: each.status for url, each in records_of(directory).items()}


def test_one_of_each_signature_survives(tmp_path: Path) -> None:
    records = {
        "http://a.org/best": page(score=2.0),
        "http://a.org/other": page(score=1.0),
        "http://b.org/far": page(score=1.5, status=SAME),
        "http://b.org/alone": page(b"t" * 16),
        "http://b.org/gone": page(status=Status.DB_GONE, score=9.0),
        "http://b.org/unparsed": page(None),
        "http://c.org/new": datum(),
    }
    directory = make_crawldb(str(tmp_path), records)
    done = run_dedup(directory)
    assert statuses(directory) == {
        **{url: each.status for url, each in records.items()},
        "http://a.org/other": DUPLICATE,
        "http://b.org/far": DUPLICATE,
    }
    assert done.report.counters == {
        "records_compared": 4,
        "records_without_signature": 1,
        "groups": 1,
        "duplicates": 2,
        "duplicates_marked": 2,
    }
    assert done.snapshot.number == 2


def test_what_no_other_repeats_any_more_is_fetched_again(tmp_path: Path) -> None:
    records = {
        "http://a.org/was": page(b"1" * 16, status=DUPLICATE),
        "http://b.org/changed": page(b"2" * 16),
        "http://c.org/lost-its-signature": page(None, status=DUPLICATE),
        "http://d.org/also": page(None, status=DUPLICATE),
    }
    directory = make_crawldb(str(tmp_path), records)
    done = run_dedup(directory)
    assert set(statuses(directory).values()) == {FETCHED}
    assert done.report.counters["duplicates_lifted"] == 3


def test_where_nothing_changes_nothing_is_published(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": page(), "http://a.org/b": page()})
    first = run_dedup(directory).snapshot
    again = run_dedup(directory)
    assert again.snapshot.number == first.number == directory.require_crawldb().number
    assert "duplicates_marked" not in again.report.counters
    assert again.report.counters["duplicates"] == 1


def test_slices_without_a_change_keep_their_files(tmp_path: Path) -> None:
    records = {f"http://h{n}.org/": page(bytes([n]) * 16) for n in range(40)}
    records["http://h0.org/again"] = page(bytes([0]) * 16)
    directory = make_crawldb(str(tmp_path), records, buckets=8)
    before = {file.path for file in directory.require_crawldb().files}
    after = {file.path for file in run_dedup(directory).snapshot.files}
    assert len(before - after) == 1


@pytest.mark.parametrize(
    ("order", "survivor"),
    [
        ("score", "http://a.org/score"),
        ("fetchTime,score", "http://a.org/later/%C3%A4"),
        ("urlLength", "http://a.org/%41%42"),
        ("httpsOverHttp,urlLength", "https://a.org/secure"),
    ],
)
def test_the_order_decides(tmp_path: Path, order: str, survivor: str) -> None:
    records = {
        "http://a.org/score": page(score=5.0),
        "http://a.org/later/%C3%A4": page(fetch_time=NOW),
        "http://a.org/%41%42": page(score=-math.inf),
        "http://a.org/abc": page(),
        "https://a.org/secure": page(),
    }
    directory = make_crawldb(str(tmp_path), records)
    run_dedup(directory, compare_order=order)
    assert [url for url, each in statuses(directory).items() if each is FETCHED] == [survivor]
    assert records_of(directory)[survivor] == expected(records, order=order)[survivor]


def test_groups_keep_hosts_and_domains_apart(tmp_path: Path) -> None:
    urls = ["http://www.a.co.uk/", "http://a.co.uk/", "http://a.co.uk/x", "http://b.co.uk/"]
    found = {}
    for group in ("none", "host", "domain"):
        directory = make_crawldb(str(tmp_path / group), {url: page() for url in urls})
        found[group] = run_dedup(directory, group=group).report.counters["duplicates"]
    assert found == {"none": 3, "host": 1, "domain": 2}


def test_signatures_of_any_length_are_told_apart(tmp_path: Path) -> None:
    signatures = [b"", b"1", b"1" * 8, b"1" * 16, b"1" * 17, b"1" * 300, b"0" * 300]
    records = {
        f"http://h{n}.org/{copy}": page(signature)
        for n, signature in enumerate(signatures)
        for copy in "ab"
    }
    directory = make_crawldb(str(tmp_path), records)
    assert run_dedup(directory).report.counters["groups"] == len(signatures)
    assert records_of(directory) == expected(records)


def test_the_largest_groups_are_told_of(tmp_path: Path) -> None:
    records = {f"http://h{n % 3}.org/empty{n:02}": page(score=n) for n in range(30)}
    records |= {f"http://g.org/{n}": page(b"g" * 16, score=-n) for n in range(3)}
    records |= {f"http://p{n}.org/": page(b"p" * 16) for n in range(2)}
    directory = make_crawldb(str(tmp_path), records)
    first, second = run_dedup(directory, groups=2).groups
    assert (first.size, first.survivor) == (30, "http://h2.org/empty29")
    assert len(first.duplicates) == 10 == len(set(first.duplicates) & records.keys())
    assert (second.size, second.survivor) == (3, "http://g.org/0")
    assert second.duplicates == ("http://g.org/1", "http://g.org/2")
    assert (first.left_out, second.left_out) == (19, 0)


@pytest.mark.parametrize("urls", [0, 1, 5, 29, 40])
@pytest.mark.parametrize("rows", [1_000_000, 7])
def test_as_many_urls_of_a_group_are_named_as_asked_for(
    tmp_path: Path, urls: int, rows: int
) -> None:
    # the survivor is the first of its group in one file, and the last in another
    records = {f"http://a.org/{n:02}": page(score=n) for n in range(30)}
    records |= {f"http://b.org/{n:02}": page(b"b" * 16, score=-n) for n in range(30)}
    directory = make_crawldb(str(tmp_path), records, group_rows=rows)
    groups = run_dedup(directory, groups=5, urls=urls).groups
    assert {group.survivor for group in groups} == {"http://a.org/29", "http://b.org/00"}
    for group in groups:
        assert len(set(group.duplicates) & records.keys() - {group.survivor}) == min(urls, 29)
        assert group.left_out == 29 - len(group.duplicates)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"group": "hosts"}, "no group 'hosts'"),
        ({"compare_order": "scor"}, "nothing is called 'scor'"),
        ({"compare_order": "score,score"}, "score is named twice"),
        ({"compare_order": ""}, "nothing is called ''"),
        ({"compare_order": "canonical"}, "known only with --canonical"),
    ],
)
def test_wrong_options_are_one_line(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": page()})
    with pytest.raises(UsageError, match=said):
        run_dedup(directory, **options)


def test_without_any_signature_there_is_nothing_to_do(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": page(None), "http://b.org/": datum()})
    with pytest.raises(NothingToDo, match="no record has a signature"):
        run_dedup(directory)
    assert directory.require_crawldb().number == 1


_RECORDS = st.dictionaries(
    st.builds(
        "{}://{}.org/{}".format,
        st.sampled_from(["http", "https"]),
        st.sampled_from(["a", "b", "www.a", "c"]),
        st.sampled_from(["", "x", "y", "%41", "%C3%A4", "ä", "long/path"]),
    ),
    st.builds(
        page,
        st.sampled_from([None, b"1" * 16, b"2" * 16, b"3" * 16, b"odd"]),
        status=st.sampled_from([FETCHED, SAME, DUPLICATE, Status.DB_GONE, Status.DB_UNFETCHED]),
        score=st.sampled_from([0.0, -0.0, 1.0, 2.5, -1.0]),
        fetch_time=st.sampled_from([NOW, NOW + 1]),
    ),
    max_size=40,
)


@settings(max_examples=scaled(60), deadline=None)
@given(
    _RECORDS,
    st.sampled_from(["none", "host", "domain"]),
    st.sampled_from([DEFAULT_ORDER, "urlLength", "httpsOverHttp,fetchTime,score"]),
    st.sampled_from([1, 3, 7]),
    st.sampled_from([1, 3, 1000]),
)
def test_it_is_the_rule_whatever_the_buckets_and_idempotent(
    tmp_path_factory: pytest.TempPathFactory,
    records: dict[str, CrawlDatum],
    group: str,
    order: str,
    buckets: int,
    file_rows: int,
) -> None:
    folder = tmp_path_factory.mktemp("dedup")
    wanted = expected(records, group, order)
    config = Config.of({"crawldb.file.rows": file_rows})
    directory = make_crawldb(str(folder), records, buckets=buckets)
    for _ in range(2):
        with suppress(NothingToDo):
            run_dedup(directory, config, group=group, compare_order=order)
        assert records_of(directory) == wanted
    assert directory.require_crawldb().number == (1 if wanted == records else 2)
