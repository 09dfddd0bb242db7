"""How near whole crawls in rounds come to the time that politeness itself takes, with tails cut or
waited for, and with rounds that overlap. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Crawled:
    """One crawl from its seeds until nothing is due."""

    name: str
    seconds: float
    """From the first request to the last answer: without the start of Spark."""
    rounds: int
    pages: int
    robots: int
    """Requests for robots.txt."""
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
        odd=options.slow_pages,
        kinds=(PageKind.SLOW,),
        slow=options.slow,
    )
    done = []
    with tempfile.TemporaryDirectory(prefix="bench-rounds-") as folder:
        for name, checkout, settings in _cases(options):
            with running(Web(shape)) as server:
                place = Path(folder) / name.replace(" ", "-")
                place.mkdir()
                done.append(_crawl(name, checkout, settings, place, server, options))
            console.print(str(done[-1]))
    web = Web(shape)
    longest = max(web.plan.sizes) + 1  # and its robots.txt
    ideal_s = longest * (options.delay + options.latency)
    return _show(done, ideal_s, options, console)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run rounds",
        description="Crawls a web from its seeds by `crawl run --until-empty`; exit code 1 where a"
        " page is missing or a server was not asked politely.",
        epilog="examples: run rounds --hosts 200 --pages 400 --tail-cut never,rounds"
        "    run rounds --delay 0 --slow-pages 0.002 --overlap --beside ../old",
    )
    parser.add_argument("--hosts", type=int, default=30, help="of the web (default: 30)")
    parser.add_argument("--pages", type=int, default=100, help="of a host in the mean (100)")
    parser.add_argument("--skew", type=float, default=0.0, help="of their sizes (default: 0)")
    parser.add_argument("--delay", type=float, default=0.5, help="between two requests (0.5)")
    parser.add_argument("--latency", type=float, default=0.0, help="of an answer, s (default: 0)")
    parser.add_argument(
        "--tail-cut", default="never,rounds", help="values of fetcher.tail.cut (never,rounds)"
    )
    parser.add_argument("--overlap", action="store_true", help="and once with rounds that overlap")
    parser.add_argument("--master", default="local[2]", help="of Spark (default: local[2])")
    parser.add_argument(
        "--slow-pages", type=float, default=0.0, help="share of leaves that are slow (default: 0)"
    )
    parser.add_argument("--slow", type=float, default=10.0, help="seconds that they take (10)")
    parser.add_argument(
        "--beside", metavar="CHECKOUT", help="and once with the code of this other checkout"
    )
    parser.add_argument(
        "-D", action="append", default=[], metavar="KEY=VALUE", help="a property of all crawls"
    )
    return parser.parse_args()


def _cases(options: argparse.Namespace) -> Iterable[tuple[str, Path, list[str]]]:
    """Each crawl's name, where its code is, and its own settings."""
    if options.beside:
        yield "the other checkout", Path(options.beside).resolve(), []
    for cut in filter(None, options.tail_cut.split(",")):
        yield f"tail cut {cut}", _ROOT, [f"fetcher.tail.cut={cut}"]
    if options.overlap:
        yield "overlap", _ROOT, ["crawl.rounds.overlap=true"]


def _crawl(
    name: str,
    checkout: Path,
    settings: list[str],
    place: Path,
    server: WebServer,
    options: argparse.Namespace,
) -> Crawled:
    web = server.web
    (place / "seeds.txt").write_text("\n".join(web.seeds()))
    hosts = [f"{web.address(host)} {host}" for host in web.hosts()]
    (place / "hosts.txt").write_text("\n".join(hosts))
    properties = [
        f"http.agent.name={_AGENT}",
        "http.filter.ipaddress.allow.private=true",
        f"http.resolver.hosts.file={place / 'hosts.txt'}",
        f"fetcher.server.delay={options.delay}",
        "urlfilter.order=length",
        "crawldb.buckets=2",
        *settings,
        *options.D,
    ]
    command = [sys.executable, "-m", "crawl", "run", str(place / "crawl"), "--until-empty", "-q"]
    command += ["--seeds", str(place / "seeds.txt"), "--master", options.master, "--json"]
    command += [part for each in properties for part in ("-D", each)]
    began = time.monotonic()
    ended = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(checkout)},
    )
    whole_s = time.monotonic() - began
    told = json.loads(ended.stdout)
    log = server.requests()
    seconds = max(entry.ended for entry in log) - min(entry.began for entry in log)
    print(f"{name}: {whole_s:.0f} s with the start of Spark", flush=True)
    return Crawled(
        name,
        seconds,
        len(told["rounds"]),
        len({(entry.host, entry.path) for entry in log if entry.path != "/robots.txt"}),
        sum(entry.path == "/robots.txt" for entry in log),
        _violations(log, web, options.delay),
    )


def _violations(log: list[LogEntry], web: Web, delay_s: float) -> int:
    too_soon = sum(gap.seconds < delay_s - _MEASURED_S for gap in gaps(log))
    at_once = sum(count - 1 for count in concurrency(log).values())
    wrong = len(disallowed(log, web, _AGENT)) + len(before_robots(log))
    return too_soon + at_once + wrong + len(duplicates(log))


def _show(
    done: list[Crawled], ideal_s: float, options: argparse.Namespace, console: Console
) -> int:
    pages = options.hosts * options.pages
    table = Table(
        "crawl", "rounds", "s", "of the ideal", "pages", "pages/s", "robots.txt", "violations"
    )
    for each in done:
        table.add_row(
            each.name,
            str(each.rounds),
            f"{each.seconds:.1f}",
            f"{each.seconds / ideal_s:.2f}" if ideal_s else "",
            str(each.pages),
            f"{each.pages / each.seconds:.1f}",
            str(each.robots),
            str(each.violations),
        )
    console.print(table)
    if ideal_s:
        console.print(f"ideal: {ideal_s:.1f} s, the longest host's chain")
    return 1 if any(each.violations or each.pages != pages for each in done) else 0


if __name__ == "__main__":
    raise SystemExit(main())
