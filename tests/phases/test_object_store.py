"""Whole crawls on an S3 server end as they do on a disk, whatever goes wrong on the way."""

from __future__ import annotations

import base64
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.model.datum import CrawlDatum
from crawl.rounds import Loop
from crawl.storage.crawl_dir import CrawlDir
from crawl.testing import faulty_proxy
from crawl.testing.faulty_proxy import PASSING, Asked, Fault, FaultyProxy, Seeded
from crawl.testing.web import RobotsKind, Settings, Web, WebServer
from crawl.testing.web import running as running_web
from tests.phases.made import NOW, records_of
from tests.phases.round_jobs import HoursLater, rounds_by
from tests.phases.test_rounds import parses_of, timeless
from tests.phases.test_rounds_kill import assert_each_page_once
from tests.phases.test_rounds_kill import timeless as without_times
from tests.phases.walks import SetClock, turn
from tests.phases.webs import web_config
from tests.storage import s3_server
from tests.storage.s3_server import S3Server

pytestmark = pytest.mark.cluster

DAY = 86_400_000
SHAPE = Settings(
    sites=5,
    seed=3,
    pages=40,
    size=1500,
    fanout=4,
    external=0.3,
    # which server's robots.txt is left for later depends on the parts
    robots=tuple(kind for kind in RobotsKind if kind is not RobotsKind.AWAY),
)


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    with running_web(Web(SHAPE)) as server:
        yield server


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


@pytest.fixture
def proxy(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """All requests of this process to the store go through it."""
    # the pauses between attempts have no part in what is shown here
    monkeypatch.setattr(
        "botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01
    )
    with faulty_proxy.running(s3.host, s3.port) as found:
        for name, value in s3.variables(found.address).items():
            monkeypatch.setenv(name, value)
        yield found


def crawled(address: str, seeds: str, web: Web) -> CrawlDir:
    """Two rounds, a day apart."""
    directory = CrawlDir(address)
    config = web_config(
        web,
        fetcher__server__delay=0,
        fetcher__max__exceptions__per__queue=-1,
        fetcher__checkpoint__records=20,
        crawldb__buckets=3,
    )
    clock = SetClock(NOW)
    for number in range(2):
        clock.set(NOW + number * DAY)
        walked = turn(
            *(directory, config, clock, Loop(1)), seeds=(seeds,) if number == 0 else (), parts=2
        )
        assert len(walked.rounds) == 1
    return directory


State = tuple[dict[str, CrawlDatum], dict[str, dict[str, object]]]


def state(directory: CrawlDir) -> State:
    return timeless(records_of(directory)), parses_of(directory)


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory, web: WebServer) -> str:
    file = tmp_path_factory.mktemp("seeds") / "seeds.txt"
    file.write_text("\n".join(web.web.seeds()))
    return str(file)


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory, web: WebServer, seeds: str) -> State:
    return state(crawled(str(tmp_path_factory.mktemp("disk")), seeds, web.web))


def test_two_rounds_end_as_on_a_disk(
    s3: S3Server, proxy: FaultyProxy, web: WebServer, seeds: str, on_disk: State
) -> None:
    bucket = s3.new_bucket()
    directory = crawled(f"{bucket}/deep/crawl", seeds, web.web)
    assert len(on_disk[0]) > 30
    assert state(directory) == on_disk
    left = directory.folder.files()
    assert not [name for name in left if "LOCK" in name or "scratch" in name or "journal/" in name]
    assert s3.uploads(bucket) == []


@pytest.mark.parametrize("seed", [1, 2])
def test_two_rounds_through_faults_end_as_on_a_disk(
    s3: S3Server, proxy: FaultyProxy, web: WebServer, seeds: str, on_disk: State, seed: int
) -> None:
    bucket = s3.new_bucket()
    proxy.plan = Seeded(seed, 0.15)
    directory = crawled(f"{bucket}/crawl", seeds, web.web)
    proxy.plan = faulty_proxy.faultless
    assert set(proxy.faults) == set(PASSING)
    assert sum(proxy.faults.values()) > 20
    assert state(directory) == on_disk
    assert directory.crawldb.folder.read("LOCK") is None
    assert s3.uploads(bucket) == []


LIFE = """
import base64, pickle, sys
from tests.phases.round_jobs import run_rounds
run_rounds(*pickle.loads(base64.b64decode(sys.argv[1])))
"""
WRITES_OF_A_LIFE = 80
"""More than any step needs, and nothing to do with the steps: death comes in any of them."""


def killed(proxy: FaultyProxy, fault: Fault, *arguments: object) -> bool:
    """Runs rounds in a process that is killed in the middle of a write; whether it was."""
    given = base64.b64encode(pickle.dumps(arguments)).decode()
    life = subprocess.Popen([sys.executable, "-c", LIFE, given], stderr=subprocess.PIPE)
    left = WRITES_OF_A_LIFE

    def plan(asked: Asked) -> Fault | None:
        nonlocal left
        left -= asked.method not in ("GET", "HEAD")
        if left > 0:
            return None
        os.kill(life.pid, signal.SIGKILL)  # not waited for yet: the number is still its own
        return fault

    proxy.plan = plan
    try:
        _, told = life.communicate(timeout=200)
    finally:
        proxy.plan = faulty_proxy.faultless
        life.kill()
        life.wait()
    assert life.returncode in (0, -signal.SIGKILL), told.decode()
    return life.returncode != 0


@pytest.mark.timeout(900)
def test_rounds_killed_in_mid_upload_again_and_again(
    s3: S3Server, proxy: FaultyProxy, tmp_path: Path
) -> None:
    """Half of a write arrived, or all of it; the same command goes on, and nothing is missing."""
    with running_web(Web(Settings.plain(3, 24, port=0, size=500))) as web:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(web.web.seeds()))
        settings = web.web.settings
        whole = CrawlDir(str(tmp_path / "whole"))
        rounds_by(HoursLater(0), whole.address, str(seeds), settings)
        bucket = s3.new_bucket()
        wreck = CrawlDir(f"{bucket}/crawl")
        deaths = 0
        faults = (Fault.CUT_UPLOAD, Fault.LOST_ANSWER)
        while killed(proxy, faults[deaths % 2], deaths, wreck.address, str(seeds), settings):
            deaths += 1
            assert deaths < 30, "it does not get on"
        assert deaths >= 2, "both kinds of death were met"
        assert without_times(records_of(wreck)) == without_times(records_of(whole))
        assert_each_page_once(wreck)
        assert s3.uploads(bucket) == []
