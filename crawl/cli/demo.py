"""crawl demo."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

import click

from crawl import hints
from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import with_config, with_spark
from crawl.cli.common.output import print_table, remark
from crawl.cli.common.rounds_view import TerminalObserver
from crawl.cli.main import INTERRUPTED
from crawl.config import Config
from crawl.errors import UsageError
from crawl.facade.results import Interrupted
from crawl.model.status import Status
from crawl.operations.registry import OURS
from crawl.readers.readdb import run as readdb
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, running
from crawl.tables.runner import InProcess

ROUNDS = 2
_SHAPE = Settings(
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


@click.command("demo")
@click.argument("crawl_dir", metavar="[CRAWL_DIR]", default="crawl-demo", required=False)
@with_spark
@with_config
def command(crawl_dir: str, spark: SparkOptions, config: Config) -> int:
    """Crawl a small synthetic web for two rounds into CRAWL_DIR (by default crawl-demo).

    The web comes along and is served on loopback while the demo runs: nothing leaves this
    machine. Some of its pages redirect, some are gone, some are closed by robots.txt.

    \b
    Examples:
      crawl demo
      crawl demo elsewhere
    """
    directory = CrawlDir(crawl_dir)
    if directory.crawldb.current() is not None:
        raise UsageError(f"{crawl_dir} holds a crawl already: delete it, or name another folder")
    directory.require_writable()
    with running(Web(_SHAPE)) as server, tempfile.TemporaryDirectory() as folder:
        seeds = Path(folder, "seeds.txt")
        seeds.write_text("".join(f"{url}\n" for url in server.web.seeds()))
        config = _settings(config, server, Path(folder, "hosts.txt"))
        remark(
            f"demo: a web of {_SHAPE.pages} pages on {_SHAPE.sites} hosts is served on port"
            f" {server.port} of loopback; nothing leaves this machine"
        )
        observer = partial(TerminalObserver, "demo", quiet=spark.quiet)
        try:
            with open_crawl(crawl_dir, config, spark, command="demo", observer=observer) as web:
                web.run(files=seeds, rounds=ROUNDS, top_n=100, threads=20, time_limit_min=5)
        except Interrupted:
            remark(f"demo: interrupted; {crawl_dir} can be deleted")
            return INTERRUPTED
    _look_at(directory)
    return 0


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


def _look_at(directory: CrawlDir) -> None:
    """What the CrawlDb holds now, and how to see more of it."""
    snapshot = directory.require_crawldb()
    stats = readdb.stats(InProcess(), directory, snapshot, by_host=False)
    rows = [[Status(code).label, count] for code, count in sorted(stats.statuses.items())]
    print_table("the CrawlDb by status", ["status", "URLs"], rows, first=False)
    (best,) = readdb.top(InProcess(), directory, snapshot, 1, 0.0)
    where = directory.address
    tries = (
        ("readdb", f"{where} --stats --sort", "statistics, host by host"),
        ("readdb", f"{where} --url {best.url}", "all that is known of the best URL"),
        ("explain", f"{where} {best.url}", "why it is what it is, and when it is due again"),
        ("readdb", f"{where} --dump out --format csv", "everything, for a spreadsheet"),
        ("index", where, "a full-text index of the pages"),
        ("search", f"{where} page", "what it finds"),
        ("status", where, "how far the segments are"),
        ("snapshots", where, "the states of the CrawlDb that are kept"),
        ("run", "mycrawl --seeds SEEDS --rounds 3 -D http.agent.name=NAME", "the real web"),
    )
    lines = [(hints.command(name, words), about) for name, words, about in tries if name in OURS]
    width = max(len(line) for line, _ in lines)
    remark("\ndemo: done. What to try next:")
    for line, about in lines:
        remark(f"  {line:<{width}}  # {about}")
