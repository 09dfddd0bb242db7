"""crawl simulate."""

from __future__ import annotations

import click

from crawl.cli.common.options import json_option, with_config
from crawl.cli.common.output import print_json, print_table, remark
from crawl.config import Config
from crawl.driver.prechecks import require_segments
from crawl.errors import UsageError
from crawl.fetcher.drivers.simulate import Latency
from crawl.readers.simulate.simulation import Simulation, segment_source, simulate, synthetic_source
from crawl.storage.crawl_dir import CrawlDir


@click.command("simulate")
@click.argument("crawl_dir", metavar="[CRAWL_DIR]", required=False)
@click.argument("segment", required=False)
@click.option(
    "--hosts",
    type=click.IntRange(min=1),
    metavar="N",
    help="Simulate this many hosts instead of a fetch list.",
)
@click.option(
    "--urls", type=click.IntRange(min=1), metavar="N", help="With --hosts: this many URLs on them."
)
@click.option(
    "--skew",
    type=click.FloatRange(min=0),
    metavar="NUMBER",
    default=0.0,
    show_default=True,
    help="The n-th host has 1/n^SKEW as many URLs as the first; 0: all alike.",
)
@click.option(
    "--parts",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Parts they are dealt to, each fetched by a task.",
)
@click.option(
    "--latency",
    type=click.FloatRange(min=0),
    metavar="NUMBER",
    default=0.5,
    show_default=True,
    help="Mean seconds of a request to a host whose answers the HostDb has not measured.",
)
@click.option(
    "--spread",
    type=click.FloatRange(min=0, max=3),
    metavar="NUMBER",
    default=0.5,
    show_default=True,
    help="Spread of latencies (log-normal: standard deviation of the logarithm).",
)
@click.option(
    "--assume",
    is_flag=True,
    help="Take --latency for all hosts, whatever the HostDb has measured.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads per task (default: fetcher.threads.fetch).",
)
@click.option(
    "--tasks",
    type=click.IntRange(min=1),
    metavar="N",
    help="Parts fetched at the same time (default: all).",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Another number, other latencies."
)
@json_option
@with_config
def command(
    crawl_dir: str | None,
    segment: str | None,
    hosts: int | None,
    urls: int | None,
    skew: float,
    parts: int,
    latency: float,
    spread: float,
    assume: bool,
    threads: int | None,
    tasks: int | None,
    seed: int,
    as_json: bool,
    config: Config,
) -> None:
    """Predict how long a fetch takes, without sending a byte.

    The fetcher itself runs in virtual time: over a fetch list of CRAWL_DIR (the named
    segment, or the oldest that is not fetched yet), or over --urls spread over --hosts.

    A request takes as long as the host's answers did, where the HostDb has measured them
    (`crawl updatehostdb`), and --latency else.

    Assumptions: every host answers, its robots.txt (one request a host, unless it is
    on the allowlist) allows everything and asks for no pause; no two hosts share an address;
    the machine and its line are fast enough.

    \b
    Examples:
      crawl simulate mycrawl --latency 0.3 --threads 50
      crawl simulate --hosts 20000 --urls 1000000 --skew 1 -D fetcher.server.delay=2
    """
    if threads is not None:
        config = config.with_values({"fetcher.threads.fetch": threads}, "--threads")
    if crawl_dir is not None:
        if hosts is not None or urls is not None:
            raise UsageError("either a CRAWL_DIR or --hosts and --urls, not both")
        require_segments(CrawlDir(crawl_dir), (segment,) if segment else ())
        source = segment_source(crawl_dir, segment)
    elif hosts is not None and urls is not None:
        source = synthetic_source(hosts, urls, skew, parts, seed)
    else:
        raise UsageError("what to simulate? a CRAWL_DIR with a fetch list, or --hosts and --urls")
    usual = Latency(latency, spread)
    found = simulate(source, config, usual, tasks=tasks, seed=seed, measured=not assume)
    if as_json:
        print_json(found.values())
    else:
        _show(found)


def _show(found: Simulation) -> None:
    plans, seconds = found.plans, found.seconds
    print_table(
        "parts",
        ["part", "urls", "hosts", "seconds", "ideal", "thread use", "urls/s", "robots", "left"],
        [
            [
                plan.part,
                plan.urls,
                plan.hosts,
                round(plan.seconds, 1),
                round(plan.ideal_s, 1),
                f"{plan.thread_use:.0%}",
                round(plan.urls_per_s, 1),
                plan.counters["robots_requests"],
                plan.handed_back,
            ]
            for plan in plans
        ],
    )
    last = sorted(
        (host for plan in plans for host in plan.longest), key=lambda host: -host.ended_s
    )[:10]
    print_table(
        "hosts that end last",
        ["host", "requests", "ends at", "asking", "pausing", "waiting"],
        [
            [
                host.key,
                host.requests,
                *(
                    round(value, 1)
                    for value in (host.ended_s, host.asking_s, host.pausing_s, host.waiting_s)
                ),
            ]
            for host in last
        ],
        first=False,
    )
    records = sum(plan.counters["records"] for plan in plans)
    remark(
        f"simulate: {found.name}: {records:,} pages in {seconds:,.0f} s ({_time(seconds)}),"
        f" {found.urls_per_s:,.1f} a second"
    )
    known = found.latencies
    if known.hostdb is not None:
        remark(
            f"simulate: response times of {known.measured:,} of {known.hosts:,} hosts are measured"
            f" (HostDb, snapshot {known.hostdb}), those of the others assumed (--latency)"
        )


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
