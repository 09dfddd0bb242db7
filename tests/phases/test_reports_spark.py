"""dust, mirrors, statistics, explained expressions and dedup with evidence on Spark: what they find
in this process they find there too."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crawl.config import Config
from crawl.model.derived_tables import HOSTDB
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.dust import run as dust
from crawl.phases.dust.rules import DustBounds
from crawl.phases.mirrors import run as mirrors
from crawl.phases.mirrors.rules import MirrorBounds
from crawl.readers.webstats import run as statistics
from crawl.readers.webstats.options import NameKind
from crawl.spark.host_bounds import values_of_host
from crawl.spark.tasks import SparkRunner
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.dedup.test_dedup_redirects import add_refreshes
from tests.phases.dusty import crawl_of
from tests.phases.hosts import update_hosts
from tests.phases.made import NOW, records_of

pytestmark = [pytest.mark.spark, pytest.mark.slow(seconds=25)]


def test_spark_finds_the_same(spark: SparkSession, tmp_path: Path) -> None:
    contents = {}
    for n in range(30):
        contents[f"http://www.a.test/p{n}"] = contents[f"http://a.test/p{n}"] = f"a{n}"
        for sid in range(3):
            contents[f"http://b.test/p{n}?sid={n}{sid}"] = f"b{n}"
    contents["http://b.test/old"] = "gone elsewhere"
    directory = crawl_of(str(tmp_path / "crawl"), contents)
    add_refreshes(directory, {"http://b.test/old": "http://a.test/p1"})
    state = directory.require_crawldb()
    here, there = InProcess(), SparkRunner(spark, quiet=True)

    rules = dust.run(there, directory, state, DustBounds(), [])
    assert rules == dust.run(here, directory, state, DustBounds(), [])
    assert [each.host for each in rules.rules] == ["b.test"]

    copies = mirrors.run(there, directory, state, MirrorBounds())
    assert copies == mirrors.run(here, directory, state, MirrorBounds())
    assert len(copies.mirrors) == 1

    names = statistics.count_names(there, directory, state, NameKind.DOMAIN, 5)
    assert asdict(names) == asdict(
        statistics.count_names(here, directory, state, NameKind.DOMAIN, 5)
    )
    assert statistics.count_answers(there, directory, state) == statistics.count_answers(
        here, directory, state
    )
    files = statistics.parse_files(directory.segments.generated())
    links = statistics.count_links(there, files, 5)
    assert links == statistics.count_links(here, files, 5)

    update_hosts(directory)
    given = {
        "generate.max.count.expr": "urls - 1",
        "generate.fetch.delay.expr": "nullif(failed, 0)",
    }
    hostdb = directory.dataset(HOSTDB).require_current()
    assert values_of_host(spark, directory, given, hostdb, "a.test") == (29.0, None)
    assert values_of_host(spark, directory, given, hostdb, "nobody.test") == (None, None)

    other = crawl_of(str(tmp_path / "other"), contents)
    add_refreshes(other, {"http://b.test/old": "http://a.test/p1"})
    options = DedupOptions(redirects=True)
    done = dedup.run(there, directory, Config(), options, ManualClock(NOW))
    dedup.run(here, other, Config(), options, ManualClock(NOW))
    assert records_of(directory) == records_of(other)
    assert done.report.counters["redirects"] == 1
