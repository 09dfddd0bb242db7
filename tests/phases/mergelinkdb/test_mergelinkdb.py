"""mergelinkdb, the look-ups of the LinkDb, and what a killed writer of it leaves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.errors import NoSnapshot, NothingToDo, UsageError
from crawl.phases.invertlinks.linkdb import linkdb_of
from crawl.phases.invertlinks.tasks.inlinks import inlinks_of_url
from crawl.phases.mergelinkdb import run as mergelinkdb
from crawl.phases.mergelinkdb.options import MergeLinkDbOptions
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from crawl.urls.parse import host_of
from tests.phases.bucket_inlinks import INLINKS, StoredInlinks, anchors_of
from tests.phases.killed import run_killed
from tests.phases.linking import (
    Inlinks,
    LinkingPage,
    expected_inlinks,
    inlinks_of,
    invert,
    invert_again,
    invert_small_files,
    make_parsed,
    merge_small_files,
)
from tests.phases.made import NOW, datum, make_crawldb

ONE, TWO = "20260101000000", "20260102000000"
FIRST = [
    LinkingPage(
        f"http://p{n}.org/", tuple((f"http://h{(n + k) % 7}.org/{n % 3}", f"k{k}") for k in (1, 2))
    )
    for n in range(20)
]
SECOND = [
    LinkingPage(f"http://p{n}.org/", ((f"http://h{n % 5}.org/0", "again"),), n / 4)
    for n in range(12, 30)
]
BOTH = expected_inlinks({ONE: FIRST, TWO: SECOND})


def merged_from(links: Inlinks, crawls: dict[str, str]) -> Inlinks:
    """Links as they are where those of some segments were merged from other crawls."""
    return {
        key: (anchor, score, f"{crawls[name]}/{name}" if name in crawls else name)
        for key, (anchor, score, name) in links.items()
    }


def crawl_of(folder: Path, name: str, pages: list[LinkingPage], buckets: int = 3) -> CrawlDir:
    directory = make_crawldb(str(folder), {"http://a.org/": datum()}, buckets=buckets)
    make_parsed(directory, name, pages)
    return directory


def merge(
    directory: CrawlDir, *others: Path, config: Config | None = None, **options: Any
) -> Published:
    wanted = MergeLinkDbOptions(tuple(map(str, others)), **options)
    return mergelinkdb.run(InProcess(), directory, config or Config(), wanted, ManualClock(NOW))


def test_merged_linkdbs_are_one_of_all_segments(tmp_path: Path) -> None:
    directory = crawl_of(tmp_path / "one", ONE, FIRST)
    invert(directory)
    invert(crawl_of(tmp_path / "two", TWO, SECOND))
    merge(directory, tmp_path / "two")
    assert inlinks_of(directory) == merged_from(BOTH, {TWO: "two"})
    assert linkdb_of(directory).require_current().applied == {ONE: 1}
    merge(directory, tmp_path / "two")
    assert inlinks_of(directory) == merged_from(BOTH, {TWO: "two"})
    other = CrawlDir(str(tmp_path / "all"))
    done = merge(other, tmp_path / "two", tmp_path / "one")
    assert inlinks_of(other) == merged_from(BOTH, {ONE: "one", TWO: "two"})
    assert done.state.buckets == 3
    assert check(other, deep=True).faults == []
    merge(other, tmp_path / "one")  # which has links of `two`, under that name
    assert inlinks_of(other) == merged_from(BOTH, {ONE: "one", TWO: "two"})


OURS = [
    LinkingPage("http://a.org/", (("http://x.org/", "ours"), ("http://y.org/", "ours"))),
    LinkingPage("http://b.org/", (("http://x.org/", "both"),)),
]
THEIRS = [
    LinkingPage("http://b.org/", (("http://x.org/", "both"),)),
    LinkingPage("http://c.org/", (("http://x.org/", "theirs"), ("http://z.org/", "theirs"))),
]
FEWER = [LinkingPage("http://a.org/", (("http://y.org/", "now"),))]


def test_an_inversion_replaces_no_link_of_another_crawl(tmp_path: Path) -> None:
    """Whatever the other crawl's segments are called."""
    directory = crawl_of(tmp_path / "one", ONE, OURS)
    invert(directory)
    invert(crawl_of(tmp_path / "two", ONE, THEIRS))
    merge(directory, tmp_path / "two")
    found = inlinks_of(directory)
    assert found["http://x.org/", "http://a.org/"] == ("ours", 1.0, ONE)
    assert found["http://x.org/", "http://b.org/"] == ("both", 1.0, ONE), "of equals our own"
    assert found["http://x.org/", "http://c.org/"] == ("theirs", 1.0, f"two/{ONE}")
    make_parsed(directory, ONE, FEWER)
    done = invert(directory, ONE, again=True)
    assert done.report.counters["links_replaced"] == 3
    assert inlinks_of(directory) == {
        ("http://y.org/", "http://a.org/"): ("now", 1.0, ONE),
        ("http://x.org/", "http://c.org/"): ("theirs", 1.0, f"two/{ONE}"),
        ("http://z.org/", "http://c.org/"): ("theirs", 1.0, f"two/{ONE}"),
    }
    merge(directory, tmp_path / "two")  # a link that both had is theirs from now on
    assert inlinks_of(directory)["http://x.org/", "http://b.org/"] == ("both", 1.0, f"two/{ONE}")


