"""Death in the middle of a fetch, audited on the server: no URL twice in the segment, and
hardly any asked for twice."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.storage.segments import FETCH
from crawl.synthetic.web import Settings, Web, WebServer, running
from tests.cli.calling import Caller
from tests.phases.fetch_commands import (
    Command,
    assert_one_record_each,
    assert_polite,
    gone,
    pages_asked,
    repeated,
    write_conf,
)
from tests.phases.webs import listed

pytestmark = [pytest.mark.exhaustive, pytest.mark.slow(seconds=45), pytest.mark.spark]

SITES = 6
AT_STAKE = SITES
"""What one death may have asked for again: a request a host is under way, or its answer is
on its way into the journal. Chunks are larger by far."""


@pytest.fixture
def server() -> Iterator[WebServer]:
    # far more than the deaths leave time for, and few enough for the last run
    web = Web(Settings.plain(SITES, 720, port=0, size=2000, latency=0.03))
    with running(web) as server:
        yield server


def test_kill_9_of_a_worker_the_jvm_the_driver_and_all(tmp_path: Path, server: WebServer) -> None:
    urls = sorted(set(server.web.urls()))
    directory, name = listed(str(tmp_path / "c"), urls, parts=2)
    segment = directory.segments.segment(name)
    conf = write_conf(tmp_path / "conf", server)
    line = ("fetch", directory.address, "--conf", conf, "--master", "local[2]")

    def killed_after(pages: int, target: str) -> None:
        asked, again = pages_asked(server), repeated(server)
        command = Command(*line)
        command.wait_for(lambda: pages_asked(server) >= asked + pages)
        workers = command.workers
        assert len(workers) >= 2
        if target == "jvm":
            command.kill(command.jvm)
        elif target == "driver":
            command.kill(command.pid)
        else:
            command.kill_group()
        code = command.end()
        assert code != 0
        if target == "jvm":
            assert code == 2, command.err
            assert "Traceback" not in command.err
        assert segment.manifest(FETCH) is None
        assert pages_asked(server) < len(urls)
        assert repeated(server) - again <= AT_STAKE

    killed_after(80, "jvm")
    killed_after(80, "driver")
    killed_after(80, "group")
    again = repeated(server)
    assert again <= 3 * AT_STAKE

    asked = pages_asked(server)
    command = Command(*line)
    command.wait_for(lambda: pages_asked(server) >= asked + 80)
    victim = command.workers[0]
    command.kill(victim)
    assert command.end() == 0, command.err
    assert gone([victim])
    # within one run: Spark tries the task again, and it goes on
    assert repeated(server) <= 4 * AT_STAKE
    assert segment.require(FETCH).complete
    assert_one_record_each(directory, name, urls)
    assert_polite(server)


@pytest.mark.usefixtures("spark")
def test_signals_end_it_in_good_order_and_it_goes_on(
    tmp_path: Path, server: WebServer, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl = Caller(capsys)
    urls = sorted(set(server.web.urls()))
    directory, name = listed(str(tmp_path / "c"), urls, parts=2)
    segment = directory.segments.segment(name)
    conf = write_conf(tmp_path / "conf", server)
    line = ("fetch", directory.address, "--conf", conf, "--master", "local[2]")

    def in_the_middle() -> Command:
        asked = pages_asked(server)
        command = Command(*line)
        command.wait_for(lambda: pages_asked(server) >= asked + 80)
        return command

    def status() -> dict[str, object]:
        answer = crawl("status", directory.address, "--json")
        assert answer.code == 0, answer.err
        (row,) = answer.json
        assert isinstance(row, dict)
        return row

    command = in_the_middle()
    status_row = status()
    assert str(status_row["state"]).startswith("fetch on ")
    assert f"of {len(urls):,} URLs" in str(status_row["progress"])
    command.interrupt_group()
    assert command.end() == 130, command.err
    assert "stopping gracefully; interrupt again to stop at once" in command.err
    assert "interrupted; run the same command to resume" in command.err
    assert "Traceback" not in command.err
    first = segment.require(FETCH)
    assert not first.complete
    assert first.rows == pages_asked(server)
    assert status() | {"urls": 0} == {
        "segment": name,
        "urls": 0,
        "records": first.rows,
        "state": "interrupted",
        "progress": "",
        "waits": [],
    }

    command = in_the_middle()
    command.terminate()
    assert command.end() == 130, command.err
    second = segment.require(FETCH)
    assert not second.complete
    assert second.rows == pages_asked(server) > first.rows
    assert repeated(server) == 0

    command = in_the_middle()
    workers = command.workers
    command.interrupt_group()
    time.sleep(0.05)
    command.interrupt_group()
    assert command.end() == 130
    assert "crawl: interrupted" in command.err
    assert "Traceback" not in command.err
    assert not segment.require(FETCH).complete
    limit = time.monotonic() + 10
    while not gone(workers):
        assert time.monotonic() < limit
        time.sleep(0.05)

    # nobody interrupts the last one: it runs in this process, which has a session
    answer = crawl(*line)
    assert answer.code == 0, answer.err
    assert repeated(server) <= AT_STAKE
    assert segment.require(FETCH).complete
    assert_one_record_each(directory, name, urls)
    assert_polite(server)
    assert status()["state"] == "fetched"
