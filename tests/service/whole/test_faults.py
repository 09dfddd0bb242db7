"""What goes wrong around the service: full disks, damage, a second one, a parser that dies."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from crawl.errors import CrawlError, Locked
from tests.service.whole.hosts import Hosts, hosts
from tests.service.whole.processes import PARSER, Serving, children, serving


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
        "folder append *.notes before 2",
        pytest.param("queue finish before 2", marks=pytest.mark.exhaustive),
    ],
)
def test_a_service_that_cannot_store_answers_ends_and_loses_nothing(
    tmp_path: Path, step: str
) -> None:
    """For the store of pages it waits instead (stores/test_patience.py)."""
    with hosts(2) as web:
        with serving(tmp_path, dies=f"full:{step}") as service:
            jobs: dict[str, str] = {}
            with suppress(OSError, AssertionError):
                for turn in range(10):
                    jobs |= service.submit([web.url(n, f"/p/{turn}") for n in range(2)])
            line = _ended_with_one_line(service)
            assert "the service has ended" in line
            assert "space left" in line or "full" in line
        assert jobs
        with serving(tmp_path) as service:
            ended = service.wait_for_ends(list(jobs))
            assert {each["page"]["code"] for each in ended.values()} == {200}
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
