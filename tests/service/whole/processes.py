"""`crawl serve` as a process of its own, as its users meet it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import IO, Any
from urllib.parse import quote

LONG_S = 240
"""CI's machines are slow, and loaded."""
OPTIONS = {
    "http.agent.name": "testbot",
    "http.filter.ipaddress.include": "loopback",
    "fetcher.server.delay": "0.2",
    "fetcher.server.min.delay": "0.2",
    "service.segment.seconds": "2",
    "service.search.seconds": "0.3",
    "service.webhooks.allow.private": "true",
    "service.webhooks.poll": "0.2",
}


@dataclass(slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    value: Any


@dataclass(slots=True)
class Serving:
    """A service that runs, or has ended."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    address: str = ""
    ended_jobs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def wait_until_ready(self) -> None:
        assert self.gets_ready(), f"it ended with {self.process.wait()}: {self.said()}"

    def gets_ready(self) -> bool:
        """Waits for it; False where it ends before."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            self.address = json.loads(line)["address"].removeprefix("http://")
        return bool(line)

    def ask(self, path: str, body: Any = None, method: str = "") -> Answer:
        """Raises OSError where nobody answers."""
        connection = http.client.HTTPConnection(self.address, timeout=LONG_S)
        try:
            data = None if body is None else json.dumps(body).encode()
            head = {"Content-Type": "application/json"} if data else {}
            connection.request(method or ("POST" if data else "GET"), path, data, head)
            answer = connection.getresponse()
            raw = answer.read()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, headers, json.loads(raw) if raw else None)
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    def submit(self, urls: Sequence[str], **more: Any) -> dict[str, str]:
        """Ids of jobs that were acknowledged, with their URLs."""
        answer = self.ask("/v1/urls", {"urls": list(urls), **more})
        assert answer.status == 202, answer
        jobs = answer.value["jobs"]
        return {job["id"]: url for job, url in zip(jobs, urls, strict=True) if job.get("id")}

    def page(self, url: str) -> dict[str, Any] | None:
        answer = self.ask(f"/v1/url?url={quote(url, safe='')}")
        return answer.value if answer.status == 200 else None

    def wait_for_ends(self, jobs: Sequence[str]) -> dict[str, dict[str, Any]]:
        """What became of the jobs, when all of them have ended."""
        until = monotonic() + LONG_S
        waiting = [job for job in jobs if job not in self.ended_jobs]
        pause = threading.Event()
        while waiting:
            for job in waiting:
                answer = self.ask(f"/v1/jobs/{job}")
                assert answer.status == 200, (job, answer)
                if answer.value["state"] not in ("queued", "joined"):
                    self.ended_jobs[job] = answer.value
            waiting = [job for job in waiting if job not in self.ended_jobs]
            assert monotonic() < until, f"{len(waiting)} jobs do not end: {waiting[:3]}"
            pause.wait(0.1 if waiting else 0)
        return {job: self.ended_jobs[job] for job in jobs}

    def wait_for_claimed(self, count: int) -> None:
        """Until so many jobs are out of the queue and have not ended."""
        until, pause = monotonic() + LONG_S, threading.Event()
        while (ready := self.ask("/readyz").value)["claimed"] != count:
            assert monotonic() < until, ready
            pause.wait(0.05)

    def wait_for_death(self) -> int:
        return self.process.wait(LONG_S)

    def stop(self) -> int:
        """Ends it as Ctrl-C does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(LONG_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def said(self) -> str:
        """What it said to its operator."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def resident_bytes(self) -> int:
        """Of it and of its children."""
        return sum(map(_resident_bytes, [self.process.pid, *children(self.process.pid)]))


def _resident_bytes(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    return 0


def children(pid: int, module: str = "") -> list[int]:
    """Processes that it has started; those alone whose command line names a module."""
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            if (
                int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid
                and module.encode() in (folder / "cmdline").read_bytes()
            ):
                found.append(int(folder.name))
    return found


PARSER = "crawl.parsing.process.child"


@contextmanager
def serving(
    directory: Path, *, dies: str = "", wait: bool = True, **options: Any
) -> Iterator[Serving]:
    """The service over a crawl; killed after the block, if it has not ended. With `dies` it kills
    itself at a moment (dying.py). Dots of options are double underscores."""
    given = {**OPTIONS, **{name.replace("__", "."): text for name, text in options.items()}}
    settings = [word for name, text in given.items() for word in ("-D", f"{name}={text}")]
    command = ["-m", "tests.service.whole.dying", dies] if dies else ["-m", "crawl"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [
                *(sys.executable, *command, "serve", str(directory)),
                *("--port", "0", "--json", *settings),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        )
        running = Serving(process, errors)
        try:
            if wait:
                running.wait_until_ready()
            yield running
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
