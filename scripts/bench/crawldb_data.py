"""A CrawlDb of any size for measuring: hosts by a power law, one of them a giant.

The same options and seed always give the same files. A bucket is made at a time, so
memory is bounded by the largest one.
"""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import crawldb_segment
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB, METADATA
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import open_writer
from crawl.storage.snapshot import BucketFile

NOW_MS = 1_794_700_800_000
"""The benchmark's now (2026-11-15): data and runs agree on it."""

DAY_MS = 86_400_000
VERSION = 4
"""Raised whenever other data come out, so that no older files are reused."""

SEEDS = "seeds.txt"
SEED_BUCKETS = "seed_hosts.parquet"
PROBES = "probes.parquet"
SEGMENTS = "told"
HOST_BUCKETS = "hosts.parquet"
_KNOWN_PROBES = 4
"""URLs of each bucket kept for looking up."""


class BenchClock(Clock):
    """Stands at the data's now; durations are real."""

    def now_ms(self) -> int:
        return NOW_MS

    def monotonic(self) -> float:
        return SystemClock().monotonic()


@dataclass(frozen=True, slots=True)
class Shape:
    """What to make."""

    urls: int
    hosts: int
    buckets: int
    seeds: int
    fetched: int
    links: int
    seed: int
    giant: float = 0.10
    version: int = VERSION


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
        hosts = _hosts(shape)
        order = np.argsort(-np.bincount(hosts.bucket, hosts.counts, shape.buckets))
        with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
            results = list(pool.map(task, order.tolist()))
        files = sorted((made_bucket.file for made_bucket in results), key=lambda f: f.bucket)
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
class _Hosts:
    names: npt.NDArray[np.object_]
    prefixes: npt.NDArray[np.object_]
    counts: npt.NDArray[np.int64]
    bucket: npt.NDArray[np.int32]


def _words(text: str) -> list[str]:
    return text.split()


_STARTS = _words("www www www blog news shop m forum docs en wiki static")
_STEMS = _words(
    "alpine amber atlas birch bright cedar cloud coast copper delta echo ember fern field flint "
    "forge garden harbor hazel indigo iron jade juniper kite lark lemon lime linden maple "
    "marble meadow mint north oak ocean onyx opal orbit pearl pine prairie quartz raven reef "
    "river sage shore silver slate solar spruce stone storm sun thistle tidal timber valley "
    "violet walnut willow winter zephyr"
)
_TLDS = _words("com com com com org net de co.uk fr it jp com.au io info edu")
_SECTIONS = _words(
    "article articles/archive blog category/reviews community docs/guide en/products events "
    "forum help/faq images item news news/local news/world people places posts products/detail "
    "questions recipes research services shop/catalogue sport stories tag/featured topics "
    "travel/europe users wiki"
)
_ENDINGS = {
    "": 0.38,
    ".html": 0.24,
    "/": 0.14,
    ".htm": 0.04,
    ".php": 0.03,
    "?page=2": 0.05,
    "?id=1042&lang=en": 0.04,
    ".pdf": 0.02,
    ".jpg": 0.03,
    ".css": 0.01,
    "?utm_source=feed": 0.02,
}


@cache
def _hosts(shape: Shape) -> _Hosts:
    rng = np.random.default_rng([shape.seed, 1])
    starts, first, second, tlds = (
        rng.choice(words, shape.hosts) for words in (_STARTS, _STEMS, _STEMS, _TLDS)
    )
    names = np.array(
        [
            f"{start}.{one}{two}{number if number % 3 else ''}.{tld}"
            for number, (start, one, two, tld) in enumerate(
                zip(starts, first, second, tlds, strict=True)
            )
        ],
        dtype=object,
    )
    names = np.array(_distinct(names.tolist()), dtype=object)
    schemes = np.where(rng.random(shape.hosts) < 0.93, "https://", "http://")
    giant = int(shape.urls * shape.giant)
    weights = np.arange(2.0, shape.hosts + 1.0) ** -0.9
    rest = shape.urls - giant - (shape.hosts - 1)
    counts = 1 + np.floor(weights / weights.sum() * rest).astype(np.int64)
    counts[: shape.urls - giant - int(counts.sum())] += 1
    return _Hosts(
        names,
        np.array([f"{scheme}{name}/" for scheme, name in zip(schemes, names, strict=True)], object),
        np.append(giant, counts),
        np.array([bucket_of(name, shape.buckets) for name in names], dtype=np.int32),
    )