def test_links_that_come_home_are_a_crawl_s_own(tmp_path: Path) -> None:
    """Merged there and back, a link is still replaced where its segment is inverted again."""
    directory = crawl_of(tmp_path / "one", ONE, OURS)
    invert(directory)
    other = crawl_of(tmp_path / "two", ONE, THEIRS)
    invert(other)
    merge(other, tmp_path / "one")
    merge(directory, tmp_path / "two")
    make_parsed(directory, ONE, FEWER)
    invert(directory, ONE, again=True)
    assert set(inlinks_of(directory)) == {
        ("http://y.org/", "http://a.org/"),
        ("http://x.org/", "http://c.org/"),
        ("http://z.org/", "http://c.org/"),
    }


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    odd = os.fsdecode(b"t\xffwo")
    invert(crawl_of(tmp_path / odd, ONE, THEIRS))
    other = CrawlDir(str(tmp_path / "all"))
    merge(other, tmp_path / odd)
    assert {segment for _, _, segment in inlinks_of(other).values()} == {f"t?wo/{ONE}"}


def test_a_linkdb_of_another_bucket_count(tmp_path: Path) -> None:
    directory = crawl_of(tmp_path / "one", ONE, FIRST)
    invert(directory)
    invert(crawl_of(tmp_path / "two", TWO, SECOND, buckets=4))
    with pytest.raises(UsageError, match=r"two has 4 buckets, and that of \S+one has 3: --rebucke"):
        merge(directory, tmp_path / "two")
    merge(directory, tmp_path / "two", rebucket=True)
    assert inlinks_of(directory) == merged_from(BOTH, {TWO: "two"})


def test_wrong_linkdbs(tmp_path: Path) -> None:
    directory = crawl_of(tmp_path / "one", ONE, FIRST)
    with pytest.raises(NoSnapshot, match="nowhere has no LinkDb yet: make it with `crawl invert"):
        merge(directory, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="one is the crawl whose LinkDb the others"):
        merge(directory, tmp_path / "one")
    with pytest.raises(UsageError, match="name at least one crawl"):
        merge(directory)


def test_a_merge_filters_and_normalizes_both_ends(tmp_path: Path) -> None:
    pages = [
        LinkingPage("HTTP://A.org/", (("http://b.org:80/", "b"), ("http://bad.org/x", ""))),
        LinkingPage("http://bad.org/", (("http://b.org/", "bad"),)),
    ]
    invert(crawl_of(tmp_path / "one", ONE, pages))
    other = CrawlDir(str(tmp_path / "all"))
    config = Config.of(
        {"urlfilter.order": ["domaindenylist"], "urlfilter.domaindenylist.rules": "bad.org"}
    )
    done = merge(other, tmp_path / "one", config=config, normalize=True, filter=True)
    assert set(inlinks_of(other)) == {("http://b.org/", "http://a.org/")}
    assert done.report.counters["dropped.filtered"] == 2


def test_the_inlinks_of_one_url(tmp_path: Path) -> None:
    directory = crawl_of(tmp_path, ONE, FIRST)
    make_parsed(directory, TWO, SECOND)
    invert(directory, crawldb__row__group__size=2, crawldb__file__rows=5)
    linkdb = linkdb_of(directory)
    snapshot = linkdb.require_current()
    for url in {url for url, _ in BOTH}:
        rows = inlinks_of_url(linkdb.folder, snapshot, url).to_pylist()
        links = {source: value for (target, source), value in BOTH.items() if target == url}
        best_first = sorted(links, key=lambda source: (-links[source][1], source))
        assert [row["from_url"] for row in rows] == best_first
        assert {row["from_url"]: row["anchor"] for row in rows} == {
            source: anchor for source, (anchor, _, _) in links.items()
        }
    assert inlinks_of_url(linkdb.folder, snapshot, "http://h0.org/none").num_rows == 0


