"""testweb as operations: a synthetic web that is served, and the list of what a wicked one does."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from crawl.errors import StorageError
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import Positive, option
from crawl.operations.view import Line, Note, Table, View
from crawl.operations.work import Work

if TYPE_CHECKING:
    from crawl.synthetic.web import LogEntry, RequestGap, Web, WebServer
    from crawl.synthetic.wicked import WickedServer

_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TestwebOptions:
    """The options of the web that is served."""

    sites: Annotated[Positive, option("How many hosts.")] = 20
    pages: Annotated[
        Positive, option("How many pages all sites have together; their sizes are a power law.")
    ] = 1000
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)], option("Port of all sites (default: a free one).")
    ] = 0
    seed: Annotated[int, option("Another number, another web.  [default: 0]")] = 0
    plain: Annotated[bool, option("Good pages on open sites of one size only.")] = False
    latency: Annotated[Annotated[float, Meta(ge=0)], option("Mean seconds a page.")] = 0.0
    wicked: Annotated[
        bool, option("Also serve what hurts crawlers (see --table), on hosts of its own.")
    ] = False
    hosts: Annotated[str | None, option("Write names and addresses to FILE.", metavar="FILE")] = (
        None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WickedTableOptions:
    """The options of the list of wicked routes."""

    table: Annotated[
        bool, option("Print the wicked routes as Markdown and exit.", selects=True)
    ] = False


@dataclass(frozen=True, slots=True)
class ServedWeb:
    """A web: as soon as it can be crawled, and once more when it is served no longer."""

    seeds: tuple[str, ...]
    port: int
    visitors: dict[str, dict[str, float | None]] | None = None
    """How polite they were: by the product token of a visitor's User-Agent what was measured, None
    where there was nothing to measure. None while the web is served."""


def run(work: Work, options: TestwebOptions) -> Iterator[ServedWeb]:
    from crawl.synthetic.web import Settings, Web, WebServer
    from crawl.synthetic.wicked import WickedServer

    shape = Settings.plain if options.plain else Settings
    web = Web(
        shape(
            sites=options.sites,
            pages=options.pages,
            port=options.port,
            seed=options.seed,
            latency=options.latency,
        )
    )
    # `kill %1` is for the whole group: what the servers inherit here lets them outlive it,
    # so that their logs can still be asked for
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with ExitStack() as stack:
        server = WebServer(web)
        stack.callback(server.stop)
        wicked_server = WickedServer() if options.wicked else None
        seeds = list(server.web.seeds())
        if wicked_server is not None:
            stack.callback(wicked_server.stop)
            seeds += wicked_server.urls().values()
        signal.signal(signal.SIGTERM, _interrupt)
        if options.hosts:
            _write_hosts(options.hosts, server, wicked_server)
        try:
            yield ServedWeb(tuple(seeds), server.port)
            size = f"{options.pages:,} pages on {options.sites:,} sites"
            work.remark(f"{size}, port {server.port}; Ctrl-C ends")
            while server.is_alive():
                time.sleep(_LOOK_SECONDS)
        except KeyboardInterrupt:
            pass
        server.stop()
        visitors = _visitors(server.requests(), server.web)
        yield ServedWeb(tuple(seeds), server.port, visitors)


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


def _visitors(log: list[LogEntry], web: Web) -> dict[str, dict[str, float | None]]:
    """What the log says of each visitor."""
    from crawl.synthetic.web import before_robots, by_ip, concurrency, disallowed, duplicates, gaps

    measures: dict[str, Callable[[str, list[LogEntry]], float | None]] = {
        "requests": lambda _, log: len(log),
        "hosts": lambda _, log: len({entry.host for entry in log}),
        "shortest gap of a host, seconds": lambda _, log: _shortest(gaps(log)),
        "of an address, seconds": lambda _, log: _shortest(gaps(log, by_ip)),
        "most at once of a host": lambda _, log: max(concurrency(log).values()),
        "asked for repeatedly": lambda _, log: len(duplicates(log)),
        "before robots.txt": lambda _, log: len(before_robots(log)),
        "against robots.txt": lambda agent, log: len(disallowed(log, web, agent)),
    }
    logs: dict[str, list[LogEntry]] = {}
    for entry in log:
        logs.setdefault(entry.agent.partition("/")[0].partition(" ")[0], []).append(entry)
    return {
        agent: {name: measure(agent, log) for name, measure in measures.items()}
        for agent, log in logs.items()
    }


def _shortest(gaps: Sequence[RequestGap]) -> float | None:
    return round(gaps[0].seconds, 3) if gaps else None


def render(answer: ServedWeb, asked: Asked) -> View:
    visitors = answer.visitors
    if visitors is None:
        return [Line(seed) for seed in answer.seeds]
    agents = list(visitors)
    if not agents:
        return [Note("nobody came")]
    rows: list[list[object]] = [
        [name, *(_cell(visitors[agent][name]) for agent in agents)] for name in visitors[agents[0]]
    ]
    columns = ["what", *(agent or "(none)" for agent in agents)]
    return [Table("Visitors", columns, rows, is_note=True)]


def _cell(measure: float | None) -> object:
    return "-" if measure is None else measure


def values(answer: ServedWeb, asked: Asked) -> dict[str, Any]:
    if answer.visitors is None:
        return {"seeds": answer.seeds, "port": answer.port}
    return {"visitors": answer.visitors}


def run_table(work: Work, options: WickedTableOptions) -> str:
    from crawl.synthetic.wicked import table

    return table()


OPERATIONS = (
    Operation(
        name="testweb",
        method="",
        run=run,
        render=render,
        values=values,
        place=Place.NOWHERE,
        streams=True,
        help="""
        Serve a synthetic web on loopback until Ctrl-C, then report how polite its visitors were.

        Prints the seeds; all else goes to stderr. The names end in .test and are known to no
        name server: --hosts writes them in the format of /etc/hosts.
        """,
        examples=(
            "crawl testweb --hosts hosts.txt > seeds.txt",
            "crawl testweb --sites 200 --pages 20000 --plain",
            "crawl testweb --wicked",
            "crawl testweb --table",
        ),
    ),
    Operation(
        name="wicked_routes",
        command="testweb",
        method="",
        run=run_table,
        render=lambda table, asked: [Line(table)],
        place=Place.NOWHERE,
        help="What a wicked web does to its visitors, route by route, as Markdown.",
    ),
)
