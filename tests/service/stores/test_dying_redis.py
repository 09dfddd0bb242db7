from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.service.stores.dying_store import (
    Submitter,
    asked_service,
    check_that_nothing_is_lost,
    wait_until,
)
from tests.service.stores.real_redis import running_redis

pytestmark = pytest.mark.slow(seconds=20)


def test_a_server_that_is_killed_under_load_costs_nothing_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    with running_redis("--appendonly", "yes") as node:
        check_that_nothing_is_lost(tmp_path / "crawl", node)


def test_a_server_that_is_silent_holds_up_nobody_who_does_not_need_it(tmp_path: Path) -> None:
    with running_redis("--appendonly", "yes") as node:
        url = node.url.replace("timeout=20", "timeout=0.3")
        with asked_service(tmp_path / "crawl", url) as asked, Submitter(asked) as load:
            wait_until(lambda: len(load.jobs) >= 20, "URLs are taken on")
            os.kill(node.pid(), signal.SIGSTOP)
            try:
                wait_until(lambda: asked.status("/readyz") == 503, "it is not ready")
                assert asked.status("/healthz") == 200
                wait_until(lambda: not asked.service.stats().is_ready, "it knows")
            finally:
                os.kill(node.pid(), signal.SIGCONT)
            wait_until(lambda: asked.status("/readyz") == 200, "it is ready again")
            count = len(load.jobs)
            wait_until(lambda: len(load.jobs) > count, "URLs are taken on again")


def test_a_service_whose_store_is_gone_can_be_stopped(tmp_path: Path) -> None:
    """What is left waits in the queue for the next."""
    with running_redis("--appendonly", "yes") as node:
        with asked_service(tmp_path / "crawl", node.url) as asked, Submitter(asked) as load:
            wait_until(lambda: len(load.jobs) >= 20, "URLs are taken on")
            node.kill()
            wait_until(lambda: asked.service.stats().store_failing_s > 0, "the pipeline waits")
        node.start()
        with asked_service(tmp_path / "crawl", node.url) as again:
            wait_until(lambda: again.service.queue.count().unfinished == 0, "all jobs end")
            for job in load.jobs.values():
                assert again.service.answers.get(job) is not None
