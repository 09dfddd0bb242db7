"""Who is measured: each fetches the same pages in a process of its own and tells what it
took. The server's process is not counted."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fetch_list import Listed

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SCRAPY_HOME = Path(sys.prefix) / "scrapy"
"""Its own environment: its packages are nobody's here."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run took."""

    seconds: float
    cpu_s: float
    pages: int
    told: dict[str, Any]

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.seconds

    @property
    def cpu_ms(self) -> float:
        """A page."""
        return 1000 * self.cpu_s / self.pages


@dataclass(frozen=True, slots=True)
class Contestant:
    """A name, and how it is run."""

    name: str
    run: Callable[[], Measured]


def ours(listed: Listed, plugin: str, threads: int, **settings: Any) -> Contestant:
    """Our engine with one of the HTTP plugins."""

    def run() -> Measured:
        crawl = listed.copy()
        told = listed.settings(
            **{"plugin.protocol": [plugin], "fetcher.threads.fetch": threads, **settings}
        )
        try:
            return measured([sys.executable, str(HERE / "fetch_ours.py"), str(crawl), str(told)])
        finally:
            shutil.rmtree(crawl)

    return Contestant(plugin, run)


def curl(listed: Listed, threads: int) -> Contestant:
    """The bare loop."""
    command = [sys.executable, str(HERE / "fetch_curl.py"), str(listed.plan), str(threads)]
    return Contestant("bare pycurl", lambda: measured(command))


def scrapy(listed: Listed, at_once: int, per_host: int, delay_s: float = 0.0) -> Contestant:
    """Scrapy with that many requests under way."""
    command = [str(SCRAPY_HOME / "bin/python"), str(HERE / "fetch_scrapy.py")]
    command += [str(listed.plan), str(at_once), str(per_host), str(delay_s)]
    return Contestant(f"Scrapy ({at_once} at once, {per_host} a host)", lambda: measured(command))


def wrk(listed: Listed, connections: int, seconds: int = 3) -> Contestant:
    """The server's limit: pages of one host, asked for by a program that looks at nothing."""
    script = listed.work / "wrk.lua"
    urls = listed.urls[:2000]
    paths = ["/" + url.split("/", 3)[3] for url in urls]
    hosts = [url.split("/", 3)[2] for url in urls]
    rows = ",".join(f'{{"{path}","{host}"}}' for path, host in zip(paths, hosts, strict=True))
    script.write_text(
        f"local pages = {{{rows}}}\nlocal at = 0\n"
        "request = function()\n"
        "  at = at % #pages + 1\n"
        '  return wrk.format("GET", pages[at][1], {Host = pages[at][2]})\n'
        "end\n"
        "done = function(summary, latency, requests)\n"
        '  io.write(string.format("\\n%d %d %d %d\\n", summary.requests, summary.duration,'
        " summary.errors.status, summary.bytes))\n"
        "end\n"
    )
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script)]
    command.append(f"http://127.0.0.1:{listed.server.port}/")

    def run() -> Measured:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise SystemExit(f"bench: wrk: {(done.stderr or done.stdout).strip()[-500:]}")
        pages, microseconds, wrong, size = map(int, done.stdout.splitlines()[-1].split())
        if wrong or size < 10_000 * pages:
            raise SystemExit(f"bench: wrk got {wrong} answers that are no pages")
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Measured(microseconds / 1e6, cpu_s, pages, {})

    return Contestant("wrk (limit)", run)


def has_scrapy() -> bool:
    """Whether it is there, or could be installed."""
    python = SCRAPY_HOME / "bin/python"
    if not python.exists():
        print("installing Scrapy into an environment of its own (once)…", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(SCRAPY_HOME)], check=True)
    asked = [str(python), "-c", "import scrapy"]
    if subprocess.run(asked, capture_output=True, check=False).returncode == 0:
        return True
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "scrapy>=2.13"]
    apart = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(install, check=False, env=apart).returncode == 0


def has_wrk() -> bool:
    return shutil.which("wrk") is not None


def measured(command: list[str]) -> Measured:
    """Runs a contestant, whose last line is JSON."""
    begun = time.monotonic()
    found = told(command)
    found["with_start_s"] = time.monotonic() - begun
    return Measured(found["seconds"], found["cpu_s"], found["pages"], found)


def told(command: list[str]) -> dict[str, Any]:
    """What the last line of a program says, which is JSON."""
    # as Spark starts its workers: numpy's threads, one a core, spin for nothing otherwise
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"bench: {Path(command[1]).name}: {done.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
