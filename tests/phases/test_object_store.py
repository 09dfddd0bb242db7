"""Whole crawls on an S3 server end as they do on a disk, whatever goes wrong on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawl.storage.crawl_dir import CrawlDir
from tests.phases.counted_fetch import count_fetch
from tests.phases.counted_store import METHODS, CountedPhase, count_phases
from tests.phases.remote_crawls import RemoteCrawlsContract
from tests.storage import faulty_proxy, s3_server
from tests.storage.faulty_proxy import (
    PASSING,
    Fault,
    FaultyProxy,
    ProxiedRequest,
    SeededFaults,
)
from tests.storage.s3_server import S3Server, proxied

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=200), pytest.mark.timeout(900)]

WRITES_OF_A_LIFE = 80
"""More than any step needs, and nothing to do with the steps: death comes in any of them."""


@dataclass(frozen=True)
class S3Line:
    server: S3Server
    proxy: FaultyProxy

    def new_crawl(self) -> str:
        return f"{self.server.new_bucket()}/deep/crawl"

    def trouble(self, seed: int) -> None:
        self.proxy.plan = SeededFaults(seed, 0.15)

    def was_troubled(self) -> bool:
        return set(self.proxy.faults) == set(PASSING) and sum(self.proxy.faults.values()) > 20

    def calm(self) -> None:
        self.proxy.plan = faulty_proxy.faultless

    def kill(self, pid: int, death: int) -> None:
        left = WRITES_OF_A_LIFE

        def plan(request: ProxiedRequest) -> Fault | None:
            nonlocal left
            left -= request.method not in ("GET", "HEAD")
            if left > 0:
                return None
            os.kill(pid, signal.SIGKILL)  # not waited for yet: the number is still its own
            return Fault.LOST_ANSWER if death % 2 else Fault.CUT_UPLOAD

        self.proxy.plan = plan

    def unfinished(self, crawl: CrawlDir) -> list[str]:
        return self.server.uploads("/".join(crawl.address.split("/")[:3]))


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


class TestCrawls(RemoteCrawlsContract):
    @pytest.fixture(params=[1, 2])
    def seed(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)

    @pytest.fixture
    def line(self, s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Line]:
        with proxied(s3, monkeypatch) as proxy:
            yield S3Line(s3, proxy)


SIZES = [(16, 50), (64, 200)]
"""Buckets, and files of a segment."""
Sized = tuple[int, int, dict[str, CountedPhase]]
FIXED = 70
"""Locks, pointers and manifests, whatever the size."""


@pytest.fixture(scope="module", params=SIZES, ids=str)
def counted(
    s3: S3Server, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sized]:
    """Phases of a size, with what the store was asked."""
    buckets, files = request.param
    with pytest.MonkeyPatch.context() as patch, proxied(s3, patch) as proxy:
        place = tmp_path_factory.mktemp("seeds")
        yield buckets, files, count_phases(s3, proxy, place, buckets, files)


def test_updatedb_asks_for_a_file_once_and_for_a_bucket_four_times(counted: Sized) -> None:
    """However many buckets there are, a file of pages or links is one request; a bucket is read
    and written, and so are its hosts. And the report counts as the store does."""
    buckets, files, phases = counted
    updated = phases["updatedb"]
    assert updated.total <= files + 4 * buckets + FIXED, updated.counted
    engine = updated.report.engine
    assert engine is not None and engine.requests is not None
    assert updated.total - FIXED <= engine.requests <= updated.total


@pytest.mark.parametrize("phase", ["generate", "inject", "updatedb"])
def test_the_plan_knows_how_often_the_store_is_asked(counted: Sized, phase: str) -> None:
    assert_planned(counted[2][phase])


@pytest.mark.parametrize(("buckets", "parts", "chunks"), [(8, 3, 9), (16, 9, 18)])
def test_the_plan_knows_how_often_a_fetch_and_its_parse_ask(
    s3: S3Server, tmp_path: Path, buckets: int, parts: int, chunks: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, proxied(s3, patch) as proxy:
        found = count_fetch(s3, proxy, tmp_path, buckets, parts, chunks)
    assert len(found) == 2
    for phase in found.values():
        assert_planned(phase)


def assert_planned(found: CountedPhase) -> None:
    """By every method at least as often as it was, and by none much more often."""
    for method in METHODS:
        asked, planned = found.counted[method], getattr(found.planned, method)
        assert asked <= planned <= 1.15 * asked + 5, (method, asked, planned)
    assert set(found.counted) <= set(METHODS)
