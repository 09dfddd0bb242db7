"""crawl fetch through the command line, on Spark, over the synthetic web."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.run import FetchResult
from crawl.storage.lock import hold_lock
from crawl.storage.segments import FETCH
from crawl.synthetic.web import Settings, Web, WebServer, concurrency, running
from tests.cli.calling import Caller
from tests.phases.fetch_commands import assert_one_record_each, write_conf
from tests.phases.webs import listed

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.fixture
def server() -> Iterator[WebServer]:
    with running(Web(Settings.plain(4, 40, port=0, size=500))) as server:
        yield server


@pytest.fixture
def conf(tmp_path: Path, server: WebServer) -> Path:
    return write_conf(tmp_path / "conf", server)


def test_a_segment_is_fetched_and_summed_up(
    crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
) -> None:
    urls = sorted(set(server.web.urls()))
    directory, name = listed(str(tmp_path / "c"), urls)
    answer = crawl("fetch", directory.address, "--conf", conf)
    assert answer.code == 0, answer.err
    rows = dict(line.split() for line in answer.out.splitlines())
    assert rows["fetch_success"] == "40"
    assert f"fetch: {directory.address}/segments/{name}: 40 records" in answer.err
    assert "latency p50" in answer.err
    assert_one_record_each(directory, name, urls)

    again = crawl("fetch", directory.address, name, "--conf", conf)
    assert (again.code, again.out) == (2, "")
    assert again.err == f"crawl: {directory.address}/segments/{name} is fetched already\n"
    none_left = crawl("fetch", directory.address, "--conf", conf)
    assert none_left.code == 1
    assert none_left.err == f"crawl: {directory.address}: every segment is fetched already\n"


def test_for_programs(crawl: Caller, tmp_path: Path, server: WebServer, conf: Path) -> None:
    directory, name = listed(str(tmp_path / "c"), server.web.urls())
    result = crawl("fetch", directory.address, f"segments/{name}/", "--conf", conf, "--json").json
    assert result["segment"] == name
    assert result["complete"] is True
    assert result["report"]["counters"]["fetch_success"] == 40
    assert [part["finished"] for part in result["report"]["details"]["parts"]] == [True, True]
    assert directory.segments.segment(name).report(FETCH)["counters"]["records"] == 40


def test_one_thread_asks_one_thing_at_a_time(
    crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
) -> None:
    directory, _ = listed(str(tmp_path / "c"), server.web.urls(), parts=1)
    answer = crawl("fetch", directory.address, "--threads", 1, "--conf", conf)
    assert answer.code == 0, answer.err
    assert concurrency(server.requests(), lambda entry: "all") == {"all": 1}
    none = crawl("fetch", directory.address, "--threads", 0, "--conf", conf)
    assert none.code == 2
    assert "--threads" in none.err


def test_without_a_name_nothing_is_sent(crawl: Caller, tmp_path: Path, server: WebServer) -> None:
    directory, name = listed(str(tmp_path / "c"), server.web.urls())
    answer = crawl("fetch", directory.address)
    assert (answer.code, answer.out) == (2, "")
    assert "http.agent.name" in answer.err
    assert "-D http.agent.name=mybot" in answer.err
    assert answer.err.count("\n") == 1
    assert server.requests() == []
    assert directory.segments.segment(name).manifest(FETCH) is None


def test_a_segment_that_is_not_there_is_one_line(
    crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
) -> None:
    directory, _ = listed(str(tmp_path / "c"), server.web.urls())
    answer = crawl("fetch", directory.address, "20010101000000", "--conf", conf)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"crawl: {directory.address} has no segment 20010101000000")
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "c/segments/20010101000000").exists()
    nowhere = crawl("fetch", tmp_path / "none", "--conf", conf)
    assert nowhere.code == 2
    assert "has no CrawlDb yet: start it with `crawl inject" in nowhere.err
    assert nowhere.err.count("\n") == 1


def test_a_segment_that_is_being_fetched_is_refused(
    crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
) -> None:
    directory, name = listed(str(tmp_path / "c"), server.web.urls())
    folder = directory.segments.segment(name).folder
    with hold_lock(folder, "fetch", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
        answer = crawl("fetch", directory.address, "--conf", conf)
        assert answer.code == 3
        assert "is locked: fetch by" in answer.err
        assert answer.err.count("\n") == 1
        assert server.requests() == []
        forced = crawl("fetch", directory.address, "--conf", conf, "--steal-lock")
        assert forced.code == 0, forced.err
        assert "removed the lock of fetch" in forced.err


@pytest.mark.parametrize(("signalled", "code"), [(False, 2), (True, 130)])
def test_a_jvm_that_dies_is_one_line(
    crawl: Caller,
    tmp_path: Path,
    conf: Path,
    server: WebServer,
    monkeypatch: pytest.MonkeyPatch,
    signalled: bool,
    code: int,
) -> None:
    """Also where the signal that we heard was sent to it too."""

    def dies(*arguments: object) -> FetchResult:
        if signalled:
            signal.raise_signal(signal.SIGTERM)
        raise ConnectionRefusedError("nobody there")

    directory, _ = listed(str(tmp_path / "c"), server.web.urls())
    monkeypatch.setattr("crawl.phases.fetch.run.run", dies)
    answer = crawl("fetch", directory.address, "--conf", conf)
    assert answer.code == code
    message = "Spark's JVM died; fetched pages are kept, run the same command to resume"
    assert message in answer.err
    assert "internal error" not in answer.err


def test_a_signal_before_the_first_request_is_not_forgotten(
    crawl: Caller, tmp_path: Path, conf: Path, server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked to end before the segment was even taken: the fetch must not overhear it."""
    run = fetch.run

    def signalled_first(*arguments: Any) -> FetchResult:
        signal.raise_signal(signal.SIGTERM)
        for thread in threading.enumerate():
            if thread.name == "interrupt":
                thread.join(10)
        return run(*arguments)

    slow = ["-D", "fetcher.server.delay=0.5"]
    directory, name = listed(str(tmp_path / "c"), server.web.urls())
    with monkeypatch.context() as patched:
        patched.setattr(fetch, "run", signalled_first)
        answer = crawl("fetch", directory.address, "--conf", conf, *slow)
    assert answer.code == 130, answer.err
    assert "interrupted; run the same command to resume" in answer.err
    assert directory.segments.segment(name).require(FETCH).complete is False
    assert crawl("fetch", directory.address, "--conf", conf).code == 0
    assert_one_record_each(directory, name, list(server.web.urls()))
