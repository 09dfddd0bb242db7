"""A service under load whose store is killed and comes back."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from crawl.clock import SystemClock
from crawl.declared import load_declared
from crawl.service.faces.served_crawl import ServedCrawl
from crawl.service.faces.serving import listening, served
from crawl.storage.crawl_dir import CrawlDir
from tests.free_port import LOOPBACK
from tests.service.stores.small_web import SmallWeb, small_web

_LOOKS = 1800
_BATCH = 5


class Node(Protocol):
    """The server of a store."""

    @property
    def url(self) -> str: ...

    def start(self) -> None: ...

    def kill(self) -> None: ...


def wait_until(is_so: Callable[[], bool], what: str, pause_s: float = 0.1) -> None:
    """Returns when it is so; fails when it is not for minutes."""
    pause = threading.Event()
    for _ in range(_LOOKS):
        if is_so():
            return
        pause.wait(pause_s)
    raise AssertionError(f"waited in vain: {what}")


class Asked:
    """The service, asked as others ask it."""

    def __init__(self, crawl: ServedCrawl, address: str, web: SmallWeb) -> None:
        self.crawl = crawl
        self.service = crawl.service
        self.web = web
        self.address = address

    def ask(self, path: str, body: Any = None) -> tuple[int, dict[str, str], Any]:
        """Status, headers and JSON of an answer."""
        request = urllib.request.Request(
            self.address + path,
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.status, dict(answer.headers), json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, dict(refused.headers), json.load(refused)

    def status(self, path: str, body: Any = None) -> int:
        return self.ask(path, body)[0]

    def url(self, name: object) -> str:
        return f"{self.web.address}/p/{name}"

    def known(self, urls: list[str]) -> list[bool]:
        """Whether each has a page."""
        pages: list[Any] = []
        for at in range(0, len(urls), 100):
            status, _, said = self.ask("/v1/lookup", {"urls": urls[at : at + 100]})
            assert status == 200, said
            pages += said["pages"]
        return [page is not None for page in pages]


class Submitter:
    """Submits URLs one batch after the other; what is refused is submitted again."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.jobs: dict[str, str] = {}
        """The ids of the jobs that were acknowledged, by URL."""
        self.refused = 0

    def __enter__(self) -> Submitter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        first = 0
        while not self._is_over.is_set():
            urls = [self._asked.url(first + place) for place in range(_BATCH)]
            status, _, said = self._asked.ask("/v1/urls", {"urls": urls})
            if status != 202:
                assert status == 503, said
                self.refused += 1
                self._is_over.wait(0.1)
                continue
            for url, job in zip(urls, said["jobs"], strict=True):
                # one that was stored although its first answer was a refusal is joined now
                if job["state"] in ("queued", "joined"):
                    self.jobs[url] = job["id"]
            first += _BATCH
            self._is_over.wait(0.02)


@contextmanager
def asked_service(folder: Path, store: str, *settings: str) -> Iterator[Asked]:
    """A service with that store, over a small web."""
    config = load_declared(
        [
            "http.agent.name=tests",
            "http.filter.ipaddress.include=loopback",
            "fetcher.server.delay=0",
            "service.segment.seconds=2",
            f"service.store={store}",
            *settings,
        ]
    )
    with small_web() as web:
        crawl = ServedCrawl(CrawlDir(str(folder)), config, SystemClock(), LOOPBACK)
        listener = listening(LOOPBACK, 0)
        port = listener.getsockname()[1]
        with crawl, served(crawl.app(), listener):
            yield Asked(crawl, f"http://{LOOPBACK}:{port}", web)


def check_that_nothing_is_lost(folder: Path, node: Node) -> None:
    """Kills the store under load, and starts it again."""
    with asked_service(folder, node.url) as asked:
        with Submitter(asked) as load:
            wait_until(lambda: len(load.jobs) >= 60, "URLs are taken on")
            wait_until(lambda: asked.known([asked.url(9)]) == [True], "a page is known")
            before = [url for url in list(load.jobs) if asked.known([url]) == [True]]
            assert before
            node.kill()
            wait_until(lambda: asked.status("/readyz") == 503, "it is not ready")
            assert asked.status("/healthz") == 200
            status, headers, said = asked.ask("/v1/lookup", {"urls": before[:1]})
            assert (status, said["error"]["code"]) == (503, "storage_unavailable")
            assert int(headers["retry-after"]) > 0
            assert "swordfish" not in json.dumps(said)
            wait_until(lambda: load.refused > 0, "URLs are refused")
            wait_until(lambda: asked.service.stats().store_failing_s > 0, "the pipeline waits")
            node.start()
            wait_until(lambda: asked.status("/readyz") == 200, "it is ready again")
            count = len(load.jobs)
            wait_until(lambda: len(load.jobs) > count + 20, "URLs are taken on again")
        assert asked.known(before) == [True] * len(before)
        queue = asked.service.queue
        wait_until(lambda: queue.count().unfinished == 0, "all jobs end")
        jobs = dict(load.jobs)
        assert asked.known(list(jobs)) == [True] * len(jobs)
        for url, job in jobs.items():
            finished = asked.service.answers.get(job)
            assert finished is not None and finished.url == url, job
        assert asked.service.fault is None
        assert asked.service.counters["store_errors.read"] > 0
        assert asked.service.stats().store_failing_s == 0
