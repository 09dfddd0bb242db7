"""What goes wrong around the service: full disks, damage, a second one, a parser that dies."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from crawl.errors import CrawlError, Locked
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import each_group, open_table
from crawl.storage.segments import FETCH, Segment
from tests.service.whole.dying import FULL
from tests.service.whole.hosts import Hosts, hosts
from tests.service.whole.processes import LONG_S, PARSER, Serving, children, serving


def _ended_with_one_line(service: Serving, code: int = CrawlError.exit_code) -> str:
    assert service.wait_for_death() == code, service.said()
    lines = [line for line in service.said().splitlines() if line.startswith("crawl: ")]
    assert len(lines) == 1 and "Traceback" not in service.said(), service.said()
    return lines[0]


@pytest.mark.slow(seconds=20)
def test_the_second_service_of_a_crawl_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as first, serving(tmp_path, wait=False) as second:
        line = _ended_with_one_line(second, Locked.exit_code)
        assert f"belongs to process {first.process.pid}" in line
        assert first.ask("/readyz").status == 200
        assert first.stop() == 0


@pytest.mark.slow(seconds=20)
def test_what_a_full_disk_cannot_take_is_not_acknowledged(tmp_path: Path) -> None:
    with hosts(1) as web:
        with serving(tmp_path, dies="full:queue put before 3") as service:
            jobs = service.submit([web.url(0, "/p/1")])
            jobs |= service.submit([web.url(0, "/p/2")])
            refused = service.ask("/v1/urls", {"url": web.url(0, "/p/3")})
            assert refused.status == 503
            assert "cannot store" in refused.value["error"]["message"]
            service.wait_for_ends(list(jobs))
            assert service.stop() == 0
        assert not [each for each in web.pages() if each.path == "/p/3"]


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize(
    "step",
    [
        "folder append *.notes before 1",
        "queue finish before 1",
        pytest.param("store pages before 1", marks=pytest.mark.exhaustive),
    ],
)
def test_a_service_whose_disk_is_full_refuses_answers_and_goes_on_when_there_is_room(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = tmp_path / "full"
    monkeypatch.setenv(FULL, str(full))
    with (
        hosts(2) as web,
        serving(tmp_path / "crawl", dies=f"full:{step}", service__segment__seconds="1") as service,
    ):
        first = service.submit([web.url(0, "/p/first")])
        service.wait_for_ends(list(first))
        full.touch()
        jobs = _submit_until_refused(service, web)
        refused = service.ask("/v1/urls", {"urls": [web.url(1, "/p/refused")]})
        assert refused.status == 503 and int(refused.headers["retry-after"]) > 0
        assert service.page(web.url(0, "/p/first")), "what is known is answered"
        not_ready = service.ask("/readyz")
        assert not_ready.status == 503, not_ready
        full.unlink()
        monkeypatch.delenv(FULL)
        ended = service.wait_for_ends(list(jobs))
        assert {each["page"]["code"] for each in ended.values()} == {200}
        _wait_until_ready(service)
        more = service.submit([web.url(1, "/p/more")])
        service.wait_for_ends(list(more))
        assert service.stop() == 0, service.said()
        assert "Traceback" not in service.said()
    assert not [each for each in web.pages() if each.path == "/p/refused"]
    with serving(tmp_path / "crawl") as service:  # publishes what was left
        assert service.stop() == 0
    segments = CrawlDir(str(tmp_path / "crawl")).segments
    assert not segments.open_of_service(), "all of them are published"
    stored = {url for each in segments.generated() for url in _urls_of(each)}
    assert stored >= {*first.values(), *jobs.values(), *more.values()}


@pytest.mark.slow(seconds=20)
def test_what_a_full_disk_has_left_is_done_by_the_next_service(tmp_path: Path) -> None:
    with hosts(2) as web:
        with serving(tmp_path, dies="full:folder append *.notes before 1") as service:
            jobs = _submit_until_refused(service, web)
            assert service.stop() == 0, service.said()
        assert jobs
        with serving(tmp_path) as service:
            ended = service.wait_for_ends(list(jobs))
            assert {each["page"]["code"] for each in ended.values()} == {200}
            assert service.stop() == 0


def _submit_until_refused(service: Serving, web: Hosts) -> dict[str, str]:
    """The jobs that were taken on until it noticed that its disk is full."""
    jobs: dict[str, str] = {}
    pause = threading.Event()
    for turn in range(1000):
        answer = service.ask("/v1/urls", {"urls": [web.url(0, f"/p/{turn}")]})
        if answer.status == 503:
            assert "cannot store" in answer.value["error"]["message"]
            return jobs
        assert answer.status == 202, answer
        jobs[answer.value["jobs"][0]["id"]] = web.url(0, f"/p/{turn}")
        pause.wait(0.1)
    raise AssertionError("its disk is not full")


def _wait_until_ready(service: Serving) -> None:
    pause = threading.Event()
    until = monotonic() + LONG_S
    while (answer := service.ask("/readyz")).status != 200:
        assert monotonic() < until, answer
        pause.wait(0.1)


def _urls_of(segment: Segment) -> Iterator[str]:
    for file in segment.require(FETCH).files:
        with open_table(segment.part_folder(FETCH), file.path) as source:
            for rows in each_group(source, columns=["url"]):
                yield from map(str, rows["url"].to_pylist())


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("is_replaced", [True, False])
def test_a_service_whose_folder_is_gone_takes_nothing_on_and_ends(
    tmp_path: Path, is_replaced: bool
) -> None:
    folder, moved = tmp_path / "crawl", tmp_path / "moved"
    with hosts(1) as web:
        with serving(folder) as service:
            jobs = service.submit([web.url(0, "/p/1")])
            service.wait_for_ends(list(jobs))
            if is_replaced:
                shutil.copytree(folder, tmp_path / "copy")
            folder.rename(moved)
            if is_replaced:
                (tmp_path / "copy").rename(folder)
            with suppress(OSError):  # it may have ended by now
                assert service.ask("/v1/urls", {"url": web.url(0, "/p/2")}).status == 503
            line = _ended_with_one_line(service)
            assert str(folder) in line
            assert ("replaced" if is_replaced else "moved away or removed") in line
        assert folder.exists() is is_replaced, "nothing is written where it was"
        with serving(moved) as service:
            more = service.submit([web.url(0, "/p/2")])
            service.wait_for_ends(list(more))
            assert service.page(web.url(0, "/p/1")) is not None
            assert service.stop() == 0


@pytest.mark.slow(seconds=20)
def test_damage_is_told_in_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "service"
    with serving(tmp_path) as service:
        assert service.stop() == 0
    (pages,) = (folder / "pages").glob("data.mdb")
    for file, name in ((folder / "queue.sqlite", "queue.sqlite"), (pages, "pages")):
        intact = file.read_bytes()
        file.write_bytes(b"no database at all " * 1000)
        with serving(tmp_path, wait=False) as service:
            assert name in _ended_with_one_line(service)
        file.write_bytes(intact)


@pytest.mark.slow(seconds=20)
def test_a_store_that_is_gone_is_begun_anew(tmp_path: Path) -> None:
    """What waits is in the queue; what was known of pages is in the segments."""
    with hosts(1) as web:
        with serving(tmp_path) as service:
            jobs = service.submit([web.url(0, "/p/1")])
            service.wait_for_ends(list(jobs))
            assert service.stop() == 0
        for file in (tmp_path / "service" / "pages").iterdir():
            file.unlink()
        with serving(tmp_path) as service:
            assert service.page(web.url(0, "/p/1")) is None
            jobs = service.submit([web.url(0, "/p/1")])
            service.wait_for_ends(list(jobs))
            assert service.page(web.url(0, "/p/1")) is not None
            assert service.stop() == 0


@pytest.mark.slow(seconds=40)
def test_parsers_that_die_or_hang_are_followed_by_others(tmp_path: Path) -> None:
    with hosts(6) as web, serving(tmp_path, parser__timeout="2") as service:
        before = _parsers(service)
        assert len(before) == 1, "it runs before anybody asks"
        answer = service.ask("/v1/fetch?wait=60s", {"url": web.url(0, "/p/first")})
        assert answer.value["title"] == "Page first"
        assert _parsers(service) == before
        _kill_parsers(service, web)
        # one runs again, whenever the last one was killed
        between = service.submit([web.url(0, "/p/between")])
        service.wait_for_ends(list(between))
        (parser,) = _parsers(service)
        os.kill(parser, signal.SIGSTOP)
        jobs = service.submit([web.url(host, "/p/hung") for host in range(3)])
        ended = service.wait_for_ends(list(jobs))
        assert {each["page"]["code"] for each in ended.values()} == {200}
        assert service.ask("/readyz").status == 200
        assert service.stop() == 0


def _parsers(service: Serving) -> list[int]:
    return children(service.process.pid, PARSER)


def _kill_parsers(service: Serving, web: Hosts) -> None:
    jobs = service.submit([web.url(host, f"/p/{n}") for n in range(6) for host in range(6)])
    for turn in range(3):
        web.wait_for_pages(7 + 6 * turn)
        for parser in _parsers(service):
            with suppress(ProcessLookupError):
                os.kill(parser, signal.SIGKILL)
    ended = service.wait_for_ends(list(jobs))
    assert {each["page"]["code"] for each in ended.values()} == {200}
    parsed = [each for each in ended.values() if each["page"].get("title")]
    # no more than what was being parsed at the moment
    assert len(parsed) >= len(ended) // 2
