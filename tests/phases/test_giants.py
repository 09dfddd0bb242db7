"""A host with most of the URLs, and deltas of any size: whatever the bounds of files and memory,
the phases come to the same."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.model.datum import CrawlDatum
from crawl.model.dump_format import DumpFormat
from crawl.model.hosts import HostState, troubles_table
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.model.tables import FETCH_HOSTS as FETCH_HOSTS_TABLE
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.readers.readdb import run as readdb
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.repair import repair
from crawl.storage.segments import FETCH_HOSTS, PartFile, PartManifest
from crawl.tables import exchange, ranges
from crawl.tables.dump import DumpJob, RecordFilter
from crawl.tables.hosts import read_hosts
from crawl.tables.lookup import find_record
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.examples import scaled
from tests.phases.generating import run as run_generate
from tests.phases.made import NOW, datum, make_crawldb, records_of, urls_of
from tests.phases.small_files import small_files
from tests.phases.troubled import trouble
from tests.phases.updating import S1, S2, Crawl, fetched, link, signed

GIANT = "giant.org"


@contextmanager
def bounds(file_rows: int, range_bytes: int) -> Iterator[None]:
    """Bounds of files, and of rows and blocks in memory."""
    with small_files(file_rows), pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranges, "_MAX_BYTES", range_bytes)
        patch.setattr(exchange, "_MAX_IN_MEMORY", range_bytes)
        yield


LARGE = (10_000, 1 << 30)
BOUNDS = st.tuples(st.integers(1, 12), st.sampled_from([1, 300, 2000, 1 << 30]))
URLS = st.integers(0, 40).map(
    lambda n: f"http://{GIANT}/p{n:02d}" if n % 4 else f"http://h{n % 5}.org/p{n:02d}"
)
KNOWN = st.builds(
    datum,
    status=st.sampled_from([Status.DB_UNFETCHED, Status.DB_FETCHED, Status.DB_GONE]),
    score=st.integers(0, 3).map(float),
)
TOLD = st.one_of(
    st.builds(fetched, st.sampled_from([Status.FETCH_SUCCESS, Status.FETCH_GONE])),
    st.builds(link, st.sampled_from([0.25, 0.5, 1.0])),
    st.builds(signed, st.sampled_from([b"same", b"other"])),
)
SEGMENT = st.lists(st.tuples(URLS, TOLD), max_size=40)
ARE_SEPARATE = (Status.LINKED, Status.SIGNATURE)


def troubles(crawl: Crawl, segment: str, hosts: list[str]) -> None:
    """Has the segment's fetch tell that these hosts did not answer."""
    told = [trouble(host, NOW - 500) for host in hosts]
    folder = crawl.directory.segments.segment(segment).part_folder(FETCH_HOSTS)
    name = attempt_name("part-00000")
    with open_writer(folder, name, FETCH_HOSTS_TABLE.schema) as writer:
        writer.write(troubles_table(told))
    file = PartFile(0, name, len(told), folder.size(name) or 0)
    crawl.directory.segments.segment(segment).publish(FETCH_HOSTS, PartManifest((file,), NOW))


def hosts_of(directory: CrawlDir) -> dict[str, HostState]:
    found: dict[str, HostState] = {}
    for file in directory.require_crawldb().hosts:
        found.update(read_hosts(directory.crawldb.folder, file))
    return found


def counted(counters: Any) -> dict[str, int]:
    return {name: count for name, count in counters.items() if count and name != "rows_sent"}


@given(
    known=st.dictionaries(URLS, KNOWN, max_size=30),
    segments=st.lists(SEGMENT, min_size=1, max_size=2),
    failing=st.lists(st.sampled_from([GIANT, "h0.org", "h1.org"]), unique=True),
    cut=BOUNDS,
    settings_of=st.sampled_from(
        [
            {},
            {"db.update.purge.404": True},
            {"crawldb.url.normalizers": True},
            {"db.update.max.inlinks": 2},
        ]
    ),
)
@settings(max_examples=scaled(60))
def test_updatedb_comes_to_the_same_whatever_the_bounds(
    known: dict[str, CrawlDatum],
    segments: list[list[tuple[str, CrawlDatum]]],
    failing: list[str],
    cut: tuple[int, int],
    settings_of: dict[str, object],
) -> None:
    outcomes = []
    for each in (LARGE, cut):
        with tempfile.TemporaryDirectory() as folder, bounds(*each):
            crawl = Crawl(Path(folder), known, buckets=2, group_rows=3)
            for name, told in zip((S1, S2), segments, strict=False):
                fetch = [row for row in told if row[1].status not in ARE_SEPARATE]
                parse = [row for row in told if row[1].status in ARE_SEPARATE]
                crawl.segment(name, fetch, parse, buckets=2)
            if failing:
                troubles(crawl, S1, failing)
            done = crawl.update(settings={"db.host.same.pages": 2, **settings_of})
            assert check(crawl.directory, deep=True).faults == []
            outcomes.append(
                (crawl.records, hosts_of(crawl.directory), counted(done.report.counters))
            )
    assert outcomes[0] == outcomes[1]


