"""Fetches and runs that whoever holds them cancels: what is fetched is kept, and jobs of others in
the same session go on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import crawl
from crawl.errors import Cancelled
from crawl.phases.generate import run as generate
from crawl.rounds.state import segment_states
from crawl.rounds.steps import Stage
from crawl.storage.chunks import CHUNKS
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, WebServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

_PATIENCE_S = 60.0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    with running(Web(Settings(sites=3, pages=24))) as server:
        hosts = "".join(f"{server.web.address(host)} {host}\n" for host in server.web.hosts())
        (tmp_path / "hosts.txt").write_text(hosts)
        yield server


def opened(folder: Path, delay_s: float) -> crawl.Crawl:
    settings = {
        "http.agent.name": "mybot",
        "http.filter.ipaddress.allow.private": True,
        "http.resolver.hosts.file": str(folder / "hosts.txt"),
        "fetcher.server.delay": delay_s,
        "crawldb.buckets": 2,
    }
    return crawl.open(folder / "crawl", settings=settings, progress=False)


def wait_for_a_page(directory: CrawlDir) -> None:
    pause = threading.Event()
    for _ in range(int(_PATIENCE_S / 0.05)):
        if any(each.folder.exists(CHUNKS) for each in directory.segments.generated()):
            return
        pause.wait(0.05)
    raise AssertionError("nothing is fetched")


@pytest.mark.parametrize("operation", ["fetch", "run"])
def test_a_cancelled_fetch_keeps_what_it_has(
    tmp_path: Path, server: WebServer, operation: str
) -> None:
    slow, directory = opened(tmp_path, 4.0), CrawlDir(str(tmp_path / "crawl"))
    slow.inject(server.web.seeds())
    slow.generate()
    under_way = slow.start(operation)
    wait_for_a_page(directory)
    under_way.cancel()
    with pytest.raises(Cancelled, match=f"^{operation}: cancelled$"):
        under_way.result(_PATIENCE_S)
    (state,) = segment_states(directory)
    # whole, if its last page came in the same moment
    assert state.stage in (Stage.FETCHING, Stage.FETCHED)
    assert slow.status()[-1]["state"] in ("interrupted", "fetched")
    (only,) = opened(tmp_path, 0.01).run().rounds
    assert only.segments == (state.name,)


def test_a_run_that_is_cancelled_in_another_step_leaves_the_jobs_of_others_alone(
    tmp_path: Path, server: WebServer, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, is_generating = opened(tmp_path, 0.01), threading.Event()
    generated, is_cancelled = generate.run, threading.Event()

    def late(*arguments: Any, **more: Any) -> Any:
        is_generating.set()
        assert is_cancelled.wait(_PATIENCE_S)
        return generated(*arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(generate, "run", late)
        under_way = web.start("run", urls=server.web.seeds())
        assert is_generating.wait(_PATIENCE_S)
        under_way.cancel()
        threading.Event().wait(1)
        assert spark.range(3).count() == 3
        is_cancelled.set()
        with pytest.raises(Cancelled):
            under_way.result(_PATIENCE_S)
    assert web.segments() == []
    assert len(web.run().rounds) == 1
