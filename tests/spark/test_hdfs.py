"""Spark's workers, the reader of the CrawlDb and Spark's own reader on an HDFS."""

from __future__ import annotations

import getpass
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.test_object_store import INJECT_AND_READ
from tests.storage.hdfs_cluster import HdfsCluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

# Spark has the client of HDFS itself: it reads the files that a manifest names
READ_BY_SPARK = """
    files = CrawlDir(address).crawldb.require_current().files
    paths = [CrawlDir(address).crawldb.folder.path(file.path) for file in files]
    print(json.dumps(sorted(row.url for row in spark.read.parquet(*paths).select("url").collect())))
finally:
"""


def test_spark_writes_and_reads_a_crawldb(hdfs: HdfsCluster, tmp_path: Path) -> None:
    urls = [f"http://h{number % 4}.org/p{number:02d}" for number in range(40)]
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(urls))
    address = f"{hdfs.new_folder()}/crawl"
    code = INJECT_AND_READ.replace("finally:\n", READ_BY_SPARK.lstrip("\n"))
    done = subprocess.run(
        [sys.executable, "-c", code, address, str(seeds), str(tmp_path / "spark.log")],
        env={**os.environ, "HADOOP_USER_NAME": getpass.getuser()},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    by_source, by_spark = (json.loads(line) for line in done.stdout.splitlines()[-2:])
    assert by_source == {address: sorted(urls)}
    assert by_spark == sorted(urls)
