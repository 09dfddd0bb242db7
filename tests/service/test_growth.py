"""What a service keeps for a while is gone after that."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.service.stores.store import Space
from tests.service.stores.dying_store import asked_service, wait_until

_DAY_MS = 86_400_000


@pytest.mark.slow(seconds=20)
def test_nothing_is_kept_for_ever_but_pages(tmp_path: Path) -> None:
    store = f"lmdb:{tmp_path / 'store'}"
    settings = ("service.idle=1s", "service.answers.kept=600s")
    with asked_service(tmp_path / "crawl", store, *settings) as asked:
        service = asked.service
        urls = [asked.url(place) for place in range(3)]
        assert asked.status("/v1/urls", {"urls": urls}) == 202
        wait_until(lambda: service.queue.count().unfinished == 0, "all jobs end")
        wait_until(lambda: len(service.store.scan(Space.ROBOTS)) == 1, "robots.txt is shared")
        wait_until(lambda: service.counters["hosts_retired"] == 1, "the idle host is retired")
        wait_until(lambda: service.stats().hosts.retired == 0, "it is looked at again")
        assert service.stats().hosts.busy == service.stats().hosts.idle == 0
        now_ms = SystemClock().now_ms()
        (robots,) = service.store.scan(Space.ROBOTS)
        assert robots.expires_at_ms is not None and robots.expires_at_ms <= now_ms + _DAY_MS
        answers = service.store.scan(Space.JOBS)
        assert len(answers) == 3
        for row in answers:
            assert row.expires_at_ms is not None and row.expires_at_ms <= now_ms + 600_000
        # a host that was retired is asked again as any other
        assert asked.status("/v1/urls", {"urls": [asked.url("again")]}) == 202
        wait_until(lambda: asked.known([asked.url("again")]) == [True], "its page is known")
        assert asked.web.asked.count("/robots.txt") == 1
