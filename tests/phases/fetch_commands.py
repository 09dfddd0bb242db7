"""`crawl fetch` in processes of its own, to be killed, and the audit of what became of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from crawl.model.arrow import strings
from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.storage.segments import CONTENT, FETCH
from crawl.synthetic.web import WebServer, concurrency, duplicates, gaps
from tests.phases.webs import AGENT, fetched

DELAY_S = 0.02
CHUNK = 50
PATIENCE_S = 600.0
"""For a JVM to start and a command to end on a machine that has much else to do; a command
that ends too soon is found at once."""


def write_conf(folder: Path, server: WebServer) -> Path:
    """A conf folder of a quick bot that finds the web's hosts on loopback."""
    folder.mkdir()
    web = server.web
    hosts = "".join(f"{web.address(host)} {host}\n" for host in web.hosts())
    (folder / "hosts.txt").write_text(hosts)
    (folder / "crawl-site.toml").write_text(
        f'"http.agent.name" = "{AGENT}"\n'
        '"http.filter.ipaddress.allow.private" = true\n'
        '"http.resolver.hosts.file" = "hosts.txt"\n'
        '"urlfilter.order" = ["length"]\n'
        f'"fetcher.server.delay" = {DELAY_S}\n'
        f'"fetcher.checkpoint.records" = {CHUNK}\n'
        '"fetcher.progress.interval" = 0.2\n'
    )
    return folder


class Command:
    """A command that runs by itself, with the JVM and the workers below it."""

    def __init__(self, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "crawl", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.pid = self._process.pid
        self.out = self.err = ""

    def wait_for(self, reached: Callable[[], bool]) -> None:
        """Waits until the condition holds; fails if the command ends before."""
        limit = time.monotonic() + PATIENCE_S
        while not reached():
            assert self._process.poll() is None, self._process.communicate()[1]
            if time.monotonic() >= limit:
                self.kill_group()
                raise AssertionError(
                    f"not there after {PATIENCE_S} s: {self._process.communicate()[1]}"
                )
            time.sleep(0.01)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def jvm(self) -> int:
        (found,) = [pid for pid in _below(self.pid) if "java" in _name(pid)]
        return found

    @property
    def workers(self) -> list[int]:
        """The processes that run tasks; their parent is a daemon of the JVM's."""
        daemons = [pid for pid in _below(self.jvm) if pid in _parents().values()]
        return [pid for daemon in daemons for pid in _below(daemon)]

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def kill_group(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)

    def interrupt_group(self) -> None:
        """Interrupts the whole process group, as a terminal does at Ctrl-C."""
        os.killpg(self.pid, signal.SIGINT)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def end(self) -> int:
        """Waits for its end and returns its exit code."""
        self.out, self.err = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode


def gone(pids: list[int]) -> bool:
    """Whether none of the processes runs any more."""
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def _parents() -> dict[int, int]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = int(fields[1])
    return found


def _below(pid: int) -> list[int]:
    return [child for child, parent in _parents().items() if parent == pid]


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def pages_asked(server: WebServer) -> int:
    return sum("robots" not in entry.path for entry in server.requests())


def repeated(server: WebServer) -> int:
    """Requests for a page beyond the first one."""
    return sum(count - 1 for count in duplicates(server.requests()).values())


def assert_one_record_each(directory: CrawlDir, name: str, urls: list[str]) -> None:
    """In the manifests, and also for those who read the folders without them."""
    records = [url for url, datum in fetched(directory, name) if datum.status is not Status.LINKED]
    assert Counter(records) == Counter(urls)
    segment = directory.segments.segment(name)
    pages: Counter[str] = Counter()
    for table in (FETCH, CONTENT):
        folder = segment.part_folder(table)
        named = {file.path for file in segment.require(table).files}
        assert {each for each in folder.names() if each.endswith(".parquet")} == named
        if table == CONTENT:
            for path in named:
                with open_table(folder, path) as source:
                    pages.update(strings(source.read(["url"])["url"]))
    assert pages == Counter(urls)


def assert_polite(server: WebServer) -> None:
    """No two requests to a host at once or too soon, also across deaths."""
    log = server.requests()
    assert max(concurrency(log).values()) == 1
    assert gaps(log)[0].seconds >= DELAY_S
