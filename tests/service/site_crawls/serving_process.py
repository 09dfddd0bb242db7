"""`crawl serve` as a process of its own, for tests that kill it and read its streams."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.service.site_crawls.site import WAIT_S

_ROOT = Path(__file__).resolve().parents[3]


class ServingProcess:
    """A service that runs until it is ended or killed."""

    def __init__(self, folder: Path, *settings: str) -> None:
        hosts = folder / "hosts.txt"
        hosts.write_text("127.0.0.1 *.test\n")
        properties = (
            "http.agent.name=tests",
            "http.filter.ipaddress.allow.private=true",
            f"http.resolver.hosts.file={hosts}",
            "fetcher.server.delay=0.01",
            "fetcher.server.min.delay=0",
            *settings,
        )
        command = [sys.executable, "-m", "crawl", "serve", str(folder / "crawl"), "--port", "0"]
        command += ["--json", *(part for each in properties for part in ("-D", each))]
        self._log = (folder / "serve.log").open("ab")
        self.process = subprocess.Popen(
            command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], WAIT_S)
        said = self.process.stdout.readline() if ready else ""
        assert said, (folder / "serve.log").read_text()[-3000:]
        self.port = int(json.loads(said)["address"].rpartition(":")[2])

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The value of an answer that went well."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        raw = None if body is None else json.dumps(body)
        connection.request(method, path, raw, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        value = json.loads(answer.read())
        assert answer.status < 300, value
        connection.close()
        return value

    @contextmanager
    def stream(self, path: str, accept: str, last: str = "") -> Iterator[Iterator[str]]:
        """The lines of an answer, as they come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        headers = {"Accept": accept, **({"Last-Event-ID": last} if last else {})}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            yield (line.decode().rstrip("\n") for line in iter(answer.readline, b""))
        finally:
            connection.close()

    def crawl_ended(self, crawl: str) -> dict[str, Any]:
        """The crawl, when it has ended."""
        end = time.monotonic() + WAIT_S
        while True:
            view: dict[str, Any] = self.ask("GET", f"/v1/crawls/{crawl}")
            if view["state"] != "running":
                return view
            assert time.monotonic() < end, view
            time.sleep(0.05)

    def kill(self) -> None:
        """Ends it as a power cut does."""
        os.kill(self.process.pid, signal.SIGKILL)
        self._gone()

    def end(self) -> None:
        """Ends it as its operator does; nothing where it is gone."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self._gone()

    def _gone(self) -> None:
        self.process.wait(WAIT_S)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self._log.close()


@contextmanager
def serving(folder: Path, *settings: str) -> Iterator[ServingProcess]:
    """A service while the block runs, or until it is killed."""
    served = ServingProcess(folder, *settings)
    try:
        yield served
    finally:
        served.end()
