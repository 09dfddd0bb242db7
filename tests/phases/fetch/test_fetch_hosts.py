"""What a fetch tells of hosts that failed: a file a part, of which the driver hears the name."""

from __future__ import annotations

import json
import shutil
from dataclasses import astuple, replace
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.interfaces.protocol import Request, Response
from crawl.model.hosts import HostState, HostTrouble, to_troubles
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.checking import check
from crawl.storage.chunks import CHUNKS, DONE
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import each_group, open_table
from crawl.storage.repair import repair
from crawl.storage.sealed import seal, unseal
from crawl.storage.segments import CONTENT, FETCH, FETCH_HOSTS, Segment
from crawl.tables.hosts import read_hosts
from crawl.tables.runner import InProcess
from tests.phases.counted_fetch import ShortAnswers
from tests.phases.counting_runner import CountingRunner
from tests.phases.fetch_jobs import LaterClock
from tests.phases.killed import Moment, run_killed, writes_of
from tests.phases.troubled import trouble, write_troubles
from tests.phases.webs import listed

PARTS = 2
CONFIG = Config.of(
    {
        "http.agent.name": "testbot",
        "plugin.protocol": ["tests.phases.fetch.test_fetch_hosts:BusyWeb"],
        "urlfilter.order": ["length"],
        "fetcher.server.delay": 0,
        "fetcher.threads.fetch": 4,
        "fetcher.progress.interval": 0.1,
        "http.robots.503.defer.visits.delay": 1,
        "http.robots.503.defer.visits.retries": 1,
    }
)


class BusyWeb(ShortAnswers):
    """Named in the configuration. Of `deaf` hosts not even robots.txt is told."""

    def fetch(self, request: Request) -> Response:
        if request.url.startswith("http://deaf"):
            return Response(request.url, 503, (), b"", sent=1.0)
        return super().fetch(request)


def fetch_it(address: str, runner: InProcess | CountingRunner | None = None) -> FetchResult:
    clock = LaterClock() if runner is None else SystemClock()
    runner = runner or InProcess(2)
    return fetch.run(runner, CrawlDir(address), CONFIG, FetchOptions(), clock)


def fetch_killed(address: str) -> None:
    fetch.run(InProcess(2), CrawlDir(address), CONFIG, FetchOptions(), SystemClock())


def busy(count: int) -> list[str]:
    return [f"http://busy{number}.org/" for number in range(count)]


def hosts_told(segment: Segment) -> dict[str, HostTrouble]:
    """By host; none is told twice."""
    manifest = segment.require(FETCH_HOSTS)
    folder = segment.part_folder(FETCH_HOSTS)
    found: list[HostTrouble] = []
    for file in manifest.files:
        with open_table(folder, file.path, size=file.bytes) as source:
            rows = [row for group in each_group(source) for row in to_troubles(group)]
        assert len(rows) == file.rows
        found += rows
    told = {each.host: each for each in found}
    assert len(told) == len(found)
    named = {file.path for file in manifest.files}
    assert {name for name in folder.names() if name.endswith(".parquet")} == named
    return told


def waiting(directory: CrawlDir) -> set[str]:
    """The hosts that the CrawlDb leaves alone."""
    names = tuple(segment.name for segment in directory.segments.generated())
    updatedb.run(InProcess(), directory, CONFIG, UpdateDbOptions(names), SystemClock())
    files = directory.require_crawldb().hosts
    states = [read_hosts(directory.crawldb.folder, file) for file in files]
    return {host for each in states for host, state in each.items() if state.wait_until}


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    return listed(str(tmp_path / "crawl"), busy(40), PARTS)[0]


@pytest.mark.slow(seconds=8)
def test_the_driver_hears_as_much_of_many_hosts_as_of_few(tmp_path: Path) -> None:
    heard = {}
    for count in (1_000, 3_000):
        directory, name = listed(str(tmp_path / str(count)), busy(count), PARTS)
        runner = CountingRunner()
        fetch_it(directory.address, runner)
        assert len(hosts_told(directory.segments.segment(name))) == count
        heard[count] = runner.steps["fetch"].result_bytes or 0
        shutil.rmtree(directory.address)
    # samples of response times are the only thing that may still grow, up to their bound
    assert heard[3_000] - heard[1_000] < 2 * 4 * 2_000


def test_each_part_has_its_file_and_its_end_names_it(directory: CrawlDir) -> None:
    done = fetch_it(directory.address)
    segment = directory.segments.segment(done.segment)
    assert len(segment.require(FETCH_HOSTS).files) == PARTS
    assert len(hosts_told(segment)) == 40
    for part in range(PARTS):
        raw = segment.folder.read(f"{CHUNKS}/part-{part:05d}/{DONE}")
        assert raw is not None and b"busy" not in raw and len(raw) < 2_000
    assert waiting(directory) == {f"busy{number}.org" for number in range(40)}


