"""Shared by all tests: the order of the layers, the one small Spark session, the one HDFS."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

import tests.in_memory
import tests.no_power_cut  # noqa: F401 - by being loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from crawl.synthetic.wicked import WickedServer
    from tests.storage.hdfs_cluster import HdfsCluster


# how long an example takes says more about the machine than about the code
settings.register_profile("quick", deadline=None, max_examples=20)
# CI's: not an option of pytest, which an inner pytest with other profiles would be given too.
# The same examples for the same tests: what CI says of a commit, it says again.
settings.register_profile("thorough", deadline=None, max_examples=100, derandomize=True)
# by hand, after a change to what property tests watch: other examples each time, and many
settings.register_profile("hunt", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("PROPERTY_TESTS", "quick"))

# a runner that starts us in the background has us ignore Ctrl-C, which is tested too
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Quick tests first; of the others the longest, so that no worker is alone with one at last."""

    def is_quick(item: pytest.Item) -> bool:
        return not any(map(item.get_closest_marker, ("spark", "slow", "cluster", "exhaustive")))

    def seconds(item: pytest.Item) -> int:
        slow = item.get_closest_marker("slow")
        return slow.kwargs.get("seconds", 0) if slow else 0

    items.sort(key=lambda item: (not is_quick(item), -seconds(item)))


class _ByServer(LoadFileScheduling):  # type: ignore[misc]
    """What a file has set up is shared by its tests, and a store or cluster by all that need it."""

    def _split_scope(self, nodeid: str) -> str:
        for server, words in {
            "hdfs": ("hdfs", "test_yarn"),
            "s3": ("[s3", "test_s3", "object_store"),
            "cassandra": ("cassandra",),
            "kafka": ("service/kafka/",),
            "standalone": ("test_spark_submit", "test_lost_blocks"),
        }.items():
            if any(word in nodeid for word in words):
                return server
        return str(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByServer | None:
    return _ByServer(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores, as tests wait for others; two more where they wait for servers
    and processes."""
    return (os.cpu_count() or 1) + (2 if config.getvalue("dist") == "loadfile" else 1)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable() -> Generator[None, Any, Any]:
    """What a worker sends to the process that prints it is UTF-8, whatever a test met with."""
    return _encodable((yield))


def _encodable(data: Any) -> Any:
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(data, dict):
        return {_encodable(key): _encodable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(_encodable, data))
    return data


@pytest.fixture
def usual_hangup() -> Iterator[None]:
    """Who tests under nohup ignores SIGHUP, and so would all that a test starts."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests marked `spark`: a JVM takes seconds, a test must not."""
    from crawl.config import Config
    from crawl.spark.session import open_session

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    session = open_session("tests", Config.of({}), master="local[2]", log_file=log)
    try:
        yield session
    finally:
        session.stop()


@pytest.fixture(scope="session")
def wicked() -> Iterator[WickedServer]:
    """One wicked server for all tests: its bombs take a second to make."""
    from crawl.synthetic.wicked import running_wicked

    with running_wicked() as server:
        yield server


@pytest.fixture(scope="session")
def hdfs() -> Iterator[HdfsCluster]:
    """One cluster for all tests; everyone has a folder of its own."""
    from tests.storage import hdfs_cluster

    with hdfs_cluster.running() as cluster:
        yield cluster
