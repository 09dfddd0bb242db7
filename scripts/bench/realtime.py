"""How soon a URL that is submitted to `crawl serve` is queryable, and how much of that the service
itself takes, while others look up. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
from process_tree import cpu_s
from realtime_audit import Overheads, Spent, Violations, violations
from realtime_http import Connections, run_quickly
from realtime_load import Fate, Load, LoadResult
from realtime_lookups import LookupResult, LookupTask
from realtime_numbers import Latencies, latencies
from realtime_plan import LoadShape, load_urls
from realtime_processes import (
    Lookups,
    MemoryWatch,
    place_of,
    process_with_port,
    service,
    wait_until_ready,
)
from rich.console import Console
from rich.table import Table

from crawl.synthetic.web.log import read_entries

_AGENT = "bench"
_STARTS_IN_S = 2.0
"""From the start of all processes to the first URL."""
_GOALS = {
    "queryable": {50: 2.0, 99: 5.0},
    "own": {50: 0.02, 99: 0.15},
    "lookups": {99: 0.06},
}
"""Percentiles in seconds."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service is."""

    host: str
    port: int
    pid: int | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A whole run."""

    load: LoadResult
    lookups: LookupResult | None
    violations: Violations | None
    """None where no web was asked."""
    spent: list[Spent]
    memory_mib: list[float]
    cpu_s: dict[str, float]
    """By process."""
    requests: int
    """That the web was asked."""


def main() -> int:
    options = _options()
    console = Console(width=None if sys.stdout.isatty() else 120)
    if options.generator:
        return _measure_generator(options, console)
    shape = LoadShape(
        rate=options.rate,
        seconds=options.seconds,
        domains=options.domains,
        exponent=options.zipf,
        host_rate=options.host_rate,
        redirects=options.redirects,
        repeats=options.repeats,
        seed=options.seed,
    )
    with ExitStack() as stack:
        folder = options.work or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-realtime-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        measured = _measure(shape, folder, options)
    figures = _figures(measured)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    return _show(measured, console)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run realtime",
        description="Submits URLs to `crawl serve` by the clock and looks up others; exit code 1"
        " where one that was acknowledged is lost, or where the web was not asked politely.",
        epilog="examples: run realtime --seconds 60    run realtime --generator 1000,2000,4000"
        "    run realtime --service http://127.0.0.1:8199 --pid 4711",
    )
    number = parser.add_argument
    number("--rate", type=float, default=300.0, help="URLs a second (default: 300)")
    number("--seconds", type=float, default=300.0, help="of the load (default: 300)")
    number("--grace", type=float, default=60.0, help="to wait for the last of them (60)")
    number("--lookups", type=float, default=10_000, help="URLs a second looked up (10000; 0: none)")
    number("--delay", type=float, default=0.2, help="between two requests to a host (0.2)")
    number("--domains", type=int, default=2000, help="of the web (default: 2000)")
    number("--zipf", type=float, default=1.0, help="exponent of their popularity (1)")
    number("--host-rate", type=float, default=0.5, help="URLs a second of a host at most (0.5)")
    number("--errors", type=float, default=0.02, help="share of requests that fail (0.02)")
    number("--redirects", type=float, default=0.1, help="share of URLs (default: 0.1)")
    number("--repeats", type=float, default=0.05, help="share that came before (default: 0.05)")
    number("--seed", type=int, default=1, help="of all that is drawn (default: 1)")
    number("--service", metavar="URL", help="one that runs; it must know the web's hosts file")
    number("--pid", type=int, help="its process, for memory and processor time")
    number("--key", help="its API key")
    number("--web-port", type=int, default=0, help="of the web (default: one that is free)")
    number("--no-web", action="store_true", help="of a service that fetches nothing")
    number("--work", type=Path, metavar="FOLDER", help="keep logs and the crawl there")
    number("--json", type=Path, metavar="FILE", help="write all figures there")
    number(
        "--generator",
        metavar="RATES",
        help="what the load itself costs at these rates, against a service that does nothing",
    )
    number("-D", action="append", default=[], metavar="KEY=VALUE", help="of the service")
    return parser.parse_args()


def _measure(shape: LoadShape, folder: Path, options: argparse.Namespace) -> Measured:
    log = folder / "web.log"
    with ExitStack() as stack:
        web_port, web_pid = 80, None
        if not options.no_web:
            web_port, web = stack.enter_context(
                process_with_port(
                    "realtime_web.py",
                    *("--log", str(log), "--port", str(options.web_port)),
                    *("--errors", str(options.errors)),
                )
            )
            web_pid = web.pid
        place = stack.enter_context(_service(folder, options))
        urls = load_urls(shape, web_port)
        began = time.monotonic() + _STARTS_IN_S
        lookups = None
        if options.lookups:
            task = LookupTask(
                place.host,
                place.port,
                web_port,
                shape,
                options.lookups,
                began,
                shape.seconds,
                key=options.key,
            )
            lookups = Lookups(task)
            stack.callback(lookups.end)
        with MemoryWatch(place.pid) as memory:
            load = _run_load(place, urls, shape.rate, began, options)
        looked_up = lookups.result(60) if lookups is not None else None
        pids = {"service": place.pid, "web": web_pid}
        spent_cpu = {name: cpu_s(pid) for name, pid in pids.items() if pid is not None}
        spent_cpu["load"] = load.cpu_s
    # the web has written its log when it has ended
    if options.no_web:
        return Measured(load, looked_up, None, [], memory.mib, spent_cpu, 0)
    entries = list(read_entries(log.read_bytes()))
    overheads = Overheads(entries, options.delay)
    shares = [each for fate in load.fates if (each := overheads.of(fate)) is not None]
    wrong = violations(entries, options.delay)
    return Measured(load, looked_up, wrong, shares, memory.mib, spent_cpu, len(entries))


@contextmanager
def _service(folder: Path, options: argparse.Namespace) -> Iterator[Place]:
    if options.service:
        host, port = place_of(options.service)
        wait_until_ready(host, port, None)
        yield Place(host, port, options.pid)
        return
    hosts = folder / "hosts.txt"
    hosts.write_text("127.0.0.1 *.test\n")
    properties = [
        f"http.agent.name={_AGENT}",
        "http.filter.ipaddress.allow.private=true",
        f"http.resolver.hosts.file={hosts}",
        f"fetcher.server.delay={options.delay}",
        *options.D,
    ]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with service(folder / "crawl", port, properties, folder / "service.log") as process:
        yield Place("127.0.0.1", port, process.pid)


def _run_load(
    place: Place, urls: list[str], rate: float, began: float, options: argparse.Namespace
) -> LoadResult:
    async def run() -> LoadResult:
        connections = Connections(place.host, place.port, options.key)
        try:
            return await Load(connections, urls, rate).run(began, options.grace)
        finally:
            connections.close()

    return run_quickly(run())


def _measure_generator(options: argparse.Namespace, console: Console) -> int:
    """What the load itself takes of the processor, and which rates it holds."""
    table = Table("URLs/s", "finished", "CPU ms a URL", "of a core", "late at most", "p50", "p99")
    for rate in map(float, options.generator.split(",")):
        with process_with_port("realtime_stand_in.py") as (port, process):
            place = Place("127.0.0.1", port, process.pid)
            seconds = min(options.seconds, 5.0)
            urls = load_urls(LoadShape(rate=rate, seconds=seconds, redirects=options.redirects), 80)
            load = _run_load(place, urls, rate, time.monotonic() + 0.5, options)
        took = latencies(_queryable(load.fates))
        table.add_row(
            f"{rate:,.0f}",
            f"{took.count / len(urls):.1%}",
            f"{1000 * load.cpu_s / len(urls):.3f}",
            f"{load.cpu_s / load.seconds:.0%}",
            f"{1000 * load.late_s:.0f} ms",
            *(f"{1000 * each:.0f} ms" for each in (took.p50, took.p99)),
        )
    console.print(table)
    console.print("The service finishes each URL after 100 ms; events are looked up after 2 ms.")
    return 0


def _queryable(fates: list[Fate]) -> list[float]:
    return [fate.queryable_at - fate.submitted_at for fate in fates if fate.queryable_at]


def _rows(measured: Measured) -> dict[str, Latencies]:
    fates = measured.load.fates
    at_once = [fate for fate in fates if fate.state == "answered"]
    rows = {
        "queryable": latencies(_queryable(fates)),
        "answered": latencies(_queryable(at_once)),
        "web": latencies(each.web for each in measured.spent),
        "politeness": latencies(each.politeness for each in measured.spent),
        "own": latencies(each.own for each in measured.spent),
        "late": latencies(each.late for each in measured.spent),
        "after": latencies(each.after for each in measured.spent),
        "submit": latencies(f.answered_at - f.submitted_at for f in fates if f.answered_at),
    }
    if measured.lookups is not None:
        rows["lookups"] = measured.lookups.latency
    return rows


_NAMES = {
    "queryable": "submit → queryable",
    "answered": "… of what was known",
    "web": "the web's part",
    "politeness": "the hosts' turns",
    "own": "own overhead",
    "late": "… before requests",
    "after": "… after the answer",
    "submit": "submit → acknowledged",
    "lookups": "a look-up",
}


def _show(measured: Measured, console: Console) -> int:
    load = measured.load
    table = Table("ms", "number", "p50", "p90", "p99", "most", "goals")
    table.columns[0].no_wrap = True
    for name, row in _rows(measured).items():
        values = [f"{1000 * each:,.1f}" for each in (row.p50, row.p90, row.p99, row.most)]
        goals = [f"p{p} {1000 * each:,.0f}" for p, each in _GOALS.get(name, {}).items()]
        table.add_row(_NAMES[name], f"{row.count:,}", *values, ", ".join(goals))
    console.print(table)
    finished = sum(bool(fate.queryable_at) for fate in load.fates)
    console.print(
        f"{len(load.fates):,} submitted, {finished:,} finished, {len(load.lost):,} lost,"
        f" {load.not_found:,} told of but in no look-up, {load.untold:,} without an event,"
        f" {load.unanswered:,} submissions unanswered; the load was late by {load.late_s:.3f} s"
    )
    for reason, count in load.refused.most_common():
        console.print(f"refused: {count:,} {_one_line(reason)}")
    if load.without_retry_after:
        console.print(f"{load.without_retry_after:,} refusals without Retry-After")
    if (looked_up := measured.lookups) is not None:
        rate = looked_up.urls / looked_up.seconds
        found = looked_up.found / max(1, looked_up.sampled)
        console.print(
            f"looked up {rate:,.0f} URLs/s, {found:.0%} with a page; failed: {looked_up.failed}"
        )
    if measured.violations is not None:
        console.print(f"{measured.requests:,} requests to the web; {measured.violations}")
    if measured.memory_mib:
        first, last = measured.memory_mib[0], measured.memory_mib[-1]
        most = max(measured.memory_mib)
        console.print(f"memory: {first:.0f} MiB at first, {last:.0f} at last, {most:.0f} at most")
    cpu = ", ".join(f"{name} {each:.1f}" for name, each in measured.cpu_s.items())
    console.print(f"processor seconds: {cpu}")
    return exit_code(load, measured.violations)


def exit_code(load: LoadResult, wrong: Violations | None) -> int:
    """1 where anything is lost, or the web was not asked politely."""
    is_bad = load.lost or load.not_found or (wrong is not None and wrong.count)
    return 1 if is_bad else 0


def _one_line(text: str) -> str:
    return ascii(text)[1:201]


def _figures(measured: Measured) -> dict[str, Any]:
    load = measured.load
    return {
        "rows": {name: msgspec.to_builtins(row) for name, row in _rows(measured).items()},
        "submitted": len(load.fates),
        "finished": sum(bool(fate.queryable_at) for fate in load.fates),
        "lost": load.lost[:1000],
        "lost_count": len(load.lost),
        "not_found": load.not_found,
        "untold": load.untold,
        "unanswered": load.unanswered,
        "refused": dict(load.refused),
        "without_retry_after": load.without_retry_after,
        "reconnects": load.reconnects,
        "late_s": load.late_s,
        "lookups": msgspec.to_builtins(measured.lookups),
        "violations": measured.violations and asdict(measured.violations),
        "requests": measured.requests,
        "memory_mib": [round(each, 1) for each in measured.memory_mib],
        "cpu_s": measured.cpu_s,
        "cores": os.cpu_count(),
    }


if __name__ == "__main__":
    sys.exit(main())