def test_a_host_of_which_two_parts_tell_has_the_worse_of_both(directory: CrawlDir) -> None:
    fetch_it(directory.address)
    later = "20990101000000"
    write_troubles(directory, later, [trouble("a.org", base_ms=7_000, gave_up=False)])
    segment = directory.segments.segment(later)
    first = segment.require(FETCH_HOSTS)
    write_troubles(directory, later, [trouble("a.org", 5, base_ms=9_000, gave_up=True)])
    second = segment.require(FETCH_HOSTS)
    segment.publish(FETCH_HOSTS, replace(first, files=first.files + second.files))
    one_way = _states_after(directory, tmp := Path(directory.address).with_name("copy"))
    segment.publish(FETCH_HOSTS, replace(first, files=second.files + first.files))
    assert _states_after(directory, tmp) == one_way
    assert one_way["a.org"].failures == 1


def _states_after(directory: CrawlDir, place: Path) -> dict[str, HostState]:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(directory.address, place)
    copy = CrawlDir(str(place))
    updatedb.run(InProcess(), copy, CONFIG, UpdateDbOptions(("20990101000000",)), LaterClock())
    files = copy.require_crawldb().hosts
    return {
        host: state
        for file in files
        for host, state in read_hosts(copy.crawldb.folder, file).items()
        if host == "a.org"
    }


def test_ends_of_a_former_release_that_have_the_rows_are_read(directory: CrawlDir) -> None:
    done = fetch_it(directory.address)
    segment = directory.segments.segment(done.segment)
    wanted = hosts_told(segment)
    _as_before_publication(segment)
    for part in range(PARTS):
        path = f"{CHUNKS}/part-{part:05d}/{DONE}"
        told = unseal(segment.folder.read(path) or b"")
        file = told.pop("host_troubles")
        with open_table(segment.part_folder(FETCH_HOSTS), file["path"]) as source:
            rows = [row for group in each_group(source) for row in to_troubles(group)]
        told["troubles"] = json.loads(json.dumps([astuple(row) for row in rows]))
        segment.folder.write(path, seal(told))
    segment.folder.delete(FETCH_HOSTS)
    assert fetch_it(directory.address).complete
    assert hosts_told(segment) == wanted


def _as_before_publication(segment: Segment) -> None:
    """As if the driver had died when all parts were done."""
    for part in (FETCH_HOSTS, FETCH, CONTENT):
        file = segment.manifest_file(part)
        for name in (file.name, file.copy):
            segment.folder.delete(name)


def test_a_file_that_is_gone_before_it_is_published_costs_its_part_alone(
    directory: CrawlDir,
) -> None:
    """Their hosts are tried again, that is all; no manifest names a file that is not there."""
    done = fetch_it(directory.address)
    segment = directory.segments.segment(done.segment)
    wanted = hosts_told(segment)
    lost = segment.require(FETCH_HOSTS).files[0]
    _as_before_publication(segment)
    segment.part_folder(FETCH_HOSTS).delete(lost.path)
    assert fetch_it(directory.address).complete
    assert len(hosts_told(segment)) == len(wanted) - lost.rows
    assert len(waiting(directory)) == len(wanted) - lost.rows
    assert not check(directory, deep=True).faults


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone"])
def test_a_damaged_file_is_told_of_and_set_aside(directory: CrawlDir, damage: str) -> None:
    done = fetch_it(directory.address)
    segment = directory.segments.segment(done.segment)
    folder = segment.part_folder(FETCH_HOSTS)
    path = Path(folder.path(segment.require(FETCH_HOSTS).files[1].path))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 3] ^= 0x40
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(raw if damage == "flipped" else raw[: len(raw) // 2])
    checked = check(directory, deep=True)
    assert [fault.path for fault in checked.faults] == [
        f"segments/{segment.name}/{FETCH_HOSTS}/{path.name}"
    ]
    repair(directory, checked, CONFIG, SystemClock())
    assert not check(directory, deep=True).faults
    assert waiting(directory) <= {f"busy{number}.org" for number in range(40)}


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=20)
def test_killed_at_every_write_of_the_files(tmp_path: Path) -> None:
    """kill -9 in child processes: as many hosts are told of as without it, each once, and no file
    is there that nobody names."""
    urls = [f"http://deaf{number}.org/" for number in range(12)]
    base, name = listed(str(tmp_path / "base"), urls, PARTS)

    def copied(number: int) -> CrawlDir:
        wreck = CrawlDir(str(tmp_path / f"killed-{number}"))
        shutil.copytree(base.address, wreck.address)
        return wreck

    kinds = writes_of(fetch_killed, copied(0).address)
    at = [Moment(kind, 1) for kind in sorted(kinds) if FETCH_HOSTS in kind or DONE in kind]
    assert len(at) > 6, sorted(kinds)
    for number, moment in enumerate(at, 1):
        wreck = copied(number)
        assert run_killed(fetch_killed, wreck.address, at=moment)
        segment = wreck.segments.segment(name)
        manifest = segment.manifest(FETCH)
        if manifest is None or not manifest.complete:
            assert fetch_it(wreck.address).complete
        told = hosts_told(segment)
        assert set(told) == {f"deaf{number}.org" for number in range(12)}
        assert not check(wreck, deep=True).faults
        shutil.rmtree(wreck.address)
