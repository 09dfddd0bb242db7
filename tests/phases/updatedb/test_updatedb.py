from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import PluginError, UsageError
from crawl.model.answer_keys import CODE_KEY, PARSE_STATUS_KEY
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.status import Status
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import DAY, NOW, SegmentRows, datum, make_segment, records_of
from tests.phases.updating import MONTH, S1, S2, S3, A, B, C, Crawl, fetched, link, signed


def test_a_round_closes(tmp_path: Path) -> None:
    marked = {GENERATE_TIME_KEY: "1"}
    crawl = Crawl(tmp_path, {A: datum(metadata=marked), B: datum(), C: datum(score=0.5)})
    crawl.segment(
        S1,
        [(A, fetched(metadata={CODE_KEY: "200", **marked})), (B, fetched(Status.FETCH_GONE))],
        [
            (A, signed(b"one")),
            (A, datum(status=Status.PARSE_METADATA, metadata={"lang": "en"})),
            (C, link(0.25)),
            ("http://a.org/new", link(0.5)),
            ("http://a.org/new", link(0.25)),
        ],
    )
    done = crawl.update()
    records = crawl.records
    assert records[A] == fetched(
        Status.DB_FETCHED,
        fetch_time=NOW - 1000 + MONTH,
        modified_time=NOW - 1000,
        signature=b"one",
        metadata={CODE_KEY: "200", "lang": "en"},
    )
    assert records[B].status is Status.DB_GONE
    assert records[C] == datum(score=0.75)
    assert records["http://a.org/new"] == datum(score=0.75, fetch_time=NOW)
    assert done.segments == (S1,)
    assert done.snapshot.applied == {S1: 2}
    counters = done.report.counters
    assert (counters["fetch_records"], counters["parse_records"]) == (2, 5)
    assert (counters["fetched"], counters["gone"], counters["linked"]) == (1, 1, 1)
    assert (counters["found"], counters["urls_new"]) == (1, 1)
    assert (counters["db_fetched"], counters["db_gone"], counters["db_unfetched"]) == (1, 1, 2)
    assert done.report.details["segments"] == [
        {"segment": S1, "parsed": True, "crawl_fetch": 2, "crawl_parse": 5}
    ]
    assert done.report.details["contains"] == [S1]


