"""refresh: records that match are due now, and nothing else of them changes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.errors import NoSnapshot, NothingToDo, UsageError
from crawl.model.datum import GENERATE_TIME_KEY, CrawlDatum
from crawl.model.hosts import HostState
from crawl.model.status import DB_STATUSES, Status
from crawl.model.value import replace
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.refresh import run as refresh
from crawl.phases.refresh.options import RefreshOptions
from crawl.phases.refresh.rules import parse_pattern, refresh_outcome
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from crawl.urls.parse import host_of
from tests.phases.counting_runner import CountingRunner
from tests.phases.host_states import host_states_of, put_host_states
from tests.phases.kill_jobs import refresh_hosts
from tests.phases.killed import run_killed
from tests.phases.made import DAY, NOW, datum, make_crawldb, records_of, urls_of

LATER = NOW + DAY


def run(directory: CrawlDir, *patterns: str, runner: Any = None, **options: Any) -> CrawlDbUpdate:
    settings = options.pop("settings", {})
    return refresh.run(
        runner or InProcess(),
        directory,
        Config.of({"urlfilter.order": [], **settings}),
        RefreshOptions(patterns, **options),
        ManualClock(NOW),
    )


def select(directory: CrawlDir, **settings: object) -> tuple[str, ...]:
    return generate.run(
        InProcess(),
        directory,
        Config.of({"urlfilter.order": [], **settings}),
        GenerateOptions(),
        ManualClock(NOW),
        resolver=lambda host: None,
    ).segments


def every_kind() -> dict[str, CrawlDatum]:
    """Records of every status, due and not, on three hosts."""
    return {
        f"https://{host}/{status.label}/{when}": datum(
            status=status,
            fetch_time=NOW + when * DAY,
            retries=when % 3,
            signature=b"\x01\x02",
            modified_time=NOW - 9 * DAY,
            metadata={"ETag": "x"},
        )
        for host in ("a.org", "www.a.org", "b.org")
        for status in DB_STATUSES
        for when in (-1, 0, 1, 2)
    }


@pytest.mark.parametrize("with_gone", [False, True])
@pytest.mark.parametrize("text", ["a.org", "*.a.org", "https://b.org/db_*", "*/1", "*"])
def test_what_matches_is_due_now_by_the_rule(tmp_path: Path, text: str, with_gone: bool) -> None:
    records = every_kind()
    directory = make_crawldb(str(tmp_path), records)
    pattern = parse_pattern(text)
    expected: dict[str, CrawlDatum] = {}
    counts: dict[str, int] = {}
    for url, record in records.items():
        expected[url] = record
        if not pattern.matches(url, host_of(url) or ""):
            continue
        outcome = refresh_outcome(
            record.status,
            is_due=record.fetch_time <= NOW,
            is_listed=False,
            with_gone=with_gone,
        )
        counts["matched"] = counts.get("matched", 0) + 1
        counts[outcome.value] = counts.get(outcome.value, 0) + 1
        if outcome.value == "made_due":
            expected[url] = replace(record, fetch_time=NOW, retries=0)
            by_status = f"made_due.{record.status.label}"
            counts[by_status] = counts.get(by_status, 0) + 1
    done = run(directory, text, gone=with_gone)
    assert records_of(directory) == expected
    assert {**done.report.counters, "records": 0} == {**counts, "records": 0}
    assert done.snapshot.number == directory.require_crawldb().number == 2


def test_a_dry_run_counts_and_changes_nothing(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), every_kind())
    before = sorted(directory.folder.files())
    counted = run(directory, "*.a.org", dry_run=True).report.counters
    assert sorted(directory.folder.files()) == before
    assert counted == run(directory, "*.a.org").report.counters
    assert counted["made_due"] > 0


def test_what_is_due_already_is_published_by_nobody(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum(fetch_time=LATER)})
    assert run(directory, "a.org").snapshot.number == 2
    again = run(directory, "a.org")
    assert (again.snapshot.number, again.report.counters["already_due"]) == (2, 1)


def test_what_is_on_an_unfinished_list_is_left_alone(tmp_path: Path) -> None:
    """It may be fetched at this moment; whether it is so by a mark or by the list."""
    records = {f"http://a.org/p{n}": datum() for n in range(3)}
    directory = make_crawldb(str(tmp_path), {**records, "http://a.org/x": datum(fetch_time=LATER)})
    (name,) = select(directory, **{"generate.update.crawldb": False})
    done = run(directory, "a.org")
    assert done.report.counters["on_fetch_list"] == 3
    assert done.report.counters["made_due"] == 1
    marked = {"http://b.org/": datum(fetch_time=LATER, metadata={GENERATE_TIME_KEY: str(NOW)})}
    other = make_crawldb(str(tmp_path / "other"), marked)
    assert run(other, "b.org").report.counters["on_fetch_list"] == 1
    assert records_of(other) == marked
    assert len(urls_of(directory, [name])) == 3


def test_the_next_list_has_what_was_refreshed_but_for_hosts_in_backoff(tmp_path: Path) -> None:
    records = {f"http://{host}/": datum(fetch_time=LATER) for host in ("a.org", "b.org", "c.org")}
    directory = make_crawldb(str(tmp_path), records)
    waiting = HostState("b.org", "timeout", failures=2, wait_until=NOW + DAY, last=NOW)
    put_host_states(directory, [waiting])
    assert select(directory) == ()
    run(directory, "a.org", "b.org")
    assert host_states_of(directory) == {"b.org": waiting}
    assert urls_of(directory, select(directory)) == ["http://a.org/"]


def test_where_hosts_are_named_only_their_buckets_are_read(tmp_path: Path) -> None:
    records = {f"http://h{n}.org/": datum(fetch_time=LATER) for n in range(50)}
    directory = make_crawldb(str(tmp_path), records)
    rebucket.run(InProcess(), directory, Config(), RebucketOptions(16), ManualClock(NOW))
    runner = CountingRunner()
    run(directory, "h1.org", "http://h2.org/*", runner=runner)
    assert (runner.steps["refresh: match"].tasks or 99) <= 2
    assert (runner.steps["refresh: write"].tasks or 99) <= 2
    run(directory, "*.org", runner=(every := CountingRunner()))
    assert (every.steps["refresh: match"].tasks or 0) > 8
    assert {record.fetch_time for record in records_of(directory).values()} == {NOW}


def test_what_matches_nothing_is_told(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum(fetch_time=LATER)})
    done = run(directory, "a.org", "b.org")
    assert done.remarks == ("no URL of the CrawlDb matches b.org",)
    assert done.report.details["patterns"] == {"a.org": 1, "b.org": 0}
    for dry_run in (False, True):
        with pytest.raises(NothingToDo, match=r"no URL of the CrawlDb matches b\.org or c\.org"):
            run(directory, "b.org", "c.org", dry_run=dry_run)
    with pytest.raises(
        NothingToDo, match=r"matches \*feed\* \(which means hosts: a pattern of URLs"
    ):
        run(directory, "*feed*")
    with pytest.raises(NothingToDo, match=r"matches \*\.b\.org or \*/feed\*$"):
        run(directory, "*.b.org", "*/feed*")
    with pytest.raises(UsageError, match="name a host, a URL or a pattern"):
        run(directory)
    with pytest.raises(NoSnapshot, match="has no CrawlDb yet"):
        run(CrawlDir(str(tmp_path / "none")), "a.org")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_killed_at_every_write(tmp_path: Path) -> None:
    """All of the matching records are due, or none, and the same command ends it."""
    records = {f"http://h{n % 7}.org/{n}": datum(fetch_time=LATER, retries=2) for n in range(40)}
    base = make_crawldb(str(tmp_path / "base"), records, buckets=3)
    put_host_states(base, [HostState("h1.org", "timeout", failures=1, last=NOW)])
    hosts, deaths, is_killed = host_states_of(base), 0, True
    while is_killed:
        wreck = CrawlDir(str(tmp_path / "wreck"))
        shutil.copytree(base.address, wreck.address)
        is_killed = run_killed(refresh_hosts, wreck.address, "h1.org", "h2.org", at=deaths + 1)
        for _ in range(2):
            found = records_of(wreck)
            changed = {url for url in found if found[url] != records[url]}
            wanted = {url for url in found if host_of(url) in ("h1.org", "h2.org")}
            assert changed in (set(), wanted)
            assert host_states_of(wreck) == hosts
            refresh_hosts(wreck.address, "h1.org", "h2.org")
        assert changed == wanted
        assert {found[url].retries for url in wanted} == {0}
        shutil.rmtree(wreck.address)
        deaths += is_killed
    assert deaths > 10


def test_gone_pages_are_due_with_all_their_tries(tmp_path: Path) -> None:
    gone = datum(status=Status.DB_GONE, fetch_time=LATER, retries=3)
    directory = make_crawldb(str(tmp_path), {"http://a.org/": gone})
    assert run(directory, "a.org").report.counters["gone"] == 1
    assert records_of(directory)["http://a.org/"] == gone
    run(directory, "a.org", gone=True)
    assert records_of(directory)["http://a.org/"] == replace(gone, fetch_time=NOW, retries=0)
