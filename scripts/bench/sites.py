"""How near a site crawl of the realtime lane comes to the time that politeness itself takes. See
README.md beside this file."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from crawl.synthetic.web import (
    LogEntry,
    PageKind,
    Settings,
    Web,
    WebServer,
    before_robots,
    concurrency,
    disallowed,
    duplicates,
    gaps,
    running,
)

_ROOT = Path(__file__).resolve().parents[2]
_AGENT = "bench"
_MEASURED_S = 0.01
"""How exactly a server sees the pause between an answer and the next request."""
_LOOK_S = 0.5
_ENOUGH = 10.0
"""Times the ideal, after which a crawl has failed."""


@dataclass(frozen=True, slots=True)
class Crawled:
    """One crawl until nothing is left of the site."""

    name: str
    seconds: float
    """From the first request to the last answer, as the server tells it."""
    cpu_s: float
    """Of the service and its children."""
    pages: int
    told: int
    """Pages that the crawl itself counts."""
    pauses: tuple[float, float]
    """Between two requests to a host: the median and the 95th percentile, seconds."""
    violations: int
    """Pauses that were too short, pages asked for twice, against the rules or before them."""


def main() -> int:
    options = _options()
    console = Console()
    shape = Settings.plain(
        options.hosts,
        options.hosts * options.pages,
        port=0,
        size=2000,
        skew=options.skew,
        latency=options.latency,
        odd=0.0,
        kinds=(PageKind.SLOW,),
    )
    web = Web(shape)
    longest = max(web.plan.sizes) + 1  # and its robots.txt
    ideal_s = longest * (options.delay + options.latency)
    done = []
    with tempfile.TemporaryDirectory(prefix="bench-sites-") as folder:
        for formats in (["metadata"], ["metadata", "markdown"])[: 2 if options.markdown else 1]:
            name = formats[-1]
            with running(Web(shape)) as server:
                place = Path(folder) / name
                place.mkdir()
                done.append(_crawl(name, formats, place, server, ideal_s, options))
    return _show(done, ideal_s, options, console)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run sites",
        description="Crawls a web from its front pages by `crawl serve` and POST /v1/crawls; exit"
        " code 1 where a page is missing, a server was not asked politely, or it took too long.",
        epilog="examples: run sites --hosts 30 --pages 100    run sites --markdown --skew 0.5",
    )
    parser.add_argument("--hosts", type=int, default=30, help="of the web (default: 30)")
    parser.add_argument("--pages", type=int, default=100, help="of a host in the mean (100)")
    parser.add_argument("--skew", type=float, default=0.0, help="of their sizes (default: 0)")
    parser.add_argument("--delay", type=float, default=0.5, help="between two requests (0.5)")
    parser.add_argument("--latency", type=float, default=0.0, help="of an answer, s (default: 0)")
    parser.add_argument("--markdown", action="store_true", help="and once with Markdown")
    parser.add_argument(
        "--least", type=float, default=0.95, help="of the ideal that is expected (default: 0.95)"
    )
    parser.add_argument(
        "-D", action="append", default=[], metavar="KEY=VALUE", help="a property of the service"
    )
    options = parser.parse_args()
    if not 1 <= options.hosts <= 100:
        parser.error("--hosts: from 1 to 100, as many as the scope of a crawl may name")
    return options


def _crawl(
    name: str,
    formats: list[str],
    place: Path,
    server: WebServer,
    ideal_s: float,
    options: argparse.Namespace,
) -> Crawled:
    web = server.web
    hosts = [f"{web.address(host)} {host}" for host in web.hosts()]
    (place / "hosts.txt").write_text("\n".join(hosts))
    properties = [
        f"http.agent.name={_AGENT}",
        "http.filter.ipaddress.allow.private=true",
        f"http.resolver.hosts.file={place / 'hosts.txt'}",
        f"fetcher.server.delay={options.delay}",
        "urlfilter.order=length",
        "crawldb.buckets=2",
        *options.D,
    ]
    command = [sys.executable, "-m", "crawl", "serve", str(place / "crawl"), "--port", "0"]
    command += ["--json", *(part for each in properties for part in ("-D", each))]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    before = os.times()
    with (
        (place / "log").open("wb") as log_file,
        subprocess.Popen(
            command, cwd=place, env=environment, stdout=subprocess.PIPE, stderr=log_file
        ) as service,
    ):
        try:
            assert service.stdout is not None
            line = service.stdout.readline()
            if not line:
                raise SystemExit((place / "log").read_text())
            port = int(json.loads(line)["address"].rpartition(":")[2])
            wish = {
                "seeds": web.seeds(),
                "scope": {"hosts": web.hosts()},
                "limits": {"pages": 1_000_000, "depth": 1000},
                "formats": formats,
            }
            crawl = _ask(port, "POST", "/v1/crawls", wish)
            end = time.monotonic() + _ENOUGH * ideal_s + 60
            while crawl["state"] == "running" and time.monotonic() < end:
                time.sleep(_LOOK_S)
                crawl = _ask(port, "GET", f"/v1/crawls/{crawl['id']}")
        finally:
            service.send_signal(signal.SIGTERM)
            service.wait()
    after = os.times()
    log = server.requests()
    return Crawled(
        name,
        max(entry.ended for entry in log) - min(entry.began for entry in log),
        after.children_user + after.children_system - before.children_user - before.children_system,
        len({(entry.host, entry.path) for entry in log if entry.path != "/robots.txt"}),
        crawl["pages"],
        _pauses(log),
        _violations(log, web, options.delay),
    )


def _ask(port: int, method: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    raw = None if body is None else json.dumps(body)
    connection.request(method, path, raw, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    value = json.loads(answer.read())
    connection.close()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {value}")
    return value


def _pauses(log: list[LogEntry]) -> tuple[float, float]:
    pauses = sorted(gap.seconds for gap in gaps(log))
    return pauses[len(pauses) // 2], pauses[len(pauses) * 95 // 100]


def _violations(log: list[LogEntry], web: Web, delay_s: float) -> int:
    too_soon = sum(gap.seconds < delay_s - _MEASURED_S for gap in gaps(log))
    at_once = sum(count - 1 for count in concurrency(log).values())
    wrong = len(disallowed(log, web, _AGENT)) + len(before_robots(log))
    return too_soon + at_once + wrong + len(duplicates(log))


def _show(
    done: list[Crawled], ideal_s: float, options: argparse.Namespace, console: Console
) -> int:
    pages = options.hosts * options.pages
    names = ("formats", "s", "of ideal", "pages", "pages/s", "CPU ms", "pauses", "violations")
    table = Table(*names)
    for each in done:
        table.add_row(
            each.name,
            f"{each.seconds:.1f}",
            f"{ideal_s / each.seconds:.3f}",
            str(each.pages),
            f"{each.pages / each.seconds:.1f}",
            f"{each.cpu_s / each.pages * 1000:.1f}",
            f"{each.pauses[0]:.2f}, {each.pauses[1]:.2f}",
            str(each.violations),
        )
    console.print(table)
    console.print(f"ideal: {ideal_s:.1f} s, the longest host's chain")
    is_good = all(
        each.pages == each.told == pages
        and not each.violations
        and ideal_s / each.seconds >= options.least
        for each in done
    )
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
