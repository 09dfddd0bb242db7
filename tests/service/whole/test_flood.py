"""More than can be done: refused with a time to come back, in bounded memory; what was taken on
ends, and then there is room again."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tests.service.whole.hosts import hosts
from tests.service.whole.processes import serving

ROOM = 200
SUBMITTERS = 4
TURNS = 25
BATCH = 40
"""Ten times and more what there is room for, while it is fetched."""
MOST_GROWTH = 150 << 20


@pytest.mark.slow(seconds=60)
def test_a_flood_is_refused_and_what_was_taken_on_ends(tmp_path: Path) -> None:
    bounds: dict[str, Any] = {
        "service__queue__normal": str(ROOM),
        "service__queue__host": str(ROOM),
    }
    quick: dict[str, Any] = {
        "fetcher__server__delay": "0.02",
        "fetcher__server__min__delay": "0.02",
    }
    with hosts(6) as web, serving(tmp_path, **bounds, **quick) as service:
        (first,) = service.submit([web.url(0, "/p/first")])
        service.wait_for_ends([first])
        before = service.resident_bytes()
        statuses: Counter[int] = Counter()
        taken: dict[str, str] = {}
        states: Counter[str] = Counter()
        lock = Lock()

        def flood(number: int) -> None:
            for turn in range(TURNS):
                urls = [web.url(n, f"/p/{number}x{turn}x{n}") for n in range(BATCH)]
                answer = service.ask("/v1/urls", {"urls": urls})
                refused = answer.status == 429
                if refused:
                    assert int(answer.headers["retry-after"]) >= 1
                    answer.value = answer.value["error"]["details"]
                with lock:
                    statuses[answer.status] += 1
                    for job, url in zip(answer.value["jobs"], urls, strict=True):
                        states[job["state"]] += 1
                        if job["id"]:
                            taken[job["id"]] = url
                        else:
                            assert job["retry_after_s"] >= 1 and job["reason"] in (
                                "busy",
                                "host_busy",
                            )

        with ThreadPoolExecutor(SUBMITTERS) as threads:
            list(threads.map(flood, range(SUBMITTERS)))
        assert set(statuses) <= {202, 429} and statuses[429] > 0
        assert states["refused"] > ROOM
        assert service.resident_bytes() - before < MOST_GROWTH
        ended = service.wait_for_ends(list(taken))
        assert {each["page"]["code"] for each in ended.values()} == {200}
        # of itself it is as before
        again = service.submit([web.url(n, "/p/again") for n in range(6)])
        assert len(again) == 6
        service.wait_for_ends(list(again))
        assert service.resident_bytes() - before < MOST_GROWTH
        times = Counter((each.host, each.path) for each in web.pages())
        assert set(times.values()) == {1}
        assert service.stop() == 0


@pytest.mark.slow(seconds=60)
def test_many_of_one_host_do_not_delay_the_others(tmp_path: Path) -> None:
    """While thousands wait for a host at its pace, each of another is fetched before the host
    was asked for a few more: by order, as clocks say more of the machine."""
    slow: dict[str, Any] = {"fetcher__server__delay": "1", "fetcher__server__min__delay": "1"}
    with hosts(8) as web, serving(tmp_path, **slow) as service:
        host = web.origins[0]
        for at in range(0, 5000, 1000):
            service.submit([f"{host}/p/{at + n}" for n in range(1000)])
        # and those that do not answer
        service.submit([f"http://127.0.1.{n}:9/p/1" for n in range(1, 200)])
        web.wait_for_pages(1)
        name = host.split("/")[2].partition(":")[0]
        asked = [sum(each.host == name for each in web.pages())]
        for number in range(1, 8):
            answer = service.ask("/v1/fetch?wait=60s", {"url": web.url(number, "/p/mine")})
            assert answer.status == 200 and answer.value["code"] == 200, answer
            asked.append(sum(each.host == name for each in web.pages()))
        assert asked[-1] - asked[0] <= 60
        assert web.shortest_pause() >= 1 - 0.02
        ready = service.ask("/readyz").value
        assert ready["waiting"]["normal"] > 4000
        assert service.stop() == 0
