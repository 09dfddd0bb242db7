"""What passes the driver with 1,024 buckets, 2,000 tasks and 5 million hosts.

Two buckets of the crawl are there, as large as all others would be; of every step the tasks for
these two are run, and count for those of all buckets. What of a step grew with hosts, or with
tasks times buckets, would be in what they return.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.hosts import HostState
from crawl.model.records import to_table
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.tasks.collect import SELECTED
from crawl.phases.generate.tasks.lists import ListTask
from crawl.phases.generate.tasks.scan import ScanTask
from crawl.phases.generate.tasks.shards import Shard
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.phases.updatedb.tasks.bucket import UpdateDbTask, UpdateDbTaskResult
from crawl.planning import capacity
from crawl.planning.capacity import PhaseWork
from crawl.planning.demand import Demand
from crawl.storage.bucketed import write_bucketed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import BucketFile
from crawl.storage.segments import FETCH, GENERATE, PARSE, PartFile, PartManifest
from crawl.tables.bucket_files import WrittenBucket, crawldb_target, write_bucket
from crawl.tables.exchange import Outbox, Received
from crawl.tables.hosts import hosts_target, write_hosts
from crawl.tables.slices import Slice
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum
from tests.phases.sampled_runner import SampledRunner, Sampling
from tests.planning.figures import COSTS

pytestmark = [pytest.mark.slow(seconds=60), pytest.mark.exhaustive]

BUCKETS, TASKS, HOSTS = 1_024, 2_000, 5_000_000
THERE = (0, 1)
"""The buckets whose files are there."""
ROWS = 1_000_000
"""Of each bucket, as the manifest has it."""
TOP_N = 2_500_000
SEGMENT = "20260101000000"
A_TASK = 1_000
"""Bytes to a task and back: a number of 8 bytes for each of the 4,900 hosts of a bucket, or for
each of 1,024 buckets, would be several times as much."""


@lru_cache(1)
def hosts_there() -> dict[int, list[str]]:
    """The hosts, of all 5 million, whose buckets are there."""
    names = pa.array([f"h{number}.org" for number in range(HOSTS)])
    places = buckets_of(names, BUCKETS)
    return {
        bucket: sorted(strings(names.take(np.flatnonzero(places == bucket))), key=str.encode)
        for bucket in THERE
    }


@dataclass(frozen=True)
class Crawl:
    directory: CrawlDir
    config: Config

    def run(self, phase: Any, runner: SampledRunner, *given: Any, **others: Any) -> Any:
        return phase.run(runner, self.directory, self.config, *given, ManualClock(NOW), **others)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    """A CrawlDb in all buckets, and a segment of all files, most of which are only named."""
    directory, config = CrawlDir(str(tmp_path / "crawl")), Config()
    with directory.writing_crawldb("test", config, ManualClock(NOW)) as transaction:
        target = crawldb_target(transaction.folder, transaction.place, config)
        target_of_hosts = hosts_target(transaction.folder, transaction.place)
        files, hosts = [], []
        for bucket in range(BUCKETS):
            path = f"{transaction.place}/part-{bucket:05d}-1f2e3d4c.parquet"
            file = BucketFile(bucket, path, ROWS, 28 * ROWS)
            host = replace(file, path=path.replace("part-", "hosts-"), rows=4_900)
            if bucket in THERE:
                names = hosts_there()[bucket]
                rows = [(f"http://{name}/", name, datum()) for name in names]
                (written,) = write_bucket(target, bucket, [to_table(rows)], len(rows))
                file = replace(written, rows=ROWS)
                states = [HostState(name, "timeout", 1) for name in names]
                host = write_hosts(target_of_hosts, bucket, states) or host
            files.append(file)
            hosts.append(host)
        report = Report("test", NOW, "")
        transaction.publish(files, report, buckets=BUCKETS, keep=3, hosts=hosts)
    _make_segment(directory)
    return Crawl(directory, config)


def _make_segment(directory: CrawlDir) -> None:
    """One file of pages, and the others of links; the first of each is there."""
    segment = directory.segments.segment(SEGMENT)
    segment.publish(GENERATE, PartManifest((), NOW))
    names = [name for bucket in THERE for name in hosts_there()[bucket]]
    pages = [(f"http://{name}/", name, CrawlDatum(Status.FETCH_SUCCESS, NOW)) for name in names]
    links = [(f"http://{name}/x", name, CrawlDatum(Status.LINKED, NOW)) for name in names]
    # to every bucket, as any file of links has them
    links += [
        (f"http://i{number}.org/", f"i{number}.org", CrawlDatum(Status.LINKED, NOW))
        for number in range(20 * BUCKETS)
    ]
    for part, rows, count in ((FETCH, pages, 1), (PARSE, links, TASKS - 1)):
        folder = segment.part_folder(part)
        piece = write_bucketed(folder, "part-00000-00000000.parquet", to_table(rows), BUCKETS)
        files = [
            PartFile(number, piece.path if number == 0 else f"part-{number:05d}", 300_000, 10**7)
            for number in range(count)
        ]
        segment.publish(part, PartManifest(tuple(files), NOW))


# which tasks are run, and what is said of the others


def _bucket(task: Any) -> int | None:
    match task:
        case UpdateDbTask(base=base) | ScanTask(base=base):
            return base.bucket
        case Slice(bucket=bucket) | BucketFile(bucket=bucket) | Shard(number=bucket):
            return bucket
    return None


def _is_sampled(task: Any) -> bool | None:
    bucket = _bucket(task)
    return None if bucket is None else bucket in THERE


def _like(task: Any, result: Any) -> Any:
    """The same of another bucket."""
    bucket = _bucket(task) or 0
    match result:
        case UpdateDbTaskResult() | WrittenBucket():
            result = replace(result, files=_moved(result.files, bucket))
            if isinstance(result, UpdateDbTaskResult) and result.hosts is not None:
                result = replace(result, hosts=replace(result.hosts, bucket=bucket))
        case [BucketFile(), *_]:
            return list(_moved(result, bucket))
    return result


def _moved(files: Any, bucket: int) -> tuple[BucketFile, ...]:
    """Files of another bucket, or of those that it is split into."""
    return tuple(replace(file, bucket=file.bucket // BUCKETS * BUCKETS + bucket) for file in files)


def _chains(shards: int) -> Sampling:
    """Of generate: every host has a URL that is selected, and all are told of where they meet."""
    record = to_table([("http://h.org/", "h.org", datum())])
    count = HOSTS // shards

    def received(shard: int) -> Received:
        numbers = np.arange(count, dtype=np.uint64) * np.uint64(shards) + np.uint64(shard)
        rows = record.take(np.zeros(count, dtype=np.int64)).select(CRAWLDB.names)
        segments = pa.array(np.zeros(count, dtype=np.int16))
        columns = [*rows.columns, segments, pa.array(numbers), pa.array(numbers)]
        outbox = Outbox(0)
        outbox.send_all(SELECTED, pa.Table.from_arrays(columns, schema=SELECTED.schema), shard)
        return Received(block for _, block in outbox.blocks)

    def list_file(task: ListTask) -> PartFile:
        return PartFile(task.part, f"part-{task.part:05d}-1f2e3d4c.parquet", 1_250, 35_000)

    return Sampling(
        _is_sampled,
        _like,
        made_up={"generate: deal": lambda task: None, "generate: write fetch lists": list_file},
        received={"generate: collect": received},
    )


PLAIN = Sampling(_is_sampled, _like)


def _demand() -> Demand:
    return Demand(
        urls=BUCKETS * ROWS,
        hosts=HOSTS,
        pages_per_day=HOSTS,
        rounds_per_day=1,
        seeds=HOSTS,
        buckets=BUCKETS,
        parts=TASKS,
    )


def assert_planned(runner: SampledRunner, work: PhaseWork) -> None:
    """The plan says at least what was counted, and not much more."""
    assert runner.driver_bytes <= work.driver_bytes <= 1.5 * runner.driver_bytes


def assert_small(runner: SampledRunner, *but: str) -> None:
    """Whatever a task is sent and returns is about its files."""
    for step, costs in runner.steps.items():
        if step not in but:
            assert costs.tasks and costs.driver_bytes
            assert costs.driver_bytes < costs.tasks * A_TASK + 20_000, step


def test_updatedb(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = SampledRunner(PLAIN)
    done = crawl.run(updatedb, runner, UpdateDbOptions())
    assert runner.steps["updatedb: send"].tasks == TASKS
    assert runner.steps["updatedb: merge"].tasks == BUCKETS
    assert len(done.snapshot.files) == BUCKETS
    assert_small(runner)
    monkeypatch.setattr(capacity, "PAGES_PER_CHUNK", 2 * HOSTS / TASKS)
    monkeypatch.setattr(capacity, "BYTES_PER_CHUNK", 1e18)
    # of a segment whose other half are links
    assert_planned(runner, capacity.updatedb(replace(_demand(), parts=TASKS // 2), COSTS))


def test_generate(crawl: Crawl) -> None:
    runner = SampledRunner(_chains(10))
    options = GenerateOptions(top_n=TOP_N, num_fetchers=TASKS)
    done = crawl.run(generate, runner, options, resolver=_nowhere)
    (described,) = done.report.details["segments"]
    assert described["chains"] == HOSTS and len(described["parts"]) == TASKS
    steps = runner.steps
    assert steps["generate: scan"].tasks == steps["generate: assign"].tasks == BUCKETS
    assert steps["generate: write fetch lists"].tasks == TASKS
    assert_small(runner, "generate: cut", "generate: collect", "generate: deal")
    # of the hosts the longest are told, and sums of the others by slots
    told = 200_000 + 64 * TASKS + 10 * 64
    assert (steps["generate: collect"].driver_bytes or 0) < told * 40 + BUCKETS * A_TASK
    assert (steps["generate: deal"].driver_bytes or 0) < told * 16 + BUCKETS * A_TASK
    # a key of the cut is looked for among those that a task's thinned keys stand for
    step = BUCKETS * ROWS // 1_000_000
    assert (steps["generate: cut"].driver_bytes or 0) < 8 * 2 * BUCKETS * step
    assert_planned(runner, capacity.generate(_demand(), COSTS))


def test_inject(crawl: Crawl, tmp_path: Path) -> None:
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    for number, lines in enumerate(_seed_files()):
        (seeds / f"{number:05d}.txt").write_text(lines)
    runner = SampledRunner(PLAIN)
    done = crawl.run(inject, runner, InjectOptions((str(seeds),)))
    assert runner.steps["inject: read seeds"].tasks == TASKS
    assert runner.steps["inject: merge"].tasks == BUCKETS
    assert len(done.snapshot.files) == BUCKETS
    assert_small(runner)


def _seed_files() -> Iterator[str]:
    names = [name for bucket in THERE for name in hosts_there()[bucket]]
    yield "".join(f"http://{name}/seed\n" for name in names)
    for number in range(1, TASKS):
        yield f"http://s{number}.org/\n"


def test_rebucket(crawl: Crawl) -> None:
    runner = SampledRunner(PLAIN)
    snapshot = crawl.run(rebucket, runner, RebucketOptions(2 * BUCKETS))
    assert snapshot.buckets == len(snapshot.files) == len(snapshot.hosts) == 2 * BUCKETS
    assert runner.steps["rebucket: split"].tasks == BUCKETS
    assert runner.steps["rebucket: hosts"].tasks == BUCKETS
    assert_small(runner)


def _nowhere(host: str) -> str | None:
    return None
