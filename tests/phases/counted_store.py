"""Phases on a store, with what a proxy before it has counted, and what the plan says of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.model.datum import CrawlDatum
from crawl.model.hosts import HostState
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.run import GenerateResult
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.planning import capacity
from crawl.planning.demand import Demand
from crawl.planning.store_requests import StoreRequests
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from crawl.urls.parse import host_of
from tests.phases.host_states import put_host_states
from tests.phases.made import NOW, datum, make_crawldb, make_segment, records_of
from tests.planning.figures import COSTS
from tests.storage.faulty_proxy import FaultyProxy, ProxiedRequest
from tests.storage.s3_server import S3Server

METHODS = ("put", "get", "head", "list", "delete")
_URLS = [f"http://h{number}.org/" for number in range(600)]
_PARTS = 10
_KEPT_SNAPSHOTS = 2
_SEGMENT = "20260101000000"


@dataclass(frozen=True)
class CountedPhase:
    """Requests by method, as they were counted and as they are planned."""

    counted: Counter[str]
    planned: StoreRequests
    report: Report

    @property
    def total(self) -> int:
        return self.counted.total()


def count_phases(
    s3: S3Server, proxy: FaultyProxy, place: Path, buckets: int, files: int
) -> dict[str, CountedPhase]:
    """generate, inject and updatedb on a CrawlDb in so many buckets, each of which knows of hosts;
    updatedb takes in so many files of pages and of links, and what it replaces is forgotten. No
    lock is refreshed on the way: that would depend on how long it takes."""
    directory = make_crawldb(
        f"{s3.new_bucket()}/crawl", {url: datum() for url in _URLS}, buckets=buckets
    )
    put_host_states(directory, [HostState(host_of(url) or "", "timeout", 1) for url in _URLS])
    answered = [(url, CrawlDatum(Status.FETCH_SUCCESS, NOW)) for url in _URLS[::2]]
    links = [(f"{url}{page}", CrawlDatum(Status.LINKED, NOW)) for url in _URLS for page in "ab"]
    make_segment(directory, _SEGMENT, answered, links, buckets=buckets, files=files // 2)
    found: dict[str, CountedPhase] = {}
    for name, job in _jobs(directory, place).items():
        before = len(proxy.requests)
        report = job().report
        counted = Counter(map(method_of, proxy.requests[before:]))
        found[name] = CountedPhase(counted, _planned(name, buckets, files), report)
    assert len(records_of(directory)) == 4 * len(_URLS)
    snapshot = directory.require_crawldb()
    assert len(snapshot.files) == len(snapshot.hosts) == buckets
    assert len(directory.crawldb.timeline().numbers) == _KEPT_SNAPSHOTS
    return found


def _jobs(
    directory: CrawlDir, place: Path
) -> dict[str, Callable[[], GenerateResult | CrawlDbUpdate]]:
    seeds = place / "seeds"
    seeds.write_text("".join(f"{url}seed\n" for url in _URLS))
    config = Config.of({"lock.heartbeat": 3600, "crawldb.snapshots.keep": _KEPT_SNAPSHOTS})
    clock, runner = ManualClock(NOW), InProcess()
    # of the segment that is to be applied nothing is on a list: it reserves no URL
    lists = GenerateOptions(top_n=500, num_fetchers=_PARTS)
    return {
        "generate": lambda: generate.run(
            runner, directory, config, lists, clock, resolver=lambda host: None
        ),
        "inject": lambda: inject.run(
            runner, directory, config, InjectOptions((str(seeds),)), clock
        ),
        "updatedb": lambda: updatedb.run(
            runner, directory, config, UpdateDbOptions((_SEGMENT,)), clock
        ),
    }


def method_of(request: ProxiedRequest) -> str:
    """As the plan has it, which counts as a PUT what is billed as one."""
    if request.method == "GET" and "list-type=" in request.path:
        return "list"
    return "put" if request.method == "POST" else request.method.lower()


def _planned(phase: str, buckets: int, files: int) -> StoreRequests:
    """What the plan says of a round in which a fetch writes half of the files, a chunk each, and
    its parse the other half."""
    urls, pages = len(_URLS), len(_URLS) // 2
    demand = Demand(
        urls=urls,
        hosts=urls,
        pages_per_day=pages,
        page_bytes=1,
        rounds_per_day=1,
        seeds=urls,
        snapshots=_KEPT_SNAPSHOTS,
        buckets=buckets,
        parts=_PARTS,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "PAGES_PER_CHUNK", 2 * pages / files)
        if phase == "inject":
            return capacity.inject(demand, COSTS, known_urls=urls).requests
        if phase == "generate":
            return capacity.generate(demand, COSTS).requests
        return capacity.updatedb(demand, COSTS).requests
