"""Whole crawls on an S3 server end as they do on a disk, whatever goes wrong on the way."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from crawl.buckets.runner import InProcess
from crawl.config import Config
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.phases import updatedb
from crawl.phases.updatedb import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.testing.clock import ManualClock
from crawl.testing.servers import faulty_proxy
from crawl.testing.servers.faulty_proxy import (
    PASSING,
    Fault,
    FaultyProxy,
    ProxiedRequest,
    SeededFaults,
)
from tests.phases.made import NOW, datum, make_crawldb, make_segment, records_of
from tests.phases.remote_crawls import RemoteCrawlsContract
from tests.storage import s3_server
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


def test_updatedb_asks_for_a_file_once_and_for_a_bucket_four_times(
    s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many buckets there are, a file of links is one request; and the report counts as
    the store does."""
    buckets, files = 64, 200
    urls = [f"http://h{number}.org/" for number in range(600)]
    with proxied(s3, monkeypatch) as proxy:
        directory = make_crawldb(
            f"{s3.new_bucket()}/crawl", {url: datum() for url in urls}, buckets=buckets
        )
        assert len(directory.require_crawldb().files) == buckets
        links = [(f"{url}{page}", CrawlDatum(Status.LINKED, NOW)) for url in urls for page in "ab"]
        make_segment(directory, "20260101000000", [], links, buckets=buckets, files=files)
        seen: list[str] = []

        def look(request: ProxiedRequest) -> Fault | None:
            seen.append(request.method)
            return None

        proxy.plan = look
        done = updatedb.run(InProcess(), directory, Config(), UpdateDbOptions(), ManualClock(NOW))
        proxy.plan = faulty_proxy.faultless
        assert len(records_of(directory)) == 3 * len(urls)
    # locks, pointers and manifests, whatever the size
    assert len(seen) <= files + 4 * buckets + 70, len(seen)
    engine = done.report.engine
    assert engine is not None and engine.requests is not None
    assert len(seen) - 70 <= engine.requests <= len(seen)
