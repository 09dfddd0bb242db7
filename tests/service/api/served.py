"""A whole service behind its real HTTP server on loopback, in this process."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.declared import load_declared
from crawl.service.faces.served_crawl import ServedCrawl
from crawl.service.faces.serving import listening, served
from crawl.storage.crawl_dir import CrawlDir

WAIT_S = 120.0
"""Longer than any busy machine needs for what a test waits for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of an error."""
        return str(self.value["error"]["code"])


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs."""

    crawl: ServedCrawl
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        *,
        key: str = "",
    ) -> Answer:
        """One request on a connection of its own; a body that is no bytes is sent as JSON."""
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        own = {} if raw is None else {"Content-Type": "application/json"}
        if key:
            own["Authorization"] = f"Bearer {key}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        try:
            connection.request(method, path, raw, {**own, **(headers or {})})
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def send(self, raw: bytes, *, until_closed: bool = True) -> bytes:
        """What the service says to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S) as connection:
            connection.sendall(raw)
            said = b""
            while piece := _received(connection):
                said += piece
                if not until_closed and b"\r\n\r\n" in said:
                    break
            return said

    def fetch(self, url: str, *, key: str = "", **wish: Any) -> Answer:
        return self.ask("POST", "/v1/fetch?wait=60s", {"url": url, **wish}, key=key)

    def submit(self, *urls: str, key: str = "", **wish: Any) -> list[dict[str, Any]]:
        answer = self.ask("POST", "/v1/urls", {"urls": urls, **wish}, key=key)
        assert answer.status == 202, answer
        jobs: list[dict[str, Any]] = answer.value["jobs"]
        return jobs

    def ended(self, job: str, *, key: str = "") -> dict[str, Any]:
        """The end of a job, waited for."""
        value: dict[str, Any] = {}

        def is_ended() -> bool:
            answer = self.ask("GET", f"/v1/jobs/{job}", key=key)
            value.clear()
            value.update(answer.value)
            return value.get("state") in ("finished", "refused")

        wait_until(is_ended)
        return value


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except ConnectionResetError:
        return b""


def wait_until(is_so: Callable[[], bool]) -> None:
    """Until it is so; fails where it never is."""
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def confined(folder: Path, *settings: str) -> Config:
    """A configuration under which nothing but 127.0.0.1 is asked, and no name is looked up."""
    hosts = folder / "hosts.txt"
    if not hosts.exists():
        folder.mkdir(parents=True, exist_ok=True)
        hosts.write_text(
            "127.0.0.1 site.test *.site.test *.org *.com *.net *.example\n"
            "10.0.0.7 private.test\n169.254.169.254 cloud.test\n::ffff:127.0.0.1 mapped.test\n"
        )
    return load_declared(
        [
            "http.agent.name=tests",
            "http.filter.ipaddress.allow.private=true",
            f"http.resolver.hosts.file={hosts}",
            "fetcher.server.delay=0.0",
            "fetcher.server.min.delay=0.0",
            "service.search.seconds=0.2",
            *settings,
        ]
    )


@contextmanager
def running(
    folder: Path, *settings: str, bind: str = "127.0.0.1", keys: Sequence[str] = ()
) -> Iterator[Running]:
    """A service while the block runs. It listens on loopback, whatever address it believes to be
    bound to."""
    config = confined(folder, *settings)
    crawl = ServedCrawl(CrawlDir(str(folder / "crawl")), config, SystemClock(), bind)
    listener = listening("127.0.0.1", 0)
    with crawl, served(crawl.app(), listener, crawl.limits):
        yield Running(crawl, listener.getsockname()[1])
