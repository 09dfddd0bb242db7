"""What the service owes servers across its own ends, pauses and stops."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tests.service.whole.hosts import Asked, Hosts, hosts
from tests.service.whole.processes import serving

TOLERANCE_S = 0.02
DELAY: dict[str, Any] = {"fetcher__server__delay": "3", "fetcher__server__min__delay": "3"}


def _to(web: Hosts, number: int) -> list[Asked]:
    host = web.origins[number].split("/")[2].partition(":")[0]
    return [each for each in web.asked() if each.host == host]


@pytest.mark.slow(seconds=40)
def test_a_service_that_was_killed_owes_every_host_a_pause(tmp_path: Path) -> None:
    """The usual one, and to a host that asks for a longer one that one."""
    with hosts(4) as web:
        slow = web.origins[3].split("/")[2].partition(":")[0]
        web.robots_of[slow] = "User-agent: *\nCrawl-delay: 4\n"
        urls = [web.url(host, f"/p/{n}") for n in range(2) for host in range(4)]
        with serving(tmp_path, **DELAY) as service:
            jobs = service.submit([*urls, web.url(3, "/p/2")])
            # so that robots.txt was read long ago
            web.wait_for_pages(2, host=slow)
            service.kill()
        with serving(tmp_path, **DELAY) as service:
            service.wait_for_ends(list(jobs))
            assert service.stop() == 0
        assert web.shortest_pause() >= 3 - TOLERANCE_S
        pages = sorted(each.began for each in web.pages() if each.host == slow)
        assert min(b - a for a, b in pairwise(pages)) >= 4 - TOLERANCE_S


@pytest.mark.slow(seconds=40)
def test_a_service_that_ended_in_good_order_owes_what_is_left_of_the_pause(tmp_path: Path) -> None:
    with hosts(2) as web:
        with serving(tmp_path, **DELAY) as service:
            jobs = service.submit([web.url(0, "/p/1"), web.url(0, "/p/2")])
            web.wait_for_pages(1)
            assert service.stop() == 0, service.said()
        with serving(tmp_path, **DELAY) as service:
            # nobody was asked before: no pause is owed
            jobs |= service.submit([web.url(1, "/p/1")])
            service.wait_for_ends(list(jobs))
        assert web.shortest_pause() >= 3 - TOLERANCE_S


@pytest.mark.slow(seconds=40)
@pytest.mark.parametrize("is_killed", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
def test_retry_after_holds_across_a_restart(tmp_path: Path, is_killed: bool) -> None:
    with hosts(2) as web:
        with serving(tmp_path) as service:
            (first,) = service.submit([web.url(0, "/long/1")])
            web.wait_for_pages(1)
            # it was told to come again, and is back in the queue, or given up
            service.wait_for_claimed(0)
            service.submit([web.url(0, "/p/1")])
            service.wait_for_claimed(1)
            if is_killed:
                service.kill()
            else:
                assert service.stop() == 0
        asked = len(_to(web, 0))
        with serving(tmp_path) as service:
            (other,) = service.submit([web.url(1, "/p/1")])
            service.submit([web.url(0, "/p/2")], priority="high")
            service.wait_for_ends([other])
            assert service.ask(f"/v1/jobs/{first}").value["state"] in ("queued", "finished")
            assert service.stop() == 0
        assert len(_to(web, 0)) == asked


@pytest.mark.slow(seconds=30)
def test_who_was_stopped_for_a_while_asks_nobody_out_of_turn(tmp_path: Path) -> None:
    short: dict[str, Any] = {"fetcher__server__delay": "0.5", "fetcher__server__min__delay": "0.5"}
    with hosts(4) as web, serving(tmp_path, **short) as service:
        jobs = service.submit([web.url(host, f"/p/{n}") for n in range(8) for host in range(4)])
        for stop in range(3):
            web.wait_for_pages(4 + 4 * stop)
            os.kill(service.process.pid, signal.SIGSTOP)
            Event().wait(2)
            os.kill(service.process.pid, signal.SIGCONT)
        ended = service.wait_for_ends(list(jobs))
        assert {each["page"]["code"] for each in ended.values()} == {200}
        assert web.shortest_pause() >= 0.5 - TOLERANCE_S
        assert len(web.pages()) == len(jobs)
