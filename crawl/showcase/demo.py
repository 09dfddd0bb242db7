"""demo: two rounds on a synthetic web that comes along. For newcomers."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from crawl import hints
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work

if TYPE_CHECKING:
    from crawl.config import Config
    from crawl.storage.crawl_dir import CrawlDir
    from crawl.synthetic.web import Settings, WebServer

ROUNDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """The options of demo."""

    folder: Annotated[
        str,
        option(
            "The folder of the crawl, which must be a new one.",
            argument=True,
            metavar="[CRAWL_DIR]",
        ),
    ] = "crawl-demo"


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What the demo has crawled."""

    statuses: dict[str, int]
    """URLs of the CrawlDb by their status."""
    best_url: str
    """The URL with the highest score."""


def run(work: Work, options: DemoOptions) -> DemoResult:
    from crawl.errors import UsageError
    from crawl.operations.results import Interrupted
    from crawl.rounds import operation as rounds
    from crawl.rounds.options import RunOptions
    from crawl.storage.crawl_dir import CrawlDir
    from crawl.synthetic.web import Web, running

    directory = CrawlDir(options.folder)
    if directory.crawldb.current() is not None:
        raise UsageError(
            f"{options.folder} holds a crawl already: delete it, or name another folder"
        )
    directory.require_writable()
    shape = _shape()
    with running(Web(shape)) as server, tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder, "seeds.txt")
        seeds.write_text("".join(f"{url}\n" for url in server.web.seeds()))
        config = _settings(work.config, server, Path(folder, "hosts.txt"))
        work.remark(
            f"a web of {shape.pages} pages on {shape.sites} hosts is served on port"
            f" {server.port} of loopback; nothing leaves this machine"
        )
        asked = RunOptions(
            files=(str(seeds),), rounds=ROUNDS, top_n=100, threads=20, time_limit_min=5
        )
        try:
            rounds.check(config, asked)
            rounds.run(replace(work, crawl=directory, config=config), asked)
        except Interrupted as interrupted:
            raise Interrupted(f"interrupted; {options.folder} can be deleted") from interrupted
    return _look_at(directory)


def _shape() -> Settings:
    """A web with a bit of everything."""
    from crawl.synthetic.web import RobotsKind, Settings

    return Settings(
        sites=8,
        pages=160,
        size=4000,
        addresses=4,
        slow=0.1,
        crawl_delay=0.1,
        robots=(
            *(RobotsKind.OPEN, RobotsKind.PRIVATE, RobotsKind.MISSING, RobotsKind.DELAY),
            *(RobotsKind.AGENTS, RobotsKind.PATTERNS, RobotsKind.MOVED, RobotsKind.CLOSED),
        ),
    )


def _settings(config: Config, server: WebServer, hosts: Path) -> Config:
    """Those of a quick, polite bot that finds the web's hosts on loopback."""
    web = server.web
    hosts.write_text("".join(f"{web.address(host)} {host}\n" for host in web.hosts()))
    return config.with_values(
        {
            "http.agent.name": "nutria-demo",
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": str(hosts),
            "fetcher.server.delay": 0.05,
        },
        "crawl demo",
    )


def _look_at(directory: CrawlDir) -> DemoResult:
    """What the CrawlDb holds now."""
    from crawl.model.status import Status
    from crawl.readers.readdb import run as readdb
    from crawl.tables.runner import InProcess

    snapshot = directory.require_crawldb()
    stats = readdb.stats(InProcess(), directory, snapshot, by_host=False)
    statuses = {Status(code).label: count for code, count in sorted(stats.statuses.items())}
    (best,) = readdb.top(InProcess(), directory, snapshot, 1, 0.0)
    return DemoResult(statuses, best.url)


def render(result: DemoResult, asked: Asked) -> View:
    """What people are shown: what the CrawlDb holds, and how to see more of it."""
    where = asked.options.folder
    tries = (
        ("readdb", f"{where} --stats --sort", "statistics, host by host"),
        ("readdb", f"{where} --url {result.best_url}", "all that is known of the best URL"),
        ("explain", f"{where} {result.best_url}", "why it is what it is, and when it is due again"),
        ("readdb", f"{where} --dump out --format csv", "everything, for a spreadsheet"),
        ("index", where, "a full-text index of the pages"),
        ("search", f"{where} page", "what it finds"),
        ("status", where, "how far the segments are"),
        ("snapshots", where, "the states of the CrawlDb that are kept"),
        ("run", "mycrawl --seeds SEEDS --rounds 3 -D http.agent.name=NAME", "the real web"),
    )
    lines = [(hints.command(name, words), about) for name, words, about in tries]
    width = max(len(line) for line, _ in lines)
    return [
        Table("the CrawlDb by status", ["status", "URLs"], list(result.statuses.items())),
        Note("", is_continued=True),
        Note("done. What to try next:"),
        *(Note(f"  {line:<{width}}  # {about}", is_continued=True) for line, about in lines),
    ]


OPERATION = Operation(
    name="demo",
    method="",
    run=run,
    render=render,
    place=Place.NOWHERE,
    uses_spark=True,
    help="""
    Crawl a small synthetic web for two rounds into CRAWL_DIR (by default crawl-demo).

    The web comes along and is served on loopback while the demo runs: nothing leaves this machine.
    Some of its pages redirect, some are gone, some are closed by robots.txt.
    """,
    examples=("crawl demo", "crawl demo elsewhere"),
)
