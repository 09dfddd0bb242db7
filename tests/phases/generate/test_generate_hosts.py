"""generate with bounds from the HostDb."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.errors import NoSnapshot, UsageError
from crawl.model.datum import FETCH_DELAY_KEY
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.run import GenerateResult
from crawl.phases.generate.tasks.automatic_counts import automatic_counts
from crawl.phases.generate.tasks.host_bounds import bounds_of_values, send_bounds
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.tables.exchange import BlockSource, Outbox, StoredBlocks
from crawl.tables.runner import InProcess
from crawl.tables.slices import Router
from crawl.testing.clock import ManualClock
from tests.phases.hosts import update_hosts
from tests.phases.made import NOW, datum, fetch_lists, make_crawldb, make_segment, urls_of
from tests.phases.updating import S1, fetched

RECORDS = {
    f"http://{host}/p{n}": datum(score=n) for host in ("a.org", "b.org", "c.org") for n in range(20)
}


class Given:
    """What expressions would give."""

    def __init__(self, values: dict[str, tuple[float | None, float | None]]) -> None:
        self.values = values

    def __call__(self, hostdb: Snapshot, router: Router) -> BlockSource:
        outbox = Outbox(0)
        hosts = pa.array(list(self.values), pa.string())
        counts = pa.array([count for count, _ in self.values.values()], pa.float64())
        delays = pa.array([delay for _, delay in self.values.values()], pa.float64())
        send_bounds(router, bounds_of_values(hosts, counts, delays), outbox)
        return StoredBlocks(list(outbox.blocks))


def run(
    directory: CrawlDir, settings: dict[str, object], bounding: Any = None, **options: Any
) -> GenerateResult:
    return generate.run(
        InProcess(),
        directory,
        Config.of({"urlfilter.order": [], **settings}),
        GenerateOptions(**options),
        ManualClock(NOW),
        resolver=lambda host: None,
        bounding=bounding,
    )


def taken(directory: CrawlDir, done: GenerateResult) -> Counter[str]:
    return Counter(url.split("/")[2] for url in urls_of(directory, list(done.segments)))


EXPR: dict[str, object] = {"generate.max.count.expr": "urls", "generate.max.count": 7}


@pytest.mark.parametrize("buckets", [1, 4])
def test_each_host_has_its_own_bound(tmp_path: Path, buckets: int) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS, buckets=buckets)
    update_hosts(directory)
    given = Given({"a.org": (3.4, None), "b.org": (0, None)})
    done = run(directory, EXPR, given)
    assert taken(directory, done) == {"a.org": 3, "c.org": 7}
    best = [url for url in urls_of(directory, list(done.segments)) if "a.org" in url]
    assert sorted(best) == ["http://a.org/p17", "http://a.org/p18", "http://a.org/p19"]
    assert done.report.counters["urls_skipped_per_host_overflow"] == 17 + 20 + 13


def test_negative_is_no_bound_and_null_the_usual_one(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS)
    update_hosts(directory)
    given = Given({"a.org": (-1, None), "b.org": (None, None), "c.org": (float("nan"), None)})
    done = run(directory, EXPR, given)
    assert taken(directory, done) == {"a.org": 20, "b.org": 7, "c.org": 7}


def test_bounds_hold_for_each_of_several_segments_and_below_a_top_n(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS)
    update_hosts(directory)
    given = Given({"a.org": (2, None), "b.org": (0, None)})
    done = run(directory, {**EXPR, "generate.max.count": -1}, given, max_num_segments=3, top_n=5)
    for name in done.segments:
        counts = Counter(url.split("/")[2] for url in urls_of(directory, [name]))
        assert counts["a.org"] <= 2 and counts["b.org"] == 0 and counts.total() == 5
    assert len(done.segments) == 3


@pytest.mark.parametrize("buckets", [2, 8])
def test_a_hostdb_of_another_number_of_buckets_and_a_host_in_several_files(
    tmp_path: Path, buckets: int
) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS, buckets=2)
    make_segment(directory, S1, [(url, fetched(Status.FETCH_GONE)) for url in RECORDS][:1], [])
    update_hosts(directory)
    if buckets != 2:
        rebucket.run(InProcess(), directory, Config(), RebucketOptions(buckets), ManualClock(NOW))
    settings = Config.of({"crawldb.file.rows": 4})
    updatedb.run(InProcess(), directory, settings, UpdateDbOptions(), ManualClock(NOW))
    assert len(directory.require_crawldb().files) > 8
    given = Given({"a.org": (3, 9000.0), "b.org": (1, None)})
    done = run(directory, EXPR, given)
    assert taken(directory, done) == {"a.org": 3, "b.org": 1, "c.org": 7}
    delays = {
        url.split("/")[2]: record.metadata.get(FETCH_DELAY_KEY)
        for rows in fetch_lists(directory, done.segments[0])
        for url, record in rows
    }
    assert delays == {"a.org": "9000", "b.org": None, "c.org": None}


def test_automatic_bounds_are_less_for_hosts_that_fail_or_repeat_themselves(tmp_path: Path) -> None:
    records = {
        f"http://{host}/p{n}": datum() for host in ("good.org", "bad.org") for n in range(50)
    }
    same = {
        f"http://same.org/p{n}": datum(status=Status.DB_FETCHED, signature=b"x" * 16)
        for n in range(50)
    }
    directory = make_crawldb(str(tmp_path / "c"), {**records, **same})
    rows = [(url, fetched()) for url in records if "good" in url]
    rows += [(url, fetched(Status.FETCH_RETRY, metadata={})) for url in records if "bad" in url]
    make_segment(directory, S1, rows, [])
    update_hosts(directory)
    shutil.rmtree(tmp_path / "c" / "segments")
    settings: dict[str, object] = {"generate.max.count": "auto", "generate.max.count.auto": 40}
    counts = taken(directory, run(directory, settings))
    assert counts["good.org"] == 40
    assert 1 <= counts["bad.org"] < 4
    assert 1 <= counts["same.org"] < 4


def test_without_evidence_a_host_has_all_and_no_host_has_none() -> None:
    zero, many = np.zeros(2, np.int64), np.array([0, 10**9], dtype=np.int64)
    counts = automatic_counts(100, many, many, zero, np.zeros(2), zero)
    assert counts.tolist() == [100, 1]


def test_what_the_hostdb_is_needed_for_is_one_line(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), RECORDS)
    with pytest.raises(
        NoSnapshot, match=r"^generate.max.count=auto: .* has no HostDb yet: .*updatehostdb"
    ):
        run(directory, {"generate.max.count": "auto"})
    with pytest.raises(NoSnapshot, match="^generate.fetch.delay.expr: "):
        run(directory, {"generate.fetch.delay.expr": "1"})
    for settings in ({"generate.max.count": "auto"}, {"generate.max.count.expr": "1"}):
        with pytest.raises(UsageError, match="bounds hosts, and generate.count.mode is domain"):
            run(directory, {**settings, "generate.count.mode": "domain"})
    assert taken(directory, run(directory, {})).total() == 60
