"""index and clean on Spark: what they make is what they make in one process."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crawl.errors import StorageError
from crawl.model.status import Status
from crawl.phases.clean import run as clean
from crawl.phases.clean.options import CleanOptions
from crawl.phases.index import run as index
from crawl.phases.index.options import IndexOptions
from crawl.phases.index.tasks.sent_notes import note_names
from crawl.spark.tasks import SparkRunner
from crawl.storage.folder import Folder
from crawl.testing.clock import ManualClock
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.phases.made import NOW
from tests.plugins.indexwriter.fake_servers import FakeBulkServer, Said


@pytest.mark.spark
def test_spark_makes_the_same_index(spark: SparkSession, tmp_path: Path) -> None:
    pages = {f"http://h{number}.com/": Page(f"text{number}") for number in range(6)}
    here, there = IndexedCrawl(tmp_path / "a"), IndexedCrawl(tmp_path / "b")
    for crawl in (here, there):
        crawl.round(pages)
    here.index()
    runner, clock = SparkRunner(spark, quiet=True), ManualClock(NOW)
    index.run(runner, there.crawl_dir, there.config, IndexOptions(), clock)
    assert here.documents() == there.documents() and len(here.documents()) == 6
    there.round({"http://h0.com/": GONE})
    clean.run(runner, there.crawl_dir, there.config, CleanOptions(), clock)
    assert set(there.documents()) == set(pages) - {"http://h0.com/"}
    index.run(runner, there.crawl_dir, there.config, IndexOptions(), clock)  # what is gone
    there.set_records({"http://h0.com/": Status.DB_NOTMODIFIED})
    index.run(runner, there.crawl_dir, there.config, IndexOptions(), clock)
    texts = [
        {url: (each["title"], each["content"], each["segment"]) for url, each in found.items()}
        for found in (here.documents(), there.documents())
    ]
    assert texts[0] == texts[1] and len(texts[0]) == 6


@pytest.mark.spark
def test_tasks_tell_a_server_and_the_next_job_what_they_sent(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A server that refuses ends the job with one line, and what it has by then is known."""
    server = FakeBulkServer()
    runner, clock = SparkRunner(spark, quiet=True), ManualClock(NOW)
    crawl = IndexedCrawl(tmp_path, "opensearch")
    crawl.round({f"http://h{number}.com/": Page(f"text{number}") for number in range(6)})
    parameters = {"url": server.address, "batch_documents": "1"}
    server.faults = [None, None, *[Said(403, {"error": {"reason": "no more"}})] * 20]
    options = IndexOptions(params=parameters)
    with pytest.raises(StorageError, match="does not let us in: 403 no more$"):
        index.run(runner, crawl.crawl_dir, crawl.config, options, clock)
    assert len(server.documents) == 2 and note_names(Folder(f"{crawl.address}/index/opensearch"))
    server.faults = []
    crawl.round({f"http://h{number}.com/": GONE for number in range(5)})
    index.run(runner, crawl.crawl_dir, crawl.config, options, clock)
    cleaned = clean.run(
        runner, crawl.crawl_dir, crawl.config, CleanOptions(params=parameters), clock
    )
    assert cleaned.documents == {"opensearch": 1}
    assert set(server.documents) == {"http://h5.com/"}
    server.stop()
