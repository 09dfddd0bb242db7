"""What the HostDb makes generate allow a host, as it is explained: the same as generate does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.model.status import Status
from crawl.phases.generate.tasks.automatic_counts import automatic_counts, explained_count
from crawl.readers.explain.bounds import known_host
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from tests.examples import scaled
from tests.phases.hosts import hosts_of, update_hosts
from tests.phases.made import datum, make_crawldb, make_segment
from tests.phases.updating import S1, fetched

AUTO = {"generate.max.count": "auto", "generate.max.count.auto": 100}
NUMBERS = st.integers(0, 1000)


@pytest.fixture
def directory(tmp_path: Path) -> CrawlDir:
    """a.org answers every second time and with one page; b.org was never asked."""
    urls = [f"http://a.org/{n}" for n in range(20)]
    records = {url: datum(status=Status.DB_FETCHED, signature=b"1") for url in urls}
    directory = make_crawldb(str(tmp_path / "c"), {**records, "http://b.org/": datum()})
    answers = [
        (url, fetched(Status.FETCH_SUCCESS if n % 2 else Status.FETCH_GONE))
        for n, url in enumerate(urls)
    ]
    make_segment(directory, S1, answers, [])
    update_hosts(directory)
    return directory


def test_the_automatic_bound_is_generates(directory: CrawlDir) -> None:
    found = known_host(directory, "a.org", Config.of(AUTO))
    row = hosts_of(directory)["a.org"]
    columns = [np.array([row[name]]) for name in ("requests", "pages", "failures")]
    vain = np.array([row["failed"] + row["refused"]])
    share = np.array([row["duplicates_share"]])
    bound = automatic_counts(100, columns[0], vain, columns[1], share, columns[2])[0]
    assert found.max_count.value == bound < 100
    assert found.max_count.why.startswith("generate.max.count=auto: 100 × (answered 0.67 ×")
    assert found.values is not None and found.values["urls"] == 20
    assert known_host(directory, "b.org", Config.of(AUTO)).max_count.value == 100


@settings(max_examples=scaled(200), deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS, st.floats(0, 1), st.integers(0, 50))
def test_one_host_is_explained_as_columns_are_computed(
    requests: int, vain: int, pages: int, share: float, failures: int
) -> None:
    vain = min(vain, requests)
    asked, lost, known = (np.array([each]) for each in (requests, vain, pages))
    count, why = explained_count(1000, requests, vain, pages, share, failures)
    assert (
        count
        == automatic_counts(1000, asked, lost, known, np.array([share]), np.array([failures]))[0]
    )
    assert (count < 1000) == why.startswith("1,000 × (answered ")
    assert ("without an answer" in why) == (failures > 0)


def test_without_settings_there_is_no_bound_of_its_own(directory: CrawlDir) -> None:
    found = known_host(directory, "a.org", Config())
    assert (found.max_count.value, found.max_count.why) == (None, "generate.max.count")
    assert (found.delay_ms.value, found.delay_ms.why) == (None, "")


@pytest.mark.parametrize(
    ("given_values", "count", "delay"),
    [
        ((7.4, 1500.0), 7, 1500),
        ((None, -1.0), None, None),
    ],
)
def test_expressions(
    directory: CrawlDir, given_values: Any, count: int | None, delay: int | None
) -> None:
    config = Config.of(
        {"generate.max.count.expr": "gone", "generate.fetch.delay.expr": "urls", **AUTO}
    )

    def evaluate(hostdb: Snapshot, host: str) -> tuple[float | None, float | None]:
        assert (hostdb.number, host) == (1, "a.org")
        result: tuple[float | None, float | None] = given_values
        return result

    found = known_host(directory, "a.org", config, evaluate)
    automatic = known_host(directory, "a.org", Config.of(AUTO)).max_count.value
    assert found.max_count.value == (automatic if count is None else count)
    assert found.delay_ms.value == delay
    assert found.delay_ms.why == "generate.fetch.delay.expr: urls" + (
        "" if delay is not None else " is NULL"
    )
    left_open = known_host(directory, "a.org", config)
    assert not left_open.max_count.is_known and not left_open.delay_ms.is_known
