"""A CrawlDb of any size for measuring, with seeds and a segment to go with it.

The same options and seed always give the same files. A bucket is made at a time, so
memory is bounded by the largest one.
"""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import crawldb_segment
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from crawldb_columns import states
from crawldb_shape import NOW_MS, BenchClock, Shape
from crawldb_urls import hosts_of, urls_on

from crawl.config import Config
from crawl.model.report import Report
from crawl.model.tables import CRAWLDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import BucketFile
from crawl.tables.bucket_files import BucketTarget, write_bucket

SEEDS = "seeds.txt"
SEED_BUCKETS = "seed_hosts.parquet"
PROBES = "probes.parquet"
SEGMENTS = "told"
HOST_BUCKETS = "hosts.parquet"
_KNOWN_PROBES = 4
"""URLs of each bucket kept for looking up."""


@dataclass(frozen=True, slots=True)
class Made:
    """Where it is."""

    folder: Path

    @property
    def crawl(self) -> str:
        return str(self.folder / "crawl")

    @property
    def seeds(self) -> str:
        return str(self.folder / SEEDS)

    @property
    def seed_buckets(self) -> str:
        return str(self.folder / SEED_BUCKETS)

    @property
    def host_buckets(self) -> str:
        """The bucket of every host that the segment knows."""
        return str(self.folder / HOST_BUCKETS)

    @property
    def segments(self) -> str:
        """The folder with the one segment that is to be applied."""
        return str(self.folder / SEGMENTS)

    def probes(self) -> tuple[list[str], list[str]]:
        """URLs that the CrawlDb knows, and as many that it does not."""
        table = pq.read_table(self.folder / PROBES)
        known = table["known"].to_numpy(zero_copy_only=False)
        urls = np.array(table["url"].to_pylist(), dtype=object)
        return urls[known].tolist(), urls[~known].tolist()


def make(folder: Path, shape: Shape, processes: int) -> Made:
    """The data of this shape in the folder, made anew unless they are there already."""
    made, mark = Made(folder), folder / "shape.json"
    # files of another layout of buckets must not be reused either
    wanted = json.dumps({**asdict(shape), "layout": bucket_of("example.org", 1 << 16)})
    if mark.exists() and mark.read_text() == wanted:
        return made
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    crawl_dir, config, clock = CrawlDir(made.crawl), Config.of({}), BenchClock()
    report = Report("inject", clock.now_ms(), config.digest())
    with crawl_dir.writing_crawldb("bench", config, clock) as transaction:
        scratch = Folder(str(folder / "scratch"))
        task = partial(_make_bucket, shape, transaction.folder, transaction.place, scratch)
        hosts = hosts_of(shape)
        order = np.argsort(-np.bincount(hosts.bucket, hosts.counts, shape.buckets))
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            results = list(pool.map(task, order.tolist()))
        files = [file for made_bucket in results for file in made_bucket.files]
        transaction.publish(files, report, buckets=shape.buckets, keep=1)
    os.sync()  # only clean pages can be dropped from the cache, for cold reads
    told = [made_bucket.told for made_bucket in results]
    chunks, buckets = _chunks(shape), shape.buckets
    crawldb_segment.assemble(folder / SEGMENTS, scratch, told, chunks, buckets, processes)
    scratch.delete("")
    named = pa.table({"host": hosts.names.tolist(), "bucket": hosts.bucket.tolist()})
    pq.write_table(named, folder / HOST_BUCKETS)
    _write_seeds(folder, shape, results)
    _write_probes(folder, results)
    mark.write_text(wanted)
    return made


@dataclass(frozen=True, slots=True)
class _MadeBucket:
    bucket: int
    files: tuple[BucketFile, ...]
    known: list[str]
    """Seeds that the bucket has."""
    new: list[str]
    probes: list[str]
    absent: list[str]
    told: crawldb_segment.Told


