"""A table other than the CrawlDb: written, merged, looked up, killed, checked and repaired."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.report import Report
from crawl.phases.gc.run import collect_garbage
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.repair import repair
from crawl.tables.bucket_files import BucketTarget, write_bucket
from crawl.tables.lookup import find_rows
from tests.phases.killed import run_killed
from tests.phases.link_table import LINKS, add_links, links_of, links_table
from tests.phases.made import datum, make_crawldb, records_of

FIRST = [(f"http://h{n % 5}.org/p{n}", f"http://a.org/{n}") for n in range(30)]
SECOND = [(f"http://h{n % 7}.org/p{n}", f"http://b.org/{n}") for n in range(0, 40, 3)]
SOME = {f"http://h{n}.org/": datum() for n in range(5)}


def expected(*pairs: tuple[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for url, page in pairs:
        found.setdefault(url, set()).add(page)
    return found


URLS = st.builds("http://{}.org/{}".format, st.sampled_from("abcde"), st.text("xyé~", max_size=2))
PAIRS = st.lists(st.tuples(URLS, st.sampled_from(["p", "q", "r"])), max_size=20)


@settings(max_examples=25, deadline=None)
@given(rounds=st.lists(PAIRS, min_size=1, max_size=3))
def test_every_merge_is_the_union(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[str, str]]]
) -> None:
    address = str(tmp_path_factory.mktemp("crawl"))
    for pairs in rounds:
        add_links(address, pairs)
    assert links_of(CrawlDir(address)) == expected(*(pair for pairs in rounds for pair in pairs))


def test_a_row_is_found_by_its_key(tmp_path: Path) -> None:
    add_links(str(tmp_path), FIRST)
    add_links(str(tmp_path), SECOND)
    dataset = CrawlDir(str(tmp_path)).dataset(LINKS)
    found = find_rows(LINKS, dataset.folder, dataset.require_current(), "http://h0.org/p0")
    assert found is not None
    assert found.to_pylist() == [
        {
            "url": "http://h0.org/p0",
            "host": "h0.org",
            "inlinks": ["http://a.org/0", "http://b.org/0"],
        }
    ]
    assert find_rows(LINKS, dataset.folder, dataset.require_current(), "http://h0.org/no") is None


def test_a_merge_may_forget_a_key(tmp_path: Path) -> None:
    add_links(str(tmp_path), FIRST)
    add_links(str(tmp_path), [(url, "-") for url, _ in FIRST[::2]])
    assert links_of(CrawlDir(str(tmp_path))) == expected(*FIRST[1::2])


def test_a_bucket_without_a_new_row_keeps_its_file(tmp_path: Path) -> None:
    add_links(str(tmp_path), FIRST)
    dataset = CrawlDir(str(tmp_path)).dataset(LINKS)
    before = dataset.require_current().files
    add_links(str(tmp_path), [("http://h0.org/new", "p")])
    after = dataset.require_current().files
    assert len(set(before) & set(after)) == len(before) - 1


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_merge_killed_at_every_write(tmp_path: Path) -> None:
    base = tmp_path / "base"
    make_crawldb(str(base), SOME)
    add_links(str(base), FIRST)
    at, killed = 1, True
    while killed:
        wreck = tmp_path / f"killed-{at}"
        shutil.copytree(base, wreck)
        killed = run_killed(add_links, str(wreck), SECOND, at=at)
        directory = CrawlDir(str(wreck))
        assert links_of(directory) in (expected(*FIRST), expected(*FIRST, *SECOND))
        assert not [fault for fault in check(directory).faults if "copy" not in fault.path]
        add_links(str(wreck), SECOND)  # what a killed one left is swept away
        assert links_of(directory) == expected(*FIRST, *SECOND)
        assert check(directory, deep=True).faults == []
        assert records_of(directory) == SOME
        at += 1
    assert at > 15


def test_one_writer_of_a_table_at_a_time(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    config, clock = Config(), SystemClock()
    with (
        directory.writing(directory.dataset(LINKS), "links", config, clock),
        directory.writing_crawldb("inject", config, clock),
        pytest.raises(Exception, match="links by"),
    ):
        add_links(str(tmp_path), FIRST)


def test_old_snapshots_of_every_table_are_forgotten(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), SOME)
    add_links(str(tmp_path), FIRST)
    add_links(str(tmp_path), SECOND)
    assert directory.dataset(LINKS).timeline().numbers == (1, 2)
    collect_garbage(directory, Config(), SystemClock(), 1, steal_lock=False)
    assert directory.dataset(LINKS).timeline().numbers == (2,)
    assert links_of(directory) == expected(*FIRST, *SECOND)


def test_a_damaged_table_goes_back_to_its_newest_whole_snapshot(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), SOME)
    add_links(str(tmp_path), FIRST)
    add_links(str(tmp_path), SECOND)
    own = next(
        file for file in directory.dataset(LINKS).require_current().files if "/000002/" in file.path
    )
    path = tmp_path / "links" / own.path
    path.write_bytes(path.read_bytes()[:-9])
    found = check(directory)
    assert [fault.path for fault in found.faults] == [f"links/{own.path}"]
    done = repair(directory, found, Config(), SystemClock())
    assert "made snapshot 1 of links the current one" in done
    assert check(directory, deep=True).faults == []
    assert links_of(directory) == expected(*FIRST)
    assert records_of(directory) == SOME


def test_rows_that_are_not_in_order_are_found(tmp_path: Path) -> None:
    """Also by a check that knows of the table no more than its manifest says."""
    directory = CrawlDir(str(tmp_path))
    config, clock = Config(), SystemClock()
    add_links(str(tmp_path), FIRST)
    dataset = directory.dataset(LINKS)
    rows = links_table([("http://h0.org/b", "p"), ("http://h0.org/a", "p")])
    with directory.writing(dataset, "links", config, clock) as transaction:
        target = BucketTarget(LINKS, transaction.folder, transaction.place)
        files = write_bucket(target, 0, [rows])
        transaction.publish(files, Report("links", 0, ""), buckets=1, keep=1)
    assert check(directory).faults == []
    (fault,) = check(directory, deep=True).faults
    assert "URLs are not in order" in fault.fault