def _distinct(names: list[str]) -> list[str]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            names[place] = name = f"{place}.{name}"
        seen.add(name)
    return names


def _urls(
    prefixes: pa.Array,
    hosts: npt.NDArray[np.int64],
    numbers: npt.NDArray[np.int64],
    rng: np.random.Generator,
) -> pa.Array:
    """URLs in normal form; no two of a host with different numbers are the same."""
    vocabulary = [""] + [
        f"{section}/{one}-{two}-{three}-"
        for section in _SECTIONS
        for one, two, three in rng.choice(_STEMS, (300, 3)).tolist()
    ]
    middle = rng.integers(1, len(vocabulary), len(hosts))
    endings = list(_ENDINGS)
    ending = rng.choice(len(endings), len(hosts), p=list(_ENDINGS.values()))
    is_home = numbers == 0
    middle[is_home] = 0
    ending[is_home] = 0
    # an odd factor makes this a permutation of all 32-bit numbers: scattered, never twice
    scattered = (numbers.astype(np.uint64) * np.uint64(2_654_435_761)).astype(np.uint32)
    identifier = pc.if_else(pa.array(is_home), "", pa.array(scattered).cast(pa.string()))
    return pc.binary_join_element_wise(
        prefixes.take(pa.array(hosts)),
        pa.array(vocabulary).take(pa.array(middle)),
        identifier,
        pa.array(endings).take(pa.array(ending)),
        "",
    )


@dataclass(frozen=True, slots=True)
class _MadeBucket:
    file: BucketFile
    known: list[str]
    """Seeds that the bucket has."""
    new: list[str]
    probes: list[str]
    absent: list[str]
    told: crawldb_segment.Told