def test_a_segment_is_applied_once(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    crawl.segment(S1, [(A, fetched())], [(B, link(0.5))])
    crawl.update()
    before = crawl.records
    with pytest.raises(UsageError, match=f"{S1} is in the CrawlDb already, since snapshot 2; --a"):
        crawl.update(S1)
    with pytest.raises(UsageError, match="nothing to apply .every segment that was fetched is in"):
        crawl.update()
    assert crawl.records == before
    done = crawl.update(S1, again=True)
    assert done.remarks == (
        f"{S1} is in the CrawlDb already, since snapshot 2; applied all the same",
    )
    assert crawl.records[B].score == 1.0
    assert done.snapshot.applied == {S1: 3}


def test_a_rollback_makes_it_applicable_again(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    crawl.segment(S1, [(A, fetched())])
    crawl.update()
    assert updatedb.applied(crawl.directory) == {S1}
    config, clock = Config(), ManualClock(NOW)
    with crawl.directory.writing_crawldb("rollback", config, clock) as transaction:
        transaction.roll_back(1)
    assert updatedb.applied(crawl.directory) == frozenset()
    assert crawl.update().snapshot.applied == {S1: 3}
    # and what writes the CrawlDb afterwards hands it on
    rebucket.run(InProcess(), crawl.directory, config, RebucketOptions(8), clock)
    assert updatedb.applied(crawl.directory) == {S1}


def test_which_segments_are_taken(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    with pytest.raises(UsageError, match="nothing to apply"):
        crawl.update()
    crawl.segment(S1, [(A, fetched())], [(B, link())])
    crawl.segment(S2, [(A, fetched())], None)
    make_segment(crawl.directory, S3)
    crawl.segment("20260104000000", [(A, fetched())], None, complete=False)
    done = crawl.update()
    assert done.segments == (S1,)
    assert [line.partition(":")[0] for line in done.remarks] == ["passed over"] * 2
    assert f"{S2} is not parsed yet" in done.remarks[0]
    assert "the fetch of 20260104000000 was interrupted" in done.remarks[1]
    with pytest.raises(UsageError, match=r"nothing to apply \(passed over: 20260102000000 is not"):
        crawl.update()
    with pytest.raises(UsageError, match="has no finished fetch"):
        crawl.update(S3)
    with pytest.raises(UsageError, match="has no finished fetch"):
        crawl.update("20990101000000")
    with pytest.raises(UsageError, match="was interrupted .* --again applies it all the same"):
        crawl.update("20260104000000")
    done = crawl.update(f"{crawl.directory.address}/segments/{S2}/", S2)
    assert done.segments == (S2,)
    assert done.remarks == (f"{S2} is not parsed: applied without links and signatures",)
    assert crawl.update("20260104000000", again=True).segments == ("20260104000000",)


def test_several_segments_at_once(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum(signature=b"old"), B: datum(signature=b"old")})
    crawl.segment(
        S1,
        [(A, fetched(fetch_time=NOW - 5 * DAY)), (B, fetched(fetch_time=NOW - 5 * DAY))],
        [(A, signed(b"old")), (B, signed(b"new")), (C, link(0.25))],
    )
    crawl.segment(S2, [(A, fetched(fetch_time=NOW - DAY))], [(C, link(0.5))])
    done = crawl.update()
    assert done.segments == (S1, S2)
    assert done.snapshot.applied == {S1: 2, S2: 2}
    records = crawl.records
    # the signature of an older fetch says nothing of the later one
    assert records[A].status is Status.DB_FETCHED
    assert records[A].fetch_time == NOW - DAY + MONTH
    assert (records[B].status, records[B].signature) == (Status.DB_FETCHED, b"new")
    assert records[C].score == 0.75
    assert done.report.counters["fetches_superseded"] == 1


def test_redirect_targets_in_crawl_fetch_are_links(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    target = link(1.0, metadata={GENERATE_TIME_KEY: "1", "_repr_": A})
    crawl.segment(S1, [(A, fetched(Status.FETCH_REDIR_PERM)), (B, target)])
    crawl.update()
    assert crawl.records[A].status is Status.DB_REDIR_PERM
    assert crawl.records[B].status is Status.DB_UNFETCHED
    assert crawl.records[B].metadata == {"_repr_": A}


@pytest.mark.parametrize("factor", [1, 0, 8])
def test_a_redirect_gives_its_target_all_it_has_whatever_links_are_worth(
    tmp_path: Path, factor: int
) -> None:
    crawl = Crawl(tmp_path, {A: datum(score=0.75), C: datum(score=0.5)})
    moved = fetched(Status.FETCH_REDIR_PERM, score=0.75)
    crawl.segment(S1, [(A, moved), (B, link(0.75)), (C, link(0.75))], [(B, link(0.25))])
    worth = dict.fromkeys(("db.score.link.internal", "db.score.link.external"), factor)
    crawl.update(settings=worth)
    scores = {url: record.score for url, record in crawl.records.items()}
    assert scores == {A: 0.75, B: 1.0, C: 1.25}


def test_documents_inside_pages_and_failed_parses(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum(), B: datum(signature=b"s")})
    inside = "http://a.org/feed#1"
    crawl.segment(
        S1,
        [(A, fetched()), (B, fetched())],
        [
            (inside, fetched(fetch_interval=0)),
            (inside, signed(b"i")),
            (B, datum(status=Status.PARSE_FAILED, metadata={PARSE_STATUS_KEY: "failed_timeout"})),
            (C, datum(status=Status.PARSE_FAILED)),
            (C, signed(b"lone")),
            (C, datum(status=Status.DB_FETCHED)),
        ],
    )
    counters = crawl.update().report.counters
    records = crawl.records
    assert (records[inside].status, records[inside].signature) == (Status.DB_FETCHED, b"i")
    assert (records[B].status, records[B].signature) == (Status.DB_PARSE_FAILED, b"s")
    assert records[B].metadata[PARSE_STATUS_KEY] == "failed_timeout"
    assert C not in records
    assert (counters["parses_without_fetch"], counters["records_ignored"]) == (1, 1)


def test_no_additions(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    rows = [(A, fetched())], [(A, link()), (B, link()), ("http://a.org/1", link())]
    crawl.segment(S1, *rows)
    crawl.segment(S2, *rows)
    done = crawl.update(S1, additions=False)
    assert crawl.records.keys() == {A}
    assert done.report.counters["dropped.additions_not_allowed"] == 2
    crawl.update(S2, settings={"db.update.additions.allowed": False})
    assert crawl.records.keys() == {A}


def test_the_best_links_count(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum(score=0.0)})
    links = [(url, link(score)) for url in (A, B) for score in (1.0, 8.0, 2.0, 4.0)]
    crawl.segment(S1, [], links, files=3)
    done = crawl.update(settings={"db.update.max.inlinks": 2})
    assert {url: record.score for url, record in crawl.records.items()} == {A: 12.0, B: 12.0}
    assert done.report.counters["inlinks_over_limit"] == 4


def test_of_equal_links_the_same_one_is_best_in_any_order(tmp_path: Path) -> None:
    links = [(A, link(0.5, metadata={"from": str(n), "x": ""})) for n in range(5)]
    seen = []
    for place, (ordered_links, files) in enumerate(((links, 1), (links[::-1], 1), (links, 3))):
        crawl = Crawl(tmp_path / str(place), {B: datum()})
        crawl.segment(S1, [], ordered_links, files=files)
        crawl.update()
        seen.append(crawl.records[A].metadata)
    assert seen == [{"from": "0", "x": ""}] * 3


def test_only_touched_buckets_are_written_anew(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {f"http://h{n}.org/": datum() for n in range(30)}, buckets=8)
    before = {file.bucket: file for file in crawl.directory.require_crawldb().files}
    crawl.segment(S1, [("http://h3.org/", fetched())])
    crawl.update()
    after = {file.bucket: file for file in crawl.directory.require_crawldb().files}
    assert after.keys() == before.keys()
    assert len([bucket for bucket in after if after[bucket] != before[bucket]]) == 1


def test_purging(tmp_path: Path) -> None:
    gone, orphan = datum(status=Status.DB_GONE, signature=b"s"), datum(status=Status.DB_ORPHAN)
    urls = {f"http://h{n}.org/": gone for n in range(6)}
    crawl = Crawl(tmp_path, {**urls, A: gone, B: gone, C: orphan, "http://d.org/": datum()})
    crawl.segment(S1, [(A, fetched())], [(A, signed(b"s")), (B, link(0.5))])
    purge: dict[str, object] = {"db.update.purge.404": True, "db.update.purge.orphans": True}
    counters = crawl.update(settings=purge).report.counters
    records = crawl.records
    assert records.keys() == {A, B, "http://d.org/"}
    # back as it was; and found anew by a link
    assert records[A].status is Status.DB_NOTMODIFIED
    assert records[B] == datum(score=0.5, fetch_time=NOW)
    assert (counters["urls_purged_404"], counters["urls_purged_orphans"]) == (7, 1)


def test_filter_and_normalize(tmp_path: Path) -> None:
    crawl = Crawl(
        tmp_path,
        {
            "http://OTHER.org/x/../y": datum(score=5.0),
            "http://a.org/old.gif": datum(),
            "http://a.org/keep": datum(score=2.0),
        },
        buckets=5,
    )
    links: SegmentRows = [
        ("http://a.org/new.gif", link()),
        ("http://A.org/./keep", link(0.5)),
        ("http://other.org/y", link(0.5)),
        ("http://THIRD.org/z", link(0.5)),
    ]
    crawl.segment(S1, [("http://a.org/old.gif", fetched())], links, buckets=5)
    settings: dict[str, object] = {"urlfilter.regex.file": "f.txt", "urlfilter.order": "regex"}
    files = {"f.txt": "-\\.gif$\n+."}
    done = crawl.update(settings=settings, files=files, filter=True, normalize=True)
    assert {url: record.score for url, record in crawl.records.items()} == {
        "http://other.org/y": 5.5,
        "http://a.org/keep": 2.5,
        "http://third.org/z": 0.5,
    }
    counters = done.report.counters
    assert (counters["urls_moved"], counters["urls_purged_filter"]) == (1, 1)
    assert counters["records_filtered"] == 2
    assert counters["rows_sent"] == 4  # three links, and the record that moved


def test_filters_alone_by_the_configuration(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {"http://a.org/old.gif": datum(), A: datum()})
    crawl.segment(S1, [], [("http://a.org/new.gif", link()), ("http://A.org/./x", link())])
    settings: dict[str, object] = {"urlfilter.regex.file": "f.txt", "urlfilter.order": "regex"}
    crawl.update(settings={**settings, "crawldb.url.filters": True}, files={"f.txt": "-gif$\n+."})
    assert crawl.records.keys() == {A, "http://A.org/./x"}


def test_files_are_read_once_and_sent(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, {A: datum()})
    crawl.segment(S1, [(A, fetched())], [(B, link()), (A, signed(b"s"))])
    done = crawl.update()
    assert crawl.records.keys() == {A, B}
    assert crawl.records[A].signature == b"s"
    assert done.report.counters["rows_sent"] == 3


def test_the_first_state_of_a_crawl(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path / "crawl"))
    make_segment(directory, S1, [(A, fetched())], [(B, link())])
    updatedb.run(InProcess(), directory, Config(), UpdateDbOptions(), ManualClock(NOW))
    assert records_of(directory).keys() == {A, B}


def test_wrong_settings_are_reported_before_anything_starts() -> None:
    with pytest.raises(PluginError, match="did you mean 'opic'"):
        updatedb.check(Config.of({"scoring.filter.order": "opik"}))
    with pytest.raises(PluginError, match="did you mean 'regex'"):
        updatedb.check(Config.of({"urlfilter.order": "regx"}), UpdateDbOptions(filter=True))
