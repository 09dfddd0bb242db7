"""Crawls of the synthetic web by spark-submit on a cluster, and what they come to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.model.datum import CrawlDatum
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import GENERATE
from crawl.synthetic.web import Web
from tests.cluster.standalone import (
    PATIENCE_S,
    SPARK,
    Cluster,
    Submitted,
    bare_environment,
    started,
)
from tests.cluster.third_party import NOTE, Gate, third_party_zip
from tests.phases.made import DAY, records_of
from tests.phases.test_rounds import assert_as_predicted, parses_of, predicted
from tests.phases.webs import AGENT
from tests.quick_jvm import quick_jvm

ROOT = Path(__file__).parents[2]
State = tuple[dict[str, CrawlDatum], dict[str, dict[str, Any]]]
HELD_MS = 3_600_000
"""Longer than any of these crawls, and shorter than any interval."""


@dataclass(frozen=True)
class Package:
    """What scripts/package made."""

    folder: Path
    output: str

    @property
    def code(self) -> Path:
        return self.folder / "nutria.zip"

    @property
    def python(self) -> Path:
        return self.folder / "environment" / "bin" / "python"

    @property
    def archive(self) -> str:
        return f"{self.folder / 'environment.tar.gz'}#environment"


def packaged() -> Package:
    """Made anew, but for an environment of the same packages."""
    folder = ROOT / "dist"
    made = subprocess.run(
        [ROOT / "scripts" / "package", folder], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return Package(folder, made.stdout)


class Site:
    """One crawl: its folder, configuration, plugins, and how it is started."""

    def __init__(self, folder: Path, web: Web, package: Package, crawl: str = "crawl") -> None:
        """`crawl`: the crawl's address, or a folder in this one."""
        folder.mkdir()
        self.folder = folder
        self.crawl = crawl
        self.package = package
        self.began = SystemClock().now_ms()
        self.gate = Gate(folder / "gate")
        self.plugins = third_party_zip(folder)
        self.seeds = folder / "seeds.txt"
        self.seeds.write_text("\n".join(web.seeds()))
        self.events = folder / "events"
        self.events.mkdir()
        conf = folder / "conf"
        conf.mkdir()
        (conf / "note.txt").write_text(NOTE)
        hosts = "".join(f"{web.address(host)} {host}\n" for host in web.hosts())
        (conf / "hosts.txt").write_text(hosts)
        values = {
            "http.agent.name": AGENT,
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": "hosts.txt",
            "plugin.protocol": ["gated-http"],
            "fetcher.server.delay": 0,
            "fetcher.max.exceptions.per.queue": -1,
            "urlfilter.order": ["length"],
            "http.robots.503.defer.visits.delay": 100,
            "http.robots.503.defer.visits.retries": 1,
            "crawldb.buckets": 4,
            "db.fetch.schedule.class": "gated",
            "parsefilter.order": ["witness"],
            "gated.folder": str(self.gate.folder),
        }
        site = "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
        (conf / "crawl-site.toml").write_text(site)

    @property
    def directory(self) -> CrawlDir:
        is_elsewhere = "://" in self.crawl
        return CrawlDir(self.crawl if is_elsewhere else str(self.folder / self.crawl))

    def spark_settings(self) -> dict[str, str]:
        """Of every job, wherever it runs: small machines, and a log of what happened."""
        return {
            "spark.executor.memory": "512m",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": quick_jvm(),
            "spark.executor.extraJavaOptions": quick_jvm(),
            # a web server that nobody asks
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": self.events.as_uri(),
            # on a busy machine executors take their time
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE_S:.0f}s",
        }

    def parts(self) -> list[int]:
        """How many parts the fetch list of each segment has, oldest first."""
        segments = self.directory.segments.generated()
        return [len(segment.require(GENERATE).files) for segment in segments]

    def submit(
        self, cluster: Cluster, job: str, *arguments: str, packed: bool = False, **conf: object
    ) -> Submitted:
        """The line that scripts/package prints. Paths are relative, as people type them.

        `packed`: the executors' Python comes as an archive, too.
        """
        words = [self.crawl, *arguments, "--conf", "conf"]
        return self._submit_program(
            cluster, [str(ROOT / "jobs" / "nutria.py"), job, *words], conf, packed=packed
        )

    def submit_in_turn(self, cluster: Cluster, *jobs: Sequence[str], **conf: object) -> Submitted:
        """These jobs in one application; `said` tells what each came to."""
        return self._submit_program(cluster, self.in_turn(jobs), conf)

    def in_turn(self, jobs: Sequence[Sequence[str]]) -> list[str]:
        """The program that runs jobs in turn, and what it is given."""
        lines = self.folder / f"in-turn-{len(list(self.folder.glob('in-turn-*')))}.json"
        lines.write_text(json.dumps([[*job, "--conf", "conf"] for job in jobs]))
        program = ROOT / "tests" / "cluster" / "jobs_in_turn.py"
        return [str(path) for path in (program, ROOT / "jobs", lines)]

    def _submit_program(
        self,
        cluster: Cluster,
        program: Sequence[str],
        conf: Mapping[str, object],
        *,
        packed: bool = False,
    ) -> Submitted:
        settings = {
            "spark.pyspark.python": str(self.package.python),
            "spark.pyspark.driver.python": str(self.package.python),
            **self.spark_settings(),
            **{name.replace("__", "."): str(value) for name, value in conf.items()},
        }
        archives: list[str] = []
        if packed:
            archives = ["--archives", self.package.archive]
            settings["spark.pyspark.python"] = "./environment/bin/python"
        options = [f"--conf={name}={value}" for name, value in settings.items()]
        return started(
            [
                *(SPARK / "bin" / "spark-submit", "--master", cluster.master),
                *("--py-files", f"{self.package.code},{self.plugins}", *archives, *options),
                *program,
            ],
            self.folder,
            bare_environment(self.folder),
        )

    def command(self, *arguments: str) -> Submitted:
        """The command `crawl` of this checkout, with their plugins beside it."""
        return started(
            [sys.executable, "-m", "crawl", *arguments, "--conf", "conf"],
            self.folder,
            {
                **os.environ,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{self.plugins}",
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
        )

    def state(self) -> State:
        """All records, with their times as days from the beginning; and all parses."""
        records = {url: self._timeless(datum) for url, datum in records_of(self.directory).items()}
        parses = parses_of(self.directory)
        for parse in parses.values():
            del parse["fetch_time"]
        return records, parses

    def _timeless(self, datum: CrawlDatum) -> CrawlDatum:
        is_now = self.began <= datum.modified_time < self.began + HELD_MS
        assert (datum.fetch_time - self.began) % DAY < HELD_MS
        return replace(
            datum,
            fetch_time=(datum.fetch_time - self.began) // DAY,
            modified_time=1 if is_now else datum.modified_time,
            metadata={key: value for key, value in datum.metadata.items() if key != "_rs_"},
        )

    def spark_events(self) -> Iterator[dict[str, Any]]:
        return read_events(self.events)

    def job_names(self) -> set[str]:
        """Phase and step of all jobs, as Spark's own pages show them."""
        return {
            phase_and_step(event)
            for event in self.spark_events()
            if event["Event"] == "SparkListenerJobStart"
        }

    def lost_in(self) -> set[str]:
        """The jobs that lost a task together with its machine."""
        job_of: dict[int, str] = {}
        lost: set[str] = set()
        for event in self.spark_events():
            if event["Event"] == "SparkListenerJobStart":
                name = phase_and_step(event)
                job_of.update(dict.fromkeys(event["Stage IDs"], name))
            elif event.get("Task End Reason", {}).get("Reason") == "ExecutorLostFailure":
                lost.add(job_of[event["Stage ID"]])
        return lost


def finished(job: Submitted) -> str:
    """What it printed, once it has ended well."""
    assert job.finish() == 0, job.output[-4000:]
    return job.out.read_text()


def assert_as_model_has_it(state: State, web: Web, rounds: int = 2) -> None:
    """The records of so many rounds of one day, worked out a second time. Times are days since
    the beginning, as in `Site.state`."""
    now = 1
    expected = predicted(web, [now] * rounds).records
    records, _ = state
    days = {url: replace(each, fetch_time=each.fetch_time // DAY) for url, each in expected.items()}
    assert_as_predicted(records, days)
    for url, datum in records.items():
        assert datum.score == pytest.approx(expected[url].score, rel=1e-5), url


def said(output: str) -> dict[str, tuple[int, str]]:
    """The code and the output of each job of a program that ran them in turn."""
    pieces = re.split(r"^== (\S+)\n", output, flags=re.MULTILINE)[1:]
    names, outputs, codes = pieces[::4], pieces[1::4], pieces[2::4]
    return {name: (int(code), text) for name, text, code in zip(names, outputs, codes, strict=True)}


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """What Spark's own logs in a folder tell of jobs, stages and tasks."""
    for path in sorted(folder.glob("app-*")) + sorted(folder.glob("application_*")):
        for line in path.read_text().splitlines():
            yield json.loads(line)


def phase_and_step(event: dict[str, Any]) -> str:
    """Of a job's description, which goes on with the crawl and its segments."""
    description: str = event["Properties"].get("spark.job.description", "")
    return description.partition(" · ")[0]