@given(
    known=st.dictionaries(URLS, KNOWN, min_size=1, max_size=40),
    failed=st.lists(st.sampled_from([GIANT, "h0.org"]), unique=True),
    file_rows=st.integers(1, 12),
    options=st.fixed_dictionaries(
        {
            "top_n": st.none() | st.integers(1, 20),
            "max_num_segments": st.integers(1, 2),
            "num_fetchers": st.integers(1, 2),
        }
    ),
    config=st.fixed_dictionaries(
        {
            "generate.max.count": st.sampled_from([-1, 1, 4]),
            "generate.count.mode": st.sampled_from(["host", "domain"]),
            "generate.update.crawldb": st.booleans(),
        }
    ),
)
@settings(max_examples=scaled(60))
def test_generate_selects_the_same_however_buckets_are_cut(
    known: dict[str, CrawlDatum],
    failed: list[str],
    file_rows: int,
    options: dict[str, Any],
    config: dict[str, object],
) -> None:
    outcomes = []
    for rows in (10_000, file_rows):
        with tempfile.TemporaryDirectory() as folder, small_files(rows):
            crawl = Crawl(Path(folder), known, buckets=2, group_rows=3)
            if failed:
                crawl.segment(S1, [], [], buckets=2)
                troubles(crawl, S1, failed)
                crawl.update()
            later = ManualClock(NOW + 3 * 86_400_000)
            done = run_generate(crawl.directory, config, clock=later, **options)
            lists = [sorted(urls_of(crawl.directory, [name])) for name in done.segments]
            outcomes.append((lists, counted(done.report.counters), records_of(crawl.directory)))
    assert outcomes[0] == outcomes[1]


RECORDS = {f"http://{GIANT}/p{n:03d}": datum(metadata={"n": str(n)}) for n in range(60)} | {
    f"http://h{n}.org/": datum() for n in range(6)
}


@pytest.fixture
def giant(tmp_path: Path) -> Iterator[CrawlDir]:
    with small_files(10):
        yield make_crawldb(str(tmp_path / "crawl"), RECORDS)


def test_a_bucket_of_many_rows_has_several_files(giant: CrawlDir) -> None:
    snapshot = giant.require_crawldb()
    assert max(file.rows for file in snapshot.files) <= 10
    assert max(Counter(file.bucket for file in snapshot.files).values()) > 5
    assert records_of(giant) == RECORDS
    assert check(giant, deep=True).faults == []


def test_every_record_is_found_by_its_url(giant: CrawlDir) -> None:
    snapshot = giant.require_crawldb()
    for url, record in RECORDS.items():
        row = find_record(giant.crawldb.folder, snapshot, url)
        assert row is not None and list(to_records(row)) == [(url, record)]
        assert find_record(giant.crawldb.folder, snapshot, f"{url}x") is None


def test_a_dump_has_every_record_once(giant: CrawlDir, tmp_path: Path) -> None:
    output = Folder(str(tmp_path / "dump"))
    snapshot = giant.require_crawldb()
    job = DumpJob(giant.crawldb.folder, output, DumpFormat.JSON, RecordFilter())
    assert readdb.dump(job, InProcess(), snapshot) == len(RECORDS)
    lines = [line for name in output.names() for line in (output.read(name) or b"").splitlines()]
    assert len(lines) == len(set(lines)) == len(RECORDS)


def test_rebucket_keeps_every_record(giant: CrawlDir) -> None:
    rebucket.run(InProcess(), giant, Config(), RebucketOptions(8), ManualClock(NOW))
    assert records_of(giant) == RECORDS
    assert check(giant, deep=True).faults == []


def test_a_damaged_file_of_several_is_named_and_repaired(giant: CrawlDir, tmp_path: Path) -> None:
    before = giant.require_crawldb()
    with small_files(10):
        run_generate(giant, {"generate.update.crawldb": True}, top_n=5)
    new = {file.path for file in giant.require_crawldb().files} - {f.path for f in before.files}
    marked = min(new)
    file = Path(giant.crawldb.folder.path(marked))
    file.write_bytes(file.read_bytes()[:-9])
    (fault,) = check(giant).faults
    assert fault.path == f"crawldb/{marked}"
    repair(giant, check(giant), Config(), ManualClock(NOW))
    assert records_of(giant) == RECORDS
    assert check(giant).faults == []


def test_a_deep_check_finds_rows_in_the_wrong_file(giant: CrawlDir) -> None:
    snapshot = giant.require_crawldb()
    bucket = Counter(file.bucket for file in snapshot.files).most_common(1)[0][0]
    first, second = snapshot.files_of(bucket)[1:3]
    places = [Path(giant.crawldb.folder.path(file.path)) for file in (first, second)]
    contents = [place.read_bytes() for place in places]
    for place, content in zip(places, reversed(contents), strict=True):
        place.write_bytes(content)
    faults = [fault.fault for fault in check(giant, deep=True).faults]
    assert len(faults) == 2
    assert all("should begin with" in fault or "bytes" in fault for fault in faults)