@pytest.mark.parametrize("buckets", [3, 6])
def test_the_inlinks_of_a_bucket_in_order(tmp_path: Path, buckets: int) -> None:
    directory = crawl_of(tmp_path, ONE, FIRST)
    make_parsed(directory, TWO, SECOND)
    invert(directory, crawldb__row__group__size=2, crawldb__file__rows=5)
    stored = StoredInlinks.current(directory)
    assert stored is not None
    found: dict[tuple[str, str], str] = {}
    for bucket in range(buckets):
        tables = list(stored.of_bucket(bucket, buckets))
        rows = pa.concat_tables([INLINKS.empty_table(), *tables]).to_pylist()
        urls = [row["url"] for row in rows]
        assert urls == sorted(set(urls), key=str.encode)
        assert {bucket_of(host_of(url) or "", buckets) for url in urls} <= {bucket}
        for row in rows:
            for link in row["inlinks"]:
                found[row["url"], link["from_url"]] = link["anchor"]
        if len(urls) > 2:
            tables = list(stored.of_bucket(bucket, buckets, urls[1], urls[-1]))
            within = pa.concat_tables(tables)["url"].to_pylist()
            assert within == urls[1:-1]
    assert found == {key: anchor for key, (anchor, _, _) in BOTH.items()}
    with pytest.raises(UsageError, match="3 buckets and the CrawlDb 4, which is no multiple"):
        list(stored.of_bucket(0, 4))


def test_anchors_once_for_every_host() -> None:
    def link(page: str, anchor: str) -> dict[str, Any]:
        return {"from_url": page, "anchor": anchor, "score": 1.0}

    inlinks = [
        [link("http://a/1", "x"), link("http://a/2", "x"), link("http://b/", "x")],
        [link("http://a/1", "")],
        [link("http://a/1", "x"), link("http://a/2", "y")],
    ]
    rows = pa.Table.from_pylist(
        [{"url": f"http://t/{n}", "inlinks": links} for n, links in enumerate(inlinks)], INLINKS
    )
    assert anchors_of(rows).to_pylist() == [["x", "x"], [], ["x", "y"]]


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(("job", "step"), [(invert_small_files, 1), (merge_small_files, 4)])
def test_a_writer_killed_at_its_writes(tmp_path: Path, job: Any, step: int) -> None:
    base = tmp_path / "base"
    directory = crawl_of(base, ONE, FIRST[:5])
    invert(directory)
    before = inlinks_of(directory)
    other = tmp_path / "other"
    invert(crawl_of(other, TWO, SECOND[:5]))
    make_parsed(directory, TWO, SECOND[:5])
    after = expected_inlinks({ONE: FIRST[:5], TWO: SECOND[:5]})
    if job is merge_small_files:
        after = merged_from(after, {TWO: "other"})
    kill_at_every_write(tmp_path, partial(job, other=str(other)), before, after, step)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_forced_inversion_killed_at_its_writes(tmp_path: Path) -> None:
    """The segment's links are all as before or all replaced, and another crawl's are there."""
    base = tmp_path / "base"
    directory = crawl_of(base, ONE, OURS * 2)
    invert(directory)
    invert(crawl_of(tmp_path / "two", ONE, THEIRS))
    merge(directory, tmp_path / "two")
    before = inlinks_of(directory)
    make_parsed(directory, ONE, FEWER)
    theirs = {key: value for key, value in before.items() if "/" in value[2]}
    after = {**theirs, **expected_inlinks({ONE: FEWER})}
    kill_at_every_write(tmp_path, partial(invert_again, name=ONE), before, after, step=1)


def kill_at_every_write(
    folder: Path, job: Callable[[str], None], before: Inlinks, after: Inlinks, step: int
) -> None:
    at, killed = 1, True
    while killed:
        wreck = folder / f"killed-{at}"
        shutil.copytree(folder / "base", wreck)
        killed = run_killed(job, str(wreck), at=at)
        state = CrawlDir(str(wreck))
        assert inlinks_of(state) in (before, after)
        assert not [fault for fault in check(state).faults if "copy" not in fault.path]
        with suppress(NothingToDo):  # where all was done but for the last bits
            job(str(wreck))  # what a killed one left is swept away
        assert inlinks_of(state) == after
        assert check(state, deep=True).faults == []
        at += step
    assert at > 15