def _chunks(shape: Shape) -> int:
    return -(-shape.fetched // crawldb_segment.PAGES_A_CHUNK)


def _make_bucket(
    shape: Shape, folder: Folder, place: str, scratch: Folder, bucket: int
) -> _MadeBucket:
    pa.set_cpu_count(1)
    rng = np.random.default_rng([shape.seed, 2, bucket])
    hosts = _hosts(shape)
    mine = np.flatnonzero(hosts.bucket == bucket)
    counts = hosts.counts[mine]
    host = np.repeat(np.arange(len(mine)), counts)
    number = np.arange(len(host)) - np.repeat(np.cumsum(counts) - counts, counts)
    prefixes = pa.array(hosts.prefixes[mine].tolist(), pa.string())
    urls = _urls(prefixes, host, number, rng)
    order = pc.sort_indices(urls)
    urls = urls.take(order)
    names = pa.array(hosts.names[mine].tolist(), pa.string()).take(pa.array(host).take(order))
    table = pa.Table.from_arrays([urls, names, *_states(len(host), rng)], schema=CRAWLDB.schema)
    path = f"{place}/{attempt_name(f'part-{bucket:05d}')}"
    with open_writer(folder, path, CRAWLDB.schema) as writer:
        writer.write(table)

    told = _tell(shape, scratch, table, host, counts, mine, rng)
    half = round(shape.seeds / 2 * len(host) / shape.urls)
    known = urls.take(pa.array(rng.choice(len(host), half, replace=False)))
    chosen = rng.choice(host, half)
    fresh = _urls(prefixes, chosen, counts[chosen] + np.arange(half), rng)
    probes = urls.take(pa.array(rng.choice(len(host), _KNOWN_PROBES)))
    absent = pc.binary_join_element_wise(probes, "absent", "")
    size = folder.size(path) or 0
    return _MadeBucket(
        BucketFile(bucket, path, len(host), size),
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
    hosts = _hosts(shape)
    share = len(host) / shape.urls
    chosen = rng.choice(host, 1 + round(shape.links * share) // 18)
    prefixes = pa.array(hosts.prefixes[mine].tolist(), pa.string())
    # numbers that no seed has
    fresh = _urls(prefixes, chosen, counts[chosen] + shape.seeds + np.arange(len(chosen)), rng)
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


def _states(rows: int, rng: np.random.Generator) -> list[pa.Array]:
    """Every column after url and host."""
    shares = {
        Status.DB_UNFETCHED: 0.60,
        Status.DB_FETCHED: 0.26,
        Status.DB_GONE: 0.04,
        Status.DB_REDIR_TEMP: 0.03,
        Status.DB_REDIR_PERM: 0.03,
        Status.DB_NOTMODIFIED: 0.03,
        Status.DB_DUPLICATE: 0.01,
    }
    status = rng.choice(np.array([int(s) for s in shares], np.int8), rows, p=list(shares.values()))
    is_new = status == int(Status.DB_UNFETCHED)
    has_page = (status == int(Status.DB_FETCHED)) | (status == int(Status.DB_NOTMODIFIED))
    hours = rng.integers(0, 45 * 24, rows)
    ahead = ~is_new & (rng.random(rows) < 0.7)
    due = NOW_MS + np.where(ahead, hours, -hours) * 3_600_000 - rng.integers(1, 3_600_000, rows)
    interval = rng.choice(
        np.array([30, 7, 1, 60], np.int32) * 86_400, rows, p=[0.8, 0.1, 0.05, 0.05]
    )
    modified = due - interval.astype(np.int64) * 1000
    retries = rng.choice(np.array([0, 1, 2], np.int16), rows, p=[0.95, 0.04, 0.01])
    score = np.where(rng.random(rows) < 0.4, 1.0, rng.exponential(0.4, rows)).astype(np.float32)
    return [
        pa.array(status),
        pa.array(due).cast(CRAWLDB.schema.field("fetch_time").type),
        pa.array(modified, mask=~has_page).cast(CRAWLDB.schema.field("modified_time").type),
        pa.array(interval),
        pa.array(retries),
        pa.array(score),
        _signatures(has_page, rng),
        _metadata(rows, rng),
    ]


def _signatures(has_page: npt.NDArray[np.bool_], rng: np.random.Generator) -> pa.Array:
    offsets = np.append(0, np.cumsum(has_page * 16)).astype(np.int32)
    validity = pa.array(has_page).buffers()[1]
    return pa.Array.from_buffers(
        pa.binary(),
        len(has_page),
        [validity, pa.py_buffer(offsets), pa.py_buffer(rng.bytes(int(offsets[-1])))],
    )


def _metadata(rows: int, rng: np.random.Generator) -> pa.Array:
    """One key in 2% of the rows; in a tenth of those it is generate's mark, old or new."""
    has_one = rng.random(rows) < 0.02
    entries = int(has_one.sum())
    kind = rng.choice(4, entries, p=[0.6, 0.3, 0.05, 0.05])
    keys = pa.array(["lang", "source", GENERATE_TIME_KEY, GENERATE_TIME_KEY])
    values = pa.array(["en", "sitemap", str(NOW_MS - DAY_MS), str(NOW_MS - 30 * DAY_MS)])
    offsets = np.append(0, np.cumsum(has_one)).astype(np.int32)
    chosen = pa.array(kind)
    return pa.MapArray.from_arrays(pa.array(offsets), keys.take(chosen), values.take(chosen)).cast(
        METADATA
    )


def _write_seeds(folder: Path, shape: Shape, made: list[_MadeBucket]) -> None:
    """Known and new URLs, some twice, some with a score, in no order."""
    rng = np.random.default_rng([shape.seed, 3])
    by_bucket = sorted(made, key=lambda bucket: bucket.file.bucket)
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
