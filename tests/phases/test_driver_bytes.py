"""What passes the driver grows with tasks and buckets, and never with their product."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.planning import capacity
from crawl.planning.demand import Demand
from crawl.testing.clock import ManualClock
from tests.phases.counting_runner import CountingRunner
from tests.phases.made import NOW, datum, make_crawldb, make_segment
from tests.planning.figures import COSTS

HOSTS = 3_000
SELECTED = 1_000
PARTS = 20
A_TASK = 3_000
"""Bytes to a task and back."""

pytestmark = pytest.mark.exhaustive


def _nowhere(host: str) -> str | None:
    return None


def driver_bytes(
    place: Path, buckets: int, files: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, int]:
    """Of an updatedb that has so many files sent to so many buckets, and of a generate."""
    monkeypatch.setattr("crawl.phases.updatedb.tasks.delta._ROWS_AT_ONCE", 1)
    urls = [f"http://h{number}.org/" for number in range(HOSTS)]
    directory = make_crawldb(str(place), {url: datum() for url in urls}, buckets=buckets)
    links = [(f"{url}x", CrawlDatum(Status.LINKED, NOW)) for url in urls]
    make_segment(directory, "20260101000000", [], links, buckets=buckets, files=files)
    updating, generating, clock = CountingRunner(), CountingRunner(), ManualClock(NOW)
    updatedb.run(updating, directory, Config(), UpdateDbOptions(), clock)
    options = GenerateOptions(top_n=SELECTED, num_fetchers=PARTS)
    done = generate.run(generating, directory, Config(), options, clock, resolver=_nowhere)
    assert done.report.counters["urls_generated"] == SELECTED
    return updating.driver_bytes, generating.driver_bytes


def planned_bytes(buckets: int, files: int) -> tuple[float, float]:
    """What the plan says of the same."""
    demand = Demand(
        urls=HOSTS,
        hosts=HOSTS,
        pages_per_day=SELECTED,
        rounds_per_day=1,
        page_bytes=1,
        buckets=buckets,
        parts=PARTS,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "PAGES_PER_CHUNK", 2 * SELECTED / files)
        updated = capacity.updatedb(demand, COSTS).driver_bytes
    # the links have become URLs by then
    return updated, capacity.generate(replace(demand, urls=2 * HOSTS), COSTS).driver_bytes


@pytest.mark.slow(seconds=60)
def test_what_passes_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = driver_bytes(tmp_path / "small", 64, 200, monkeypatch)
    large = driver_bytes(tmp_path / "large", 1_024, 2_000, monkeypatch)
    # a file is a task that is sent and a result that comes back, and so is a bucket; a number
    # for each pair of them would be 16 MB
    assert large[0] - small[0] < (1_800 + 960) * A_TASK
    # of generate five steps are a bucket's
    assert large[1] - small[1] < 5 * 960 * A_TASK
    for counted, planned in ((small, planned_bytes(64, 200)), (large, planned_bytes(1_024, 2_000))):
        for passed, said in zip(counted, planned, strict=True):
            assert passed <= said <= 1.5 * passed, (counted, planned)
