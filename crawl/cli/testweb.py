"""crawl testweb."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from crawl.cli.common.output import echo, print_table, remark
from crawl.errors import StorageError

if TYPE_CHECKING:
    from crawl.synthetic.web import LogEntry, RequestGap, WebServer
    from crawl.synthetic.wicked import WickedServer


@click.command("testweb")
@click.option(
    "--sites",
    type=click.IntRange(min=1),
    metavar="N",
    default=20,
    show_default=True,
    help="How many hosts.",
)
@click.option(
    "--pages",
    type=click.IntRange(min=1),
    metavar="N",
    default=1000,
    show_default=True,
    help="How many pages all sites have together; their sizes are a power law.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    default=0,
    help="Port of all sites (default: a free one).",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Another number, another web.")
@click.option("--plain", is_flag=True, help="Good pages on open sites of one size only.")
@click.option(
    "--latency",
    type=click.FloatRange(min=0),
    metavar="NUMBER",
    default=0.0,
    help="Mean seconds a page.",
)
@click.option(
    "--wicked",
    is_flag=True,
    help="Also serve what hurts crawlers (see --table), on hosts of its own.",
)
@click.option("--hosts", "hosts_file", metavar="FILE", help="Write names and addresses to FILE.")
@click.option("--table", is_flag=True, help="Print the wicked routes as Markdown and exit.")
def command(
    sites: int,
    pages: int,
    port: int,
    seed: int,
    plain: bool,
    latency: float,
    wicked: bool,
    hosts_file: str | None,
    table: bool,
) -> None:
    """Serve a synthetic web on loopback until Ctrl-C, then report how polite its visitors were.

    Prints the seeds; all else goes to stderr. The names end in .test and are known to no
    name server: --hosts writes them in the format of /etc/hosts.

    \b
    Examples:
      crawl testweb --hosts hosts.txt > seeds.txt
      crawl testweb --sites 200 --pages 20000 --plain
      crawl testweb --wicked
      crawl testweb --table
    """
    from crawl.synthetic.web import Settings, Web, WebServer
    from crawl.synthetic.wicked import WickedServer
    from crawl.synthetic.wicked import table as wicked_table

    if table:
        echo(wicked_table())
        return
    shape = Settings.plain if plain else Settings
    web = Web(shape(sites=sites, pages=pages, port=port, seed=seed, latency=latency))
    # `kill %1` is for the whole group: what the servers inherit here lets them outlive it,
    # so that their logs can still be asked for
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with ExitStack() as stack:
        server = WebServer(web)
        stack.callback(server.stop)
        wicked_server = WickedServer() if wicked else None
        seeds = server.web.seeds()
        if wicked_server is not None:
            stack.callback(wicked_server.stop)
            seeds += wicked_server.urls().values()
        signal.signal(signal.SIGTERM, _interrupt)
        if hosts_file:
            _write_hosts(hosts_file, server, wicked_server)
        try:
            echo("\n".join(seeds))
            remark(f"testweb: {pages:,} pages on {sites:,} sites, port {server.port}; Ctrl-C ends")
            while server.is_alive():
                time.sleep(0.5)
        except KeyboardInterrupt:
            pass
        server.stop()
        _print_report(server, server.requests())


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _write_hosts(path: str, server: WebServer, wicked_server: WickedServer | None) -> None:
    lines = [f"{server.resolve(host)} {host}" for host in server.web.hosts()]
    if wicked_server is not None:
        lines += [f"{wicked_server.resolve(host)} {host}" for host in wicked_server.hosts()]
    try:
        Path(path).write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from error


def _print_report(server: WebServer, log: list[LogEntry]) -> None:
    """What the log says of each visitor, by the product token of its User-Agent."""
    from crawl.synthetic.web import before_robots, by_ip, concurrency, disallowed, duplicates, gaps

    if not log:
        remark("testweb: nobody came")
        return
    measures: dict[str, Callable[[str, list[LogEntry]], object]] = {
        "requests": lambda _, log: len(log),
        "hosts": lambda _, log: len({entry.host for entry in log}),
        "shortest gap of a host, seconds": lambda _, log: _shortest(gaps(log)),
        "of an address, seconds": lambda _, log: _shortest(gaps(log, by_ip)),
        "most at once of a host": lambda _, log: max(concurrency(log).values()),
        "asked for repeatedly": lambda _, log: len(duplicates(log)),
        "before robots.txt": lambda _, log: len(before_robots(log)),
        "against robots.txt": lambda agent, log: len(disallowed(log, server.web, agent)),
    }
    visitors: dict[str, list[LogEntry]] = {}
    for entry in log:
        visitors.setdefault(entry.agent.partition("/")[0].partition(" ")[0], []).append(entry)
    rows = [
        [what, *(measure(agent, log) for agent, log in visitors.items())]
        for what, measure in measures.items()
    ]
    print_table("Visitors", ["what", *(agent or "(none)" for agent in visitors)], rows, err=True)


def _shortest(found: Sequence[RequestGap]) -> object:
    return round(found[0].seconds, 3) if found else "-"
