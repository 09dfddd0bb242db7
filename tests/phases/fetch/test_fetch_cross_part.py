"""Hosts whose robots.txt is on a server of another part: the driver hears the names of files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.fetcher.output.part_end import read_cross_part
from crawl.interfaces.protocol import Request, Response
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.run import FetchResult
from crawl.storage.chunks import CHUNKS, CROSS_PART, DONE, Piece
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.sealed import seal, unseal
from crawl.storage.segments import CONTENT, FETCH, Segment
from crawl.tables.runner import InProcess
from tests.phases.counted_fetch import ShortAnswers
from tests.phases.counting_runner import CountingRunner
from tests.phases.fetch_commands import assert_one_record_each
from tests.phases.fetch_jobs import LaterClock
from tests.phases.webs import listed

PARTS = 2
CONFIG = Config.of(
    {
        "http.agent.name": "testbot",
        "plugin.protocol": ["tests.phases.fetch.test_fetch_cross_part:HostingService"],
        "urlfilter.order": ["length"],
        "fetcher.server.delay": 0,
        "fetcher.threads.fetch": 4,
        "fetcher.progress.interval": 0.1,
    }
)


class HostingService(ShortAnswers):
    """Named in the configuration. All blogs have the robots.txt of the hub, which is a host of
    one of the parts."""

    def fetch(self, request: Request) -> Response:
        if request.url.startswith("http://blog") and request.url.endswith("/robots.txt"):
            location = ("Location", "http://hub.org/robots.txt")
            return Response(request.url, 301, (location,), b"", sent=1.0)
        return super().fetch(request)


def urls(count: int) -> list[str]:
    return ["http://hub.org/", *(f"http://blog{number}.org/" for number in range(count))]


def fetch_it(directory: CrawlDir, runner: InProcess | CountingRunner | None = None) -> FetchResult:
    clock = LaterClock() if runner is None else SystemClock()
    return fetch.run(runner or InProcess(2), directory, CONFIG, FetchOptions(), clock)


@pytest.mark.slow(seconds=8)
def test_the_driver_hears_as_much_of_many_hosts_as_of_few(tmp_path: Path) -> None:
    heard = {}
    for count in (1_000, 3_000):
        directory, name = listed(str(tmp_path / str(count)), urls(count), PARTS)
        runner = CountingRunner()
        done = fetch_it(directory, runner)
        assert done.complete and done.report.counters["fetch_success"] == count + 1
        assert_one_record_each(directory, name, urls(count))
        assert not directory.segments.segment(name).folder.exists(CROSS_PART)
        costs = runner.steps["fetch"]
        assert costs.tasks == PARTS + 1
        heard[count] = (costs.result_bytes or 0) + (costs.task_bytes or 0)
        shutil.rmtree(directory.address)
    # samples of response times are the only thing that may still grow, up to their bound
    assert heard[3_000] - heard[1_000] < 2 * 4 * 2_000


def _as_when_the_parts_were_done(segment: Segment) -> None:
    """As if the driver had died before the part of all others."""
    for part in (FETCH, CONTENT):
        file = segment.manifest_file(part)
        for name in (file.name, file.copy):
            segment.folder.delete(name)
    for name in segment.folder.names(f"{CHUNKS}/part-{PARTS:05d}"):
        segment.folder.delete(f"{CHUNKS}/part-{PARTS:05d}/{name}")


@pytest.mark.parametrize("end", ["named", "lost", "damaged", "rows", "authorities alone"])
def test_ends_of_parts_are_read_again(
    tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of former releases, which have the rows; and a file that cannot be read has its
    part looked at again, for no other task knows its hosts."""
    directory, name = listed(str(tmp_path / "crawl"), urls(20), PARTS)
    segment = directory.segments.segment(name)
    with monkeypatch.context() as patch:
        patch.setattr(fetch, "CROSS_PART", "crawl_fetch/nothing")  # which is not deleted
        assert fetch_it(directory).complete
    _as_when_the_parts_were_done(segment)
    told = 0
    for part in range(PARTS):
        path = f"{CHUNKS}/part-{part:05d}/{DONE}"
        content = unseal(segment.folder.read(path) or b"")
        assert "strays" not in content
        if content["cross_part"] is None:
            continue
        told += 1
        piece = Piece(**content["cross_part"])
        file = segment.folder.child(CROSS_PART)
        if end == "lost":
            file.delete(piece.path)
        elif end == "damaged":
            file.write(piece.path, b"PAR1 and not much more PAR1")
        elif end != "named":
            rows = read_cross_part(segment.folder, [piece])
            assert set(rows.values()) == {"http://hub.org/robots.txt"}
            file.delete(piece.path)
            del content["cross_part"]
            content["strays"] = rows if end == "rows" else sorted(rows)
            segment.folder.write(path, seal(content))
    assert told == 1
    done = fetch_it(directory)
    assert done.complete and done.report.counters["fetch_success"] == 21
    assert_one_record_each(directory, name, urls(20))
    assert not segment.folder.exists(CROSS_PART)