def _chunks(shape: Shape) -> int:
    return -(-shape.fetched // crawldb_segment.PAGES_PER_CHUNK)


def _make_bucket(
    shape: Shape, folder: Folder, place: str, scratch: Folder, bucket: int
) -> _MadeBucket:
    pa.set_cpu_count(1)
    rng = np.random.default_rng([shape.seed, 2, bucket])
    hosts = hosts_of(shape)
    mine = np.flatnonzero(hosts.bucket == bucket)
    counts = hosts.counts[mine]
    host = np.repeat(np.arange(len(mine)), counts)
    number = np.arange(len(host)) - np.repeat(np.cumsum(counts) - counts, counts)
    prefixes = pa.array(hosts.prefixes[mine].tolist(), pa.string())
    urls = urls_on(prefixes, host, number, rng)
    order = pc.sort_indices(urls)
    urls = urls.take(order)
    names = pa.array(hosts.names[mine].tolist(), pa.string()).take(pa.array(host).take(order))
    table = pa.Table.from_arrays([urls, names, *states(len(host), rng)], schema=CRAWLDB.schema)
    target = BucketTarget(CRAWLDB, folder, place, file_rows=shape.file_rows)
    files = write_bucket(target, bucket, [table], table.num_rows)

    told = _tell(shape, scratch, table, host, counts, mine, rng)
    half = round(shape.seeds / 2 * len(host) / shape.urls)
    known = urls.take(pa.array(rng.choice(len(host), half, replace=False)))
    chosen = rng.choice(host, half)
    fresh = urls_on(prefixes, chosen, counts[chosen] + np.arange(half), rng)
    probes = urls.take(pa.array(rng.choice(len(host), _KNOWN_PROBES)))
    absent = pc.binary_join_element_wise(probes, "absent", "")
    return _MadeBucket(
        bucket,
        files,
        known.to_pylist(),
        fresh.to_pylist(),
        probes.to_pylist(),
        absent.to_pylist(),
        told,
    )


def _tell(
    shape: Shape,
    scratch: Folder,
    table: pa.Table,
    host: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    mine: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> crawldb_segment.Told:
    """The bucket's share of the segment; every new URL has about three links."""
    hosts = hosts_of(shape)
    share = len(host) / shape.urls
    chosen = rng.choice(host, 1 + round(shape.links * share) // 18)
    prefixes = pa.array(hosts.prefixes[mine].tolist(), pa.string())
    # numbers that no seed has
    fresh = urls_on(prefixes, chosen, counts[chosen] + shape.seeds + np.arange(len(chosen)), rng)
    names = pa.array(hosts.names[mine].tolist(), pa.string()).take(pa.array(chosen))
    return crawldb_segment.tell(
        scratch,
        table,
        pa.table(
            [fresh, names], schema=pa.schema([CRAWLDB.schema.field(0), CRAWLDB.schema.field(1)])
        ),
        fetched=round(shape.fetched * share),
        links=round(shape.links * share),
        chunks=_chunks(shape),
        now_ms=NOW_MS,
        rng=rng,
    )


def _write_seeds(folder: Path, shape: Shape, made: list[_MadeBucket]) -> None:
    """Known and new URLs, some twice, some with a score, in no order."""
    rng = np.random.default_rng([shape.seed, 3])
    by_bucket = sorted(made, key=lambda bucket: bucket.bucket)
    lines = [url for bucket in by_bucket for url in (*bucket.known, *bucket.new)]
    # every fiftieth of the new ones is on a host that the CrawlDb has never seen
    unseen = [f"https://www.unseen{number}.example/" for number in range(shape.seeds // 100)]
    lines = lines[: len(lines) - len(unseen)] + unseen
    again = rng.choice(len(lines), len(lines) // 100)
    lines += [lines[place] for place in again]
    scored = rng.random(len(lines)) < 0.05
    order = rng.permutation(len(lines))
    with (folder / SEEDS).open("w") as stream:
        for place in order.tolist():
            stream.write(lines[place] + ("\tnutch.score=2.5\n" if scored[place] else "\n"))
    hosts = sorted({line.split("/", 3)[2] for line in lines})
    buckets = [bucket_of(host, shape.buckets) for host in hosts]
    pq.write_table(pa.table({"host": hosts, "bucket": buckets}), folder / SEED_BUCKETS)


def _write_probes(folder: Path, made: list[_MadeBucket]) -> None:
    known = [url for bucket in made for url in bucket.probes]
    absent = [url for bucket in made for url in bucket.absent]
    table: dict[str, Any] = {
        "url": known + absent,
        "known": [True] * len(known) + [False] * len(absent),
    }
    pq.write_table(pa.table(table), folder / PROBES)
