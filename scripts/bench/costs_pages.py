"""Processor time, memory and bytes on disk of fetch and parse over the synthetic web: what a
page, a kilobyte, a link and a connection cost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pycurl
from fetch_contestants import HERE, ROOT
from fetch_list import Listed, listed
from process_tree import _Memory

from crawl.planning import capacity
from crawl.planning.capacity import PhaseWork
from crawl.planning.costs import Costs, MeasuredCost
from crawl.planning.demand import Demand
from crawl.planning.host_sizes import HostPace
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import CONTENT, FETCH, PARSE
from crawl.synthetic.web import Settings

THREADS = 50
CONNECTIONS = 1_000
_TABLES = (FETCH, CONTENT, PARSE, "parse_data", "parse_text")


@dataclass(frozen=True, slots=True)
class Run:
    """A web, fetched and then parsed."""

    hosts: int
    pages: int
    kilobytes: float
    links: int
    starts: int
    """Parsers that were started."""
    cpu_s: Mapping[str, float]
    table_bytes: Mapping[str, int]
    fetch_peak: float
    tree_peak: float

    def predicted(self, phase: str, costs: Costs) -> PhaseWork:
        """Connections of this web are kept and not encrypted."""
        demand = Demand(
            urls=self.pages,
            hosts=self.hosts,
            pages_per_day=self.pages,
            rounds_per_day=1,
            page_bytes=1000 * self.kilobytes / self.pages,
            links=self.links / self.pages,
            pace=HostPace(0.0, 0.0),
        )
        if phase == "fetch":
            return capacity.fetch(demand, replace(costs, fetch_connection_us=0.0))
        return capacity.parse(demand, costs)

    def predicted_s(self, phase: str, costs: Costs) -> float:
        work = self.predicted(phase, costs)
        return work.cpu_s + work.start_s * (self.starts if phase == "parse" else 1)


def measure(work: Path, pages: int, size: int, links: float, rounds: int) -> Run:
    """The best of some rounds. Hosts have 200 pages: on small ones most links of a page lead
    to the same few, and count once."""
    hosts = max(1, min(100, pages // 200))
    settings = Settings.plain(hosts, pages, port=0, size=size, links=links)
    place = Path(tempfile.mkdtemp(dir=work))
    try:
        with listed(settings, place) as web:
            runs = [_run(web, hosts) for _ in range(rounds)]
    finally:
        shutil.rmtree(place)
    best = min(runs, key=lambda run: sum(run.cpu_s.values()))
    least = {phase: min(run.cpu_s[phase] for run in runs) for phase in ("fetch", "parse")}
    return replace(best, cpu_s=least)


def _run(web: Listed, hosts: int) -> Run:
    crawl = web.copy()
    told = web.settings(**{"fetcher.server.delay": 0.0, "fetcher.threads.fetch": THREADS})
    command = [sys.executable, str(HERE / "parse_ours.py"), str(crawl), str(told), "phases"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # not to a pipe: nobody reads it before the end
    with tempfile.TemporaryFile("w+") as out:
        with (
            subprocess.Popen(command, stdout=out, env=environment) as process,
            _Memory(process.pid) as memory,
        ):
            process.wait()
        if process.returncode:
            raise SystemExit("bench: fetch and parse failed")
        out.seek(0)
        found = json.loads(out.read().splitlines()[-1])
    (segment,) = CrawlDir(str(crawl)).segments.generated()
    tables = {name: segment.require(name).files for name in _TABLES}
    rows = sum(file.rows for file in tables[PARSE])
    shutil.rmtree(crawl)
    content = sum(file.bytes for file in tables[CONTENT])
    return Run(
        hosts,
        found["pages"],
        found["counters"]["bytes"] / 1000,
        max(0, rows - found["pages"]),
        min(os.cpu_count() or 1, max(1, content >> 23)),
        _by_phase(found["processes_cpu_s"]),
        {name: sum(file.bytes for file in files) for name, files in tables.items()},
        found["peak_mib"] * (1 << 20),
        float(memory.peak),
    )


def _by_phase(processes: dict[str, list[float]]) -> dict[str, float]:
    fetch = sum(processes["fetches"])
    return {"fetch": fetch, "parse": sum(map(sum, processes.values())) - fetch}


def costs(work: Path, pages: int, rounds: int) -> dict[str, MeasuredCost]:
    """By webs that differ in the size of pages and the number of links."""
    tiny = measure(work, 20, 10_000, 5, rounds)
    webs = [
        measure(work, pages, size, links, rounds)
        for size, links in ((10_000, 5), (84_000, 5), (84_000, 100), (30_000, 100))
    ]
    told = ", ".join(f"{run.kilobytes / run.pages:.0f} kB" for run in webs)
    links = ", ".join(f"{run.links / run.pages:.0f}" for run in webs)
    where = f"four webs of {pages:,} pages of {told} with {links} links"
    found = {
        "fetch_start_us": MeasuredCost(1e6 * tiny.cpu_s["fetch"], "fetch of 20 pages"),
        "parse_start_us": MeasuredCost(1e6 * tiny.cpu_s["parse"], "parse of 20 pages"),
        "fetch_connection_us": MeasuredCost(
            1e6 * connection_s(work),
            f"{CONNECTIONS:,} new connections by pycurl with TLS 1.3 and a verified P-256"
            " certificate, each with one small page",
        ),
        "memory_fetch_task": MeasuredCost(
            max(run.fetch_peak for run in webs), f"peak with {THREADS} threads, {where}"
        ),
        "memory_parse_task": MeasuredCost(
            max(run.tree_peak for run in webs), f"peak with two parsers, {where}"
        ),
    }
    spent = {
        phase: np.array(
            [
                1e6 * (run.cpu_s[phase] - tiny.cpu_s[phase] * (run.starts if p else 1))
                for run in webs
            ]
        )
        for p, phase in enumerate(("fetch", "parse"))
    }
    amounts = {
        "page": np.array([run.pages for run in webs], float),
        "kilobyte": np.array([run.kilobytes for run in webs]),
        "link": np.array([run.links for run in webs], float),
    }

    def fitted(told: np.ndarray, *names: str) -> list[MeasuredCost]:
        values = _not_negative(np.stack([amounts[name] for name in names], axis=1), told)
        return [MeasuredCost(float(value), where) for value in values]

    found["fetch_page_us"], found["fetch_kilobyte_us"] = fitted(spent["fetch"], "page", "kilobyte")
    (
        found["parse_page_us"],
        found["parse_kilobyte_us"],
        found["parse_link_us"],
    ) = fitted(spent["parse"], "page", "kilobyte", "link")

    def size(*tables: str) -> np.ndarray:
        return np.array([sum(run.table_bytes[name] for name in tables) for run in webs], float)

    (found["disk_fetched"],) = fitted(size(FETCH), "page")
    (found["disk_text_kilobyte"],) = fitted(size("parse_text"), "kilobyte")
    found["disk_parsed_page"], found["disk_parsed_link"] = fitted(
        size("parse_data", PARSE), "page", "link"
    )
    return found


def _not_negative(amounts: np.ndarray, told: np.ndarray) -> np.ndarray:
    """Least squares of relative errors; what would be negative is nothing."""
    weighed, one = amounts / told[:, None], np.ones(len(told))
    used = list(range(amounts.shape[1]))
    while True:
        solved, *_ = np.linalg.lstsq(weighed[:, used], one, rcond=None)
        if (solved >= 0).all() or len(used) == 1:
            break
        used.pop(int(np.argmin(solved)))
    values = np.zeros(amounts.shape[1])
    values[used] = np.maximum(solved, 0)
    return values


def connection_s(work: Path) -> float:
    """The client's processor time for a new TLS connection, certificate checked, beyond what
    the same request over a kept one costs."""
    with _serving_tls(work) as (port, authority):
        fresh, kept = (_asking_s(port, authority, fresh=fresh) for fresh in (True, False))
    return max(0.0, fresh - kept)


def _asking_s(port: int, authority: Path, *, fresh: bool) -> float:
    handle = pycurl.Curl()
    handle.setopt(pycurl.URL, f"https://a.test:{port}/")
    handle.setopt(pycurl.RESOLVE, [f"a.test:{port}:127.0.0.1"])
    handle.setopt(pycurl.CAINFO, str(authority))
    handle.setopt(pycurl.SSL_SESSIONID_CACHE, 0)
    handle.setopt(pycurl.FRESH_CONNECT, fresh)
    handle.setopt(pycurl.FORBID_REUSE, fresh)
    handle.setopt(pycurl.WRITEFUNCTION, lambda piece: None)
    handle.setopt(pycurl.TIMEOUT, 10)
    handle.perform()
    before = resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(CONNECTIONS):
        handle.perform()
    after = resource.getrusage(resource.RUSAGE_SELF)
    handle.close()
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / CONNECTIONS


@contextmanager
def _serving_tls(work: Path) -> Iterator[tuple[int, Path]]:
    """A server in a process of its own, on loopback."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve_tls, args=(theirs, str(work)), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv(), work / "authority.pem"
    finally:
        process.terminate()
        process.join()


def _serve_tls(pipe: object, work: str) -> None:
    from tests.plugins.protocol.certificates import server_context

    context = server_context(Path(work))
    listening = socket.create_server(("127.0.0.1", 0))
    pipe.send(listening.getsockname()[1])  # type: ignore[attr-defined]
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    while True:
        plain, _ = listening.accept()
        try:
            with context.wrap_socket(plain, server_side=True) as stream:
                while stream.recv(4096):
                    stream.sendall(answer)
        except OSError:
            continue
