"""Rounds by spark-submit on a real YARN, with HDFS as the crawl's folder, come to what they come
to in local mode.

The code is in the archives that travel, and nowhere else on the cluster's nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from crawl.synthetic.web import Web, WebServer, running
from tests.cluster.later_jobs import LaterJobs
from tests.cluster.submitting import (
    ROOT,
    Package,
    Site,
    State,
    assert_as_model_has_it,
    finished,
    packaged,
    said,
)
from tests.cluster.test_spark_submit import SHAPE
from tests.cluster.third_party import NOTE
from tests.cluster.yarn import YarnCluster, running_yarn
from tests.cluster.yarn_submitting import YarnSite, stored_environment
from tests.storage.hdfs_cluster import HdfsCluster, unfinished

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=240), pytest.mark.timeout(1800)]

KILLED = ("fetch", "updatedb")


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(SHAPE)) as server:
        yield server


@pytest.fixture(scope="module")
def package() -> Package:
    return packaged()


@pytest.fixture(scope="module")
def yarn(hdfs: HdfsCluster) -> Iterator[YarnCluster]:
    with running_yarn(hdfs.address) as cluster:
        yield cluster
    assert cluster.members() == []


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, server: WebServer, package: Package) -> State:
    """Two rounds in local mode, on a disk."""
    site = Site(tmp_path_factory.mktemp("local") / "c", server.web, package)
    arguments = ("crawl", "--seeds", "seeds.txt", "--rounds", "2")
    done = site.command("run", *arguments, "--master", "local[2]")
    assert done.finish() == 0, done.output
    return site.state()


@dataclass(frozen=True)
class Rounds:
    """Two rounds on YARN: where they are, and what they came to."""

    site: YarnSite
    state: State
    first_output: str


@pytest.fixture(scope="module")
def rounds(
    tmp_path_factory: pytest.TempPathFactory,
    server: WebServer,
    package: Package,
    yarn: YarnCluster,
    hdfs: HdfsCluster,
) -> Rounds:
    """The first round in one job, whose driver is in a container, too. The second in a job a
    step, whose drivers are here, all but the first of them in one application: a container is
    killed in the middle of its fetch and one in the middle of its updatedb."""
    place = hdfs.new_folder()
    environment = stored_environment(package, f"{place}/packages")
    folder = tmp_path_factory.mktemp("yarn") / "c"
    site = YarnSite(folder, server.web, package, f"{place}/crawl", environment)
    first = site.submit_cluster(yarn, "run", "--seeds", "seeds.txt", "--rounds", "1")
    finished(first)
    finished(site.submit_client(yarn, "generate", "--num-fetchers", "2", executors=1))
    for job in KILLED:
        site.gate.shut(job)
    second = site.submit_jobs(yarn, *((job, site.crawl) for job in ("fetch", "parse", "updatedb")))
    try:
        for job in KILLED:
            yarn.kill_executor_of(site.gate.first_waiting(job))
            site.gate.open(job)
        done = said(finished(second))
    finally:
        second.kill()
    assert [code for code, _ in done.values()] == [0, 0, 0], done
    return Rounds(site, site.state(), first.output)


def test_two_rounds_are_those_of_local_mode_and_of_the_model(
    rounds: Rounds, local: State, server: WebServer
) -> None:
    """Though a container was killed in the middle of a fetch, and one in that of an updatedb."""
    assert rounds.site.parts()[:2] == [2, 2], "a part for each executor, and as many as were named"
    assert rounds.site.lost_in() == {"fetch: fetch", "updatedb: merge"}
    assert rounds.state == local
    assert_as_model_has_it(rounds.state, server.web)
    assert unfinished(rounds.site.directory.folder) == []


def test_the_driver_of_the_first_round_was_in_a_container(rounds: Rounds) -> None:
    assert "final status: SUCCEEDED" in rounds.first_output
    modes = [
        event["Spark Properties"]["spark.submit.deployMode"]
        for event in rounds.site.spark_events()
        if event["Event"] == "SparkListenerEnvironmentUpdate"
    ]
    assert modes.count("cluster") == 1 and modes.count("client") >= 2


def test_code_configuration_and_rule_files_travel(rounds: Rounds, package: Package) -> None:
    """Executors built a third party's plugin from archives that lie in their container's folder."""
    workers = [report for report in rounds.site.gate.reports("schedule") if report["spark"]]
    assert workers
    for report in [*workers, *rounds.site.gate.reports("parsefilter")]:
        assert report["code"].endswith("/nutria.zip/crawl/__init__.py")
        assert not report["code"].startswith(str(package.folder)), "a copy that Spark has sent"
        assert report["note"] == NOTE
    _, parses = rounds.state
    assert {dict(parse["metadata"])["witness"] for parse in parses.values()} == {NOTE.strip()}


def test_all_other_jobs_run_too(rounds: Rounds, yarn: YarnCluster) -> None:
    """In one application."""
    jobs = LaterJobs(rounds.site)
    lines = [*jobs.on_records(), *jobs.on_links(), *jobs.that_change_records()]
    jobs.take(rounds.site.submit_jobs(yarn, *lines, executors=1))
    known, _ = rounds.state
    jobs.assert_done(known)
    in_rounds = {"run", "generate", "fetch", "parse", "updatedb"}
    names = {path.stem for path in (ROOT / "jobs").glob("*.py")} - {"nutria"}
    assert names == in_rounds | jobs.said.keys()
