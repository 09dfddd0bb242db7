"""Whole crawls on an HDFS end as they do on a disk, whatever dies on the way."""

from __future__ import annotations

import base64
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crawl.storage import hdfs_faults
from crawl.storage.crawl_dir import CrawlDir
from crawl.testing.web import Settings, Web, WebServer
from crawl.testing.web import running as running_web
from tests.phases.made import records_of
from tests.phases.round_jobs import HoursLater, rounds_by
from tests.phases.test_object_store import LIFE, SHAPE, State, crawled, state
from tests.phases.test_rounds_kill import assert_each_page_once
from tests.phases.test_rounds_kill import timeless as without_times
from tests.storage import cutting_proxy
from tests.storage.cutting_proxy import Cut, CuttingProxy
from tests.storage.hdfs_cluster import HdfsCluster
from tests.storage.test_hdfs import unfinished

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]


@pytest.fixture
def proxy(hdfs: HdfsCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[CuttingProxy]:
    # a busy machine starts a node slowly
    monkeypatch.setattr(hdfs_faults, "KNOWN_S", 600.0)
    with cutting_proxy.running(hdfs.port) as found:
        yield found


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    with running_web(Web(SHAPE)) as server:
        yield server


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory, web: WebServer) -> str:
    file = tmp_path_factory.mktemp("seeds") / "seeds.txt"
    file.write_text("\n".join(web.web.seeds()))
    return str(file)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory, web: WebServer, seeds: str) -> State:
    return state(crawled(str(tmp_path_factory.mktemp("disk")), seeds, web.web))


def new_crawl(proxy: CuttingProxy, hdfs: HdfsCluster) -> str:
    return f"{proxy.address}/{hdfs.new_folder().rpartition('/')[2]}/crawl"


def assert_nothing_is_left(directory: CrawlDir) -> None:
    left = directory.folder.files()
    assert not [name for name in left if "LOCK" in name or "scratch" in name or "journal/" in name]
    assert unfinished(directory.folder) == []


def test_two_rounds_end_as_on_a_disk(
    hdfs: HdfsCluster, web: WebServer, seeds: str, on_disk: State
) -> None:
    directory = crawled(f"{hdfs.new_folder()}/deep/crawl", seeds, web.web)
    assert len(on_disk[0]) > 30
    assert state(directory) == on_disk
    assert_nothing_is_left(directory)


def test_two_rounds_through_lost_messages_end_as_on_a_disk(
    hdfs: HdfsCluster, proxy: CuttingProxy, web: WebServer, seeds: str, on_disk: State
) -> None:
    kinds = list(Cut)
    proxy.follow(lambda number: kinds[number // 13 % 2] if number % 13 == 0 else None)
    directory = crawled(new_crawl(proxy, hdfs), seeds, web.web)
    assert proxy.cuts > 20
    proxy.follow(cutting_proxy.faultless)
    assert state(directory) == on_disk
    assert_nothing_is_left(directory)


def test_two_rounds_while_nodes_go_and_come_back_end_as_on_a_disk(
    hdfs: HdfsCluster, proxy: CuttingProxy, web: WebServer, seeds: str, on_disk: State
) -> None:
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
    directory = crawled(new_crawl(proxy, hdfs), seeds, web.web)
    proxy.follow(cutting_proxy.faultless)
    for event in happening:
        event.join()
    hdfs.wait()
    assert sorted(done) == ["data nodes", "name node", "name node"]
    assert state(directory) == on_disk
    assert_nothing_is_left(directory)


MESSAGES_OF_A_LIFE = 500
"""Nothing to do with the steps of a round: death comes in any of them."""


def killed(proxy: CuttingProxy, cut: Cut, *arguments: object) -> bool:
    """Runs rounds in a process that is killed with a message on its way; whether it was."""
    given = base64.b64encode(pickle.dumps(arguments)).decode()
    life = subprocess.Popen([sys.executable, "-c", LIFE, given], stderr=subprocess.PIPE)

    def plan(number: int) -> Cut | None:
        if number < MESSAGES_OF_A_LIFE:
            return None
        os.kill(life.pid, signal.SIGKILL)  # not waited for yet: the number is still its own
        return cut

    proxy.follow(plan)
    try:
        _, told = life.communicate(timeout=600)
    finally:
        proxy.follow(cutting_proxy.faultless)
        life.kill()
        life.wait()
    assert life.returncode in (0, -signal.SIGKILL), told.decode()
    return life.returncode != 0


def test_rounds_killed_in_mid_upload_again_and_again(
    hdfs: HdfsCluster, proxy: CuttingProxy, tmp_path: Path
) -> None:
    """The last message arrived or did not; the same command goes on, and nothing is missing."""
    with running_web(Web(Settings.plain(3, 24, port=0, size=500))) as web:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(web.web.seeds()))
        settings = web.web.settings
        whole = CrawlDir(str(tmp_path / "whole"))
        rounds_by(HoursLater(0), whole.address, str(seeds), settings)
        wreck = CrawlDir(new_crawl(proxy, hdfs))
        deaths = 0
        cuts = list(Cut)
        while killed(proxy, cuts[deaths % 2], deaths, wreck.address, str(seeds), settings):
            deaths += 1
            assert deaths < 30, "it does not get on"
        assert deaths >= 2, "both kinds of death were met"
        assert without_times(records_of(wreck)) == without_times(records_of(whole))
        assert_each_page_once(wreck)
        assert not [name for name in wreck.folder.files() if "LOCK" in name]
