"""An executor of a real cluster dies between the senders and the receivers of updatedb's exchange,
and one between those of generate's: the rows that it held are sent again, and no others. Those of
updatedb are so few that a task works for several destinations."""

from __future__ import annotations

import os
import shutil
import signal as signals
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.cluster.held_phases import HELD, TOP_N, run_phases, signal
from tests.cluster.standalone import Cluster, Daemon, session_members, started, wait_for
from tests.cluster.submitting import ROOT, phase_and_step, read_events
from tests.phases.made import DAY, NOW, datum, make_crawldb, make_segment, records_of, urls_of
from tests.quick_jvm import quick_jvm

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=60), pytest.mark.timeout(900)]

BUCKETS = 8


def small_crawl(folder: Path) -> CrawlDir:
    """Many hosts in all buckets, with URLs that are to be normalised; and a segment of pages that
    were fetched, are gone or link to others."""
    known = {
        f"http://h{n % 40}.org/{'x/../' * (n % 3 == 0)}p{n}": datum(score=1 + n % 7)
        for n in range(800)
    }
    directory = make_crawldb(str(folder), known, buckets=BUCKETS, group_rows=50)
    pages = [url for n, url in enumerate(known) if n % 4 == 0]
    answers = [Status.FETCH_SUCCESS, Status.FETCH_GONE, Status.FETCH_RETRY]
    fetched = [
        (url, datum(status=answers[n % 3], fetch_time=NOW - DAY)) for n, url in enumerate(pages)
    ]
    links = [
        (f"http://h{n % 60}.org/p{n * 3}", datum(status=Status.LINKED, score=0.25))
        for n in range(900)
    ]
    make_segment(directory, "20260101000000", fetched, links, buckets=BUCKETS)
    return directory


def outcome(directory: CrawlDir) -> tuple[dict[str, CrawlDatum], list[str]]:
    """The CrawlDb record by record, and the list that was made of it."""
    (name,) = [segment.name for segment in directory.segments.generated()][1:]
    return records_of(directory), sorted(urls_of(directory, [name]))


def executor_of(worker: Daemon) -> tuple[int, str]:
    """The process and its number at the driver."""

    def look() -> tuple[int, str] | None:
        for pid in session_members(worker.process.pid):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            if any(word.endswith("CoarseGrainedExecutorBackend") for word in words):
                return pid, words[words.index("--executor-id") + 1]
        return None

    return wait_for(look, "an executor")


def senders(events: Iterable[dict[str, Any]], job: str) -> dict[int, str]:
    """Of the jobs of that name: the tasks that sent rows, and the executor of each."""
    stages: set[int] = set()
    found: dict[int, str] = {}
    for event in events:
        if event["Event"] == "SparkListenerJobStart" and phase_and_step(event) == job:
            stages |= set(event["Stage IDs"])
        elif event["Event"] == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            has_sent = event["Task Type"] == "ShuffleMapTask"
            if has_sent and event["Task End Reason"]["Reason"] == "Success":
                task = event["Task Info"]
                found[task["Partition ID"]] = task["Executor ID"]
    return found


def test_only_what_a_lost_executor_held_is_sent_again(tmp_path: Path, cluster: Cluster) -> None:
    """Not the worker itself dies: with that Spark would give up all rows of its host, which here
    is that of the other one, too."""
    lossless, directory = small_crawl(tmp_path / "lossless"), CrawlDir(str(tmp_path / "crawl"))
    shutil.copytree(lossless.address, directory.address)
    run_phases(InProcess(), lossless)

    place = tmp_path / "driver"
    place.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": quick_jvm(),
    }
    command = [sys.executable, "-m", "tests.cluster.held_phases"]
    driver = started([*command, cluster.master, directory.address, place], place, environment)
    lost: dict[str, str] = {}
    try:
        for step in HELD:
            sent = signal(place, step, "sent")
            wait_for(lambda s=sent: s.exists() or driver.process.poll() is not None, step)  # type: ignore[misc]
            assert sent.exists(), driver.output[-3000:]
            pid, lost[step] = executor_of(cluster.workers[0])
            os.kill(pid, signals.SIGKILL)
            signal(place, step, "go").write_text(lost[step])
        assert driver.finish() == 0, driver.output[-3000:]
    finally:
        driver.kill()

    records, selected = outcome(lossless)
    assert outcome(directory) == (records, selected)
    assert len(selected) == TOP_N < len(records)
    assert {record.status for record in records.values()} == {
        *(Status.DB_UNFETCHED, Status.DB_FETCHED, Status.DB_GONE)
    }
    events = list(read_events(place))
    for step, receiving in HELD.items():
        first, again = senders(events, step), senders(events, receiving)
        held = {task for task, executor in first.items() if executor == lost[step]}
        assert 0 < len(held) < len(first), "both have worked"
        assert again.keys() == held, step
