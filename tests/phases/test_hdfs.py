"""Whole crawls on an HDFS end as they do on a disk, whatever dies on the way."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.filesystems import hdfs_errors
from crawl.synthetic.web import WebServer
from tests.phases.remote_crawls import RemoteCrawlsContract, State, crawled
from tests.storage import cutting_proxy
from tests.storage.cutting_proxy import Cut, CuttingProxy
from tests.storage.hdfs_cluster import HdfsCluster, unfinished

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=300), pytest.mark.timeout(1200)]

MESSAGES_OF_A_LIFE = 500
"""Nothing to do with the steps of a round: death comes in any of them."""
CUTS = tuple(Cut)
EVERY = 37
"""Of so many messages one is lost, and waited out for a second: a crawl has two thousand. That any
may be lost is shown one by one in tests/storage/filesystems/test_hdfs.py."""


@dataclass(frozen=True)
class HdfsLine:
    cluster: HdfsCluster
    proxy: CuttingProxy

    def new_crawl(self) -> str:
        return f"{self.proxy.address}/{self.cluster.new_folder().rpartition('/')[2]}/deep/crawl"

    def trouble(self, seed: int) -> None:
        self.proxy.follow(
            lambda number: CUTS[(number // EVERY + seed) % 2] if number % EVERY == 0 else None
        )

    def was_troubled(self) -> bool:
        return self.proxy.cuts > 30

    def calm(self) -> None:
        self.proxy.follow(cutting_proxy.faultless)

    def kill(self, pid: int, death: int) -> None:
        def plan(number: int) -> Cut | None:
            if number < MESSAGES_OF_A_LIFE:
                return None
            os.kill(pid, signal.SIGKILL)  # not waited for yet: the number is still its own
            return CUTS[death % 2]

        self.proxy.follow(plan)

    def unfinished(self, crawl: CrawlDir) -> list[str]:
        return unfinished(crawl.folder)


class TestCrawls(RemoteCrawlsContract):
    patience_s = 600
    sweeps_after_deaths = False  # here every file is an upload, and most folders have no lock

    @pytest.fixture
    def seed(self) -> int:
        return 1  # every loss is waited out: once is enough

    @pytest.fixture
    def line(self, hdfs: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[HdfsLine]:
        # a busy machine starts a node slowly
        monkeypatch.setattr(hdfs_errors, "KNOWN_S", 600.0)
        with cutting_proxy.running(hdfs.port) as proxy:
            yield HdfsLine(hdfs, proxy)

    def test_two_rounds_while_nodes_go_and_come_back_end_as_on_a_disk(
        self, line: HdfsLine, shaped_web: WebServer, shaped_seeds: str, on_disk: State
    ) -> None:
        hdfs, proxy = line.cluster, line.proxy
        done: list[str] = []

        def name_node() -> None:
            hdfs.kill_name_node()
            hdfs.start_name_node()
            done.append("name node")

        def data_nodes() -> None:
            for number in (0, 1):
                hdfs.kill_data_node(number)
            for number in (0, 1):
                hdfs.start_data_node(number)
            done.append("data nodes")

        events: dict[int, Callable[[], None]] = {60: name_node, 160: data_nodes, 300: name_node}
        happening: list[threading.Thread] = []

        def plan(number: int) -> Cut | None:
            # one after the other, and only while the crawl goes on
            if number in events:
                happening.append(threading.Thread(target=events[number]))
                happening[-1].start()
            return None

        proxy.follow(plan)
        crawl = crawled(line.new_crawl(), shaped_seeds, shaped_web.web)
        line.calm()
        for event in happening:
            event.join()
        hdfs.wait()
        assert sorted(done) == ["data nodes", "name node", "name node"]
        self.assert_as_on_disk(line, crawl, on_disk)
