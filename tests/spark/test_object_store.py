"""Spark's workers and its reader of the CrawlDb on an S3 server, without a Hadoop connector."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage import s3_server
from tests.storage.s3_server import S3Server

pytestmark = pytest.mark.cluster

# a session of its own: workers have the environment in which their JVM was started
INJECT_AND_READ = """
import json, sys
from pathlib import Path
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.spark.session import open_session
from crawl.spark.source import register
from crawl.spark.tasks import SparkRunner
from crawl.storage.crawl_dir import CrawlDir

address, seeds, log = sys.argv[1:]
config = Config.of({"crawldb.buckets": 3})
spark = open_session("s3", config, master="local[2]", log_file=Path(log))
try:
    runner = SparkRunner(spark, quiet=True)
    inject.run(runner, CrawlDir(address), config, InjectOptions((seeds,)), SystemClock())
    register(spark)
    found = {}
    for named in (address, address.replace("s3:", "s3a:")):
        table = spark.read.format("nutria").load(named).where("status = 'db_unfetched'")
        found[named] = sorted(row.url for row in table.select("url").collect())
    print(json.dumps(found))
finally:
    spark.stop()
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


def test_spark_writes_and_reads_a_crawldb(s3: S3Server, tmp_path: Path) -> None:
    bucket = s3.new_bucket()
    urls = [f"http://h{number % 4}.org/p{number:02d}" for number in range(40)]
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(urls))
    address = f"{bucket}/crawl"
    done = subprocess.run(
        [sys.executable, "-c", INJECT_AND_READ, address, str(seeds), str(tmp_path / "spark.log")],
        env={**os.environ, **s3.variables()},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found == {address: sorted(urls), address.replace("s3:", "s3a:"): sorted(urls)}
