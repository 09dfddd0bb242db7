"""How much longer a crawl takes because of hosts that are dead: refusing, or taking requests and
saying nothing. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crawl.synthetic.web import Settings, Web, WebServer, running

_GOAL = 1.2


@dataclass(frozen=True, slots=True)
class Case:
    """A crawl of the live hosts beside so many dead ones."""

    name: str
    refusing: int = 0
    silent: int = 0


def main() -> int:
    options = _options()
    console = Console()
    dead, silent = options.dead, min(options.silent, options.dead)
    cases = [
        Case("live hosts alone"),
        Case(f"and {dead} that refuse", dead),
        Case(f"and {dead}, {silent} of them silent", dead - silent, silent),
    ]
    seconds: dict[str, list[float]] = {case.name: [] for case in cases}
    missing = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-dead-")))
        web = Web(Settings.plain(options.hosts, options.hosts * options.pages, port=0, size=2000))
        server = stack.enter_context(running(web))
        for number in range(options.rounds):
            for case in cases:
                place = folder / f"{number}-{len(case.name)}"
                place.mkdir()
                took, left = _crawl(case, place, server, options)
                seconds[case.name].append(took)
                missing += left
                console.print(f"{case.name}: {took:.1f} s, {left} live pages not fetched")
    return _show(seconds, missing, console)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run dead_hosts",
        description="Crawls live hosts alone and beside dead ones of a higher score; exit code 1"
        f" where a live page is not fetched or it takes more than {_GOAL} times as long.",
        epilog="example: run dead_hosts --rounds 3",
    )
    parser.add_argument("--rounds", type=int, default=1, help="of all crawls (default: 1)")
    parser.add_argument("--hosts", type=int, default=3, help="live ones (default: 3)")
    parser.add_argument("--pages", type=int, default=40, help="of each of them (default: 40)")
    parser.add_argument("--dead", type=int, default=20, help="dead hosts (default: 20)")
    parser.add_argument("--silent", type=int, default=7, help="of them silent (default: 7)")
    parser.add_argument("--top-n", type=int, default=10, help="URLs a round (default: 10)")
    parser.add_argument(
        "-D", action="append", default=[], metavar="KEY=VALUE", help="a property of all crawls"
    )
    return parser.parse_args()


def _crawl(
    case: Case, place: Path, server: WebServer, options: argparse.Namespace
) -> tuple[float, int]:
    """The seconds that it takes, and how many live pages it leaves out."""
    live = sorted(set(server.web.urls()))
    with _ports(case) as dead:
        seeds = [f"http://dead{n}.test:{port}/\tnutch.score=100" for n, port in enumerate(dead)]
        (place / "seeds.txt").write_text("\n".join([*seeds, *live]))
        hosts = [f"{server.web.address(host)} {host}" for host in server.web.hosts()]
        hosts += [f"127.0.0.1 dead{n}.test" for n in range(len(dead))]
        (place / "hosts.txt").write_text("\n".join(hosts))
        settings = [
            "http.agent.name=bench",
            "http.filter.ipaddress.allow.private=true",
            f"http.resolver.hosts.file={place / 'hosts.txt'}",
            "fetcher.server.delay=0.5",
            "urlfilter.order=length",
            *options.D,
        ]
        command = [sys.executable, "-m", "crawl", "run", str(place / "crawl"), "--until-empty"]
        command += ["--top-n", str(options.top_n), "--seeds", str(place / "seeds.txt"), "-q"]
        begun = time.monotonic()
        subprocess.run(
            [*command, *(part for each in settings for part in ("-D", each))],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        took = time.monotonic() - begun
    stats = [sys.executable, "-m", "crawl", "readdb", str(place / "crawl"), "--stats", "--json"]
    told = json.loads(subprocess.run(stats, check=True, capture_output=True).stdout)
    return took, len(live) - told["status"].get("db_fetched", 0)


@contextmanager
def _ports(case: Case) -> Iterator[list[int]]:
    """The ports of the dead: in turns of one that is silent and others that refuse."""
    with ExitStack() as stack:
        ports = []
        every = max(1, (case.refusing + case.silent) // case.silent) if case.silent else 0
        silent = 0
        for number in range(case.refusing + case.silent):
            server = stack.enter_context(socket.socket())
            server.bind(("127.0.0.1", 0))  # nobody listens there: refused
            if silent < case.silent and number % every == 0:
                server.listen(100)  # the kernel accepts, and nobody ever reads
                silent += 1
            ports.append(server.getsockname()[1])
        yield ports


def _show(seconds: dict[str, list[float]], missing: int, console: Console) -> int:
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    alone = next(iter(medians.values()))
    table = Table("crawl", "s (median)", "of the live hosts alone")
    for name, median in medians.items():
        table.add_row(name, f"{median:.1f}", f"{median / alone:.2f}")
    console.print(table)
    return 1 if missing or max(medians.values()) > _GOAL * alone else 0


if __name__ == "__main__":
    raise SystemExit(main())
