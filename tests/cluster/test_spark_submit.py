"""Rounds by spark-submit on a real cluster come to what they come to in local mode.

The code is in the archive of scripts/package and nowhere else on the cluster's machines.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crawl.model.status import Status
from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, running
from tests.cluster.later_jobs import LaterJobs
from tests.cluster.standalone import Cluster, Submitted, bare_environment
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
from tests.cluster.third_party import NOTE

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=500), pytest.mark.timeout(1800)]

SHAPE = Settings(
    sites=8,
    seed=1,
    pages=120,
    size=1500,
    fanout=6,
    external=0.3,
    odd=0.5,
    slow=0.05,
    crawl_delay=0.05,
    # see tests/phases/test_rounds.py
    robots=tuple(kind for kind in RobotsKind if kind is not RobotsKind.AWAY),
)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(SHAPE)) as server:
        yield server


@pytest.fixture(scope="module")
def package() -> Package:
    return packaged()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, server: WebServer, package: Package) -> State:
    """Two rounds in local mode."""
    site = Site(tmp_path_factory.mktemp("local") / "c", server.web, package)
    arguments = ("crawl", "--seeds", "seeds.txt", "--rounds", "2")
    done = site.command("run", *arguments, "--master", "local[2]")
    assert done.finish() == 0, done.output
    return site.state()


@dataclass
class Rounds:
    """Two rounds by spark-submit, and what was seen on the way."""

    site: Site
    state: State
    fetchers: list[int]
    """The workers that the parts of the second fetch were on."""
    outputs: dict[str, str] = field(default_factory=dict)
    codes: dict[str, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def rounds(
    tmp_path_factory: pytest.TempPathFactory, server: WebServer, package: Package, cluster: Cluster
) -> Rounds:
    """The first round in one job, whose Python is sent, too. The second in a job a step, fetch and
    parse in one application: a third worker comes while generate waits for it, a worker dies in
    the middle of the fetch and one in the middle of the updatedb, which is submitted thrice."""
    site = Site(tmp_path_factory.mktemp("submitted") / "c", server.web, package)
    outputs: dict[str, str] = {}
    codes: dict[str, int] = {}
    a_round = ("--seeds", "seeds.txt", "--rounds", "1")
    finished(site.submit(cluster, "run", *a_round, packed=True))
    generate = site.submit(cluster, "generate", spark__cores__max=3)
    outputs["too few"] = generate.says("waiting for executors: (.*)")
    cluster.add_worker()
    finished(generate)
    site.gate.shut("first-request")
    with held(site, cluster, "fetch", "parse") as fetch:
        fetching = site.gate.waiting("first-request", 3)
        fetchers = [cluster.worker_of(pid).process.pid for pid in fetching]
        site.gate.open("first-request")
        cluster.lose(cluster.worker_of(site.gate.first_waiting("fetch")))
    assert [code for code, _ in said(finished(fetch)).values()] == [0, 0]
    with held(site, cluster, "updatedb") as first:
        dying = cluster.worker_of(site.gate.first_waiting("updatedb"))
        second = site.submit(cluster, "updatedb")
        codes["at once"], outputs["at once"] = second.finish(), second.output
        cluster.lose(dying)
    codes["first"], outputs["first"] = first.finish(), first.output
    cluster.add_worker()
    third = site.submit(cluster, "updatedb")
    codes["after"], outputs["after"] = third.finish(), third.output
    return Rounds(site, site.state(), fetchers, outputs, codes)


@contextmanager
def held(site: Site, cluster: Cluster, job: str, *then: str) -> Iterator[Submitted]:
    """The job, which is kept in its middle for as long as this lasts; and others after it."""
    site.gate.shut(job)
    jobs = [(name, site.crawl) for name in (job, *then)]
    submitted = site.submit_in_turn(cluster, *jobs) if then else site.submit(cluster, job)
    try:
        yield submitted
    except BaseException:
        submitted.kill()
        raise
    finally:
        site.gate.open(job)


def test_the_lines_to_type_are_printed(package: Package) -> None:
    lines = [line for line in package.output.splitlines() if line.startswith("spark-submit")]
    assert [line.split()[2].partition(":")[0] for line in lines] == ["spark", "yarn", "k8s"]
    for line in lines:
        arguments = line.split()
        assert arguments[arguments.index("--py-files") + 1] == str(package.code)
        assert arguments[arguments.index("--archives") + 1] == package.archive
    assert package.code.is_file() and Path(package.archive.partition("#")[0]).is_file()


def test_a_list_has_a_part_for_every_core(rounds: Rounds) -> None:
    """Nobody said how many: all workers of the first round, and of the second the one that came
    late, too."""
    # an executor may not have come yet when it is told
    assert re.match("[12] of 3 task slots, up to", rounds.outputs["too few"])
    assert rounds.site.parts()[:2] == [2, 3]
    assert len(set(rounds.fetchers)) == 3, "each part on a machine of its own"


def test_two_rounds_are_those_of_local_mode(rounds: Rounds, local: State) -> None:
    """Though a worker died in the middle of a fetch, and one in that of an updatedb."""
    assert rounds.site.lost_in() == {"fetch: fetch", "updatedb: merge"}
    assert rounds.state == local


def test_two_rounds_are_those_of_the_independent_model(rounds: Rounds, server: WebServer) -> None:
    assert_as_model_has_it(rounds.state, server.web)


def test_the_web_was_worth_it(local: State) -> None:
    records, parses = local
    assert {record.status for record in records.values()} >= {
        *(Status.DB_UNFETCHED, Status.DB_FETCHED, Status.DB_GONE, Status.DB_REDIR_TEMP),
    }
    assert len(parses) > 30


def test_code_configuration_and_rule_files_travel(rounds: Rounds, package: Package) -> None:
    """Executors built a third party's plugin from archives; their Python has none of ours."""
    alone = subprocess.run(
        [package.python, "-c", "import pyarrow, crawl"],
        cwd=rounds.site.gate.folder,  # the crawl itself is called crawl
        env=bare_environment(rounds.site.folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named 'crawl'" in alone.stderr
    workers = [report for report in rounds.site.gate.reports("schedule") if report["spark"]]
    assert workers
    for report in workers:
        assert "/nutria.zip/" in report["code"]
        assert not report["code"].startswith(str(package.folder)), "a copy that Spark has sent"
        assert report["note"] == NOTE


def test_pages_are_parsed_in_a_child_of_the_executor(rounds: Rounds, package: Package) -> None:
    reports = rounds.site.gate.reports("parsefilter")
    assert reports
    for report in reports:
        assert not report["spark"]
        assert report["code"].endswith("/nutria.zip/crawl/__init__.py")
        assert not report["code"].startswith(str(package.folder)), "not on the driver"
    _, parses = rounds.state
    assert {dict(parse["metadata"])["witness"] for parse in parses.values()} == {NOTE.strip()}


def test_a_job_submitted_twice_is_refused_or_has_nothing_to_do(rounds: Rounds) -> None:
    assert rounds.codes["at once"] != 0
    assert "crawldb is locked: updatedb by" in rounds.outputs["at once"]
    assert rounds.codes["first"] == 0, rounds.outputs["first"]
    assert rounds.codes["after"] != 0, "spark-submit ends with a failure where nothing was done"
    assert "crawl: nothing to apply" in rounds.outputs["after"]


def test_spark_s_pages_name_phase_and_step(rounds: Rounds) -> None:
    names = rounds.site.job_names()
    assert {"inject: read seeds", "inject: merge", "generate: collect"} <= names
    assert {"fetch: fetch", "parse: parse", "updatedb: merge"} <= names
    phases = {"inject", "generate", "fetch", "parse", "updatedb"}
    assert (
        phases
        <= {name.partition(":")[0] for name in names}
        <= {*phases, "rebucket", "readdb", "sitemap", "look at an executor"}
    )


def test_all_other_jobs_run_too(rounds: Rounds, cluster: Cluster) -> None:
    """Links and their graph are made, and all is read, beside a rebucket, which changes nothing
    that can be read; then what changes records, hosts and index."""
    site, (known, _) = rounds.site, rounds.state
    jobs = LaterJobs(site)
    beside = [
        site.submit_in_turn(cluster, *lines, spark__cores__max=1)
        for lines in (jobs.on_records(), jobs.on_links())
    ]
    for job in beside:
        jobs.take(job)
    assert site.state() == rounds.state
    jobs.take(site.submit_in_turn(cluster, *jobs.that_change_records()))
    jobs.assert_done(known)
    submitted = {"run", "generate", "fetch", "parse", "updatedb"}
    names = {path.stem for path in (ROOT / "jobs").glob("*.py")} - {"nutria"}
    assert names == submitted | jobs.said.keys()


def test_two_crawls_at_once_do_not_disturb_each_other(
    tmp_path: Path, server: WebServer, package: Package, cluster: Cluster, local: State
) -> None:
    """One by spark-submit, one by the command, which sends its own code and plugins."""
    submitting, commanding = (Site(tmp_path / name, server.web, package) for name in "ab")
    arguments = ("--seeds", "seeds.txt", "--rounds", "2")
    settings = {
        "spark.archives": package.archive,
        "spark.pyspark.python": "./environment/bin/python",
        "spark.executor.memory": "512m",
        "spark.cores.max": "1",
    }
    options = [word for item in settings.items() for word in ("-D", "=".join(item))]
    jobs = [
        submitting.submit(cluster, "run", *arguments, spark__cores__max=1),
        commanding.command("run", "crawl", *arguments, "--master", cluster.master, *options),
    ]
    try:
        for job in jobs:
            finished(job)
    finally:
        for job in jobs:
            job.kill()
    assert submitting.state() == local
    assert commanding.state() == local
    workers = [report for report in commanding.gate.reports("schedule") if report["spark"]]
    assert workers and all("/nutria-code.zip/" in report["code"] for report in workers)


def test_a_late_worker_is_used_and_a_dead_one_is_not_waited_for(
    tmp_path: Path, server: WebServer, package: Package, cluster: Cluster
) -> None:
    """README's own line. The master still lists the two workers that died; another comes when the
    first list is being fetched."""
    workers = len(cluster.workers)
    for _ in range(2):
        cluster.add_worker()
        cluster.lose(cluster.workers[-1])
    site = Site(tmp_path / "c", server.web, package)
    job = site.submit(cluster, "run", "--seeds", "seeds.txt", "--rounds", "2")
    try:
        job.says("run: (fetch)")
        cluster.add_worker()
        finished(job)
    finally:
        job.kill()
        for surplus in cluster.workers[workers:]:
            cluster.lose(surplus)
    assert site.parts() == [workers, workers + 1]
    waited_for = {int(slots) for slots in re.findall(r"of (\d+) task slots", job.output)}
    assert waited_for <= {workers, workers + 1}, job.output[-4000:]


class TestFaults:
    """One clear line, and soon."""

    @pytest.fixture
    def site(self, tmp_path: Path, server: WebServer, package: Package) -> Site:
        return Site(tmp_path / "c", server.web, package)

    def last_line(self, job: Submitted) -> str:
        assert job.finish() != 0
        lines = [line for line in job.output.splitlines() if line.startswith("crawl: ")]
        assert "Traceback" not in job.output
        return lines[-1]

    def test_no_master_answers(self, site: Site, tmp_path: Path) -> None:
        nowhere = Cluster(tmp_path, "spark://127.0.0.1:1")
        message = self.last_line(site.submit(nowhere, "inject", "seeds.txt"))
        assert message == "crawl: no Spark master answers at 127.0.0.1:1"

    def test_the_code_was_not_sent(self, site: Site, cluster: Cluster, tmp_path: Path) -> None:
        python = site.package.python
        site.package = Package(tmp_path, "")
        site.package.python.parent.mkdir(parents=True)
        site.package.python.symlink_to(python)
        message = self.last_line(site.submit(cluster, "inject", "seeds.txt"))
        assert message.startswith("crawl: this Python has no ")
        assert "scripts/package" in message

    def test_there_is_no_such_archive(self, site: Site, cluster: Cluster) -> None:
        job = site.submit(cluster, "inject", "seeds.txt", spark__archives="no.tar.gz#environment")
        message = self.last_line(job)
        assert message.startswith("crawl: Spark did not start: there is no ")
        assert "/no.tar.gz;" in message
