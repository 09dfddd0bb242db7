"""simulate as an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from crawl.errors import UsageError
from crawl.operations.operation import Asked, Operation
from crawl.operations.options import Face, Positive, option
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work

if TYPE_CHECKING:
    from crawl.readers.simulate.simulation import Source

_SHOWN_HOSTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulateOptions:
    """The options of simulate."""

    segment: Annotated[
        str | None,
        option("Whose fetch list; by default the oldest that is not fetched yet.", argument=True),
    ] = None
    hosts: Annotated[
        Positive | None,
        option("Simulate this many hosts instead of a fetch list.", faces=Face.COMMAND_LINE),
    ] = None
    urls: Annotated[
        Positive | None, option("With --hosts: this many URLs on them.", faces=Face.COMMAND_LINE)
    ] = None
    skew: Annotated[
        Annotated[float, Meta(ge=0)],
        option(
            "The n-th host has 1/n^SKEW as many URLs as the first; 0: all alike.",
            faces=Face.COMMAND_LINE,
        ),
    ] = 0.0
    parts: Annotated[
        Positive,
        option("Parts they are dealt to, each fetched by a task.", faces=Face.COMMAND_LINE),
    ] = 1
    latency: Annotated[
        Annotated[float, Meta(ge=0)],
        option("Mean seconds of a request to a host whose answers the HostDb has not measured."),
    ] = 0.5
    spread: Annotated[
        Annotated[float, Meta(ge=0, le=3)],
        option("Spread of latencies (log-normal: standard deviation of the logarithm)."),
    ] = 0.5
    measured: Annotated[
        bool, option("Take --latency for all hosts, whatever the HostDb has measured.", "--assume")
    ] = True
    threads: Annotated[
        Positive | None, option("Threads per task (default: fetcher.threads.fetch).")
    ] = None
    tasks: Annotated[Positive | None, option("Parts fetched at the same time (default: all).")] = (
        None
    )
    seed: Annotated[int, option("Another number, other latencies.")] = 0


def run(work: Work, options: SimulateOptions) -> dict[str, Any]:
    from crawl.fetcher.drivers.simulate import Latency
    from crawl.readers.simulate.simulation import simulate

    if options.threads is not None:
        work = work.with_settings({"fetcher.threads.fetch": options.threads}, "--threads")
    return simulate(
        _source(work, options),
        work.config,
        Latency(options.latency, options.spread),
        tasks=options.tasks,
        seed=options.seed,
        measured=options.measured,
    )


def _source(work: Work, options: SimulateOptions) -> Source:
    from crawl.driver.prechecks import require_segments
    from crawl.readers.simulate.simulation import segment_source, synthetic_source

    hosts, urls, segment = options.hosts, options.urls, options.segment
    if work.crawl is not None:
        if hosts is not None or urls is not None:
            raise UsageError("either a CRAWL_DIR or --hosts and --urls, not both")
        require_segments(work.crawl, (segment,) if segment else ())
        return segment_source(work.crawl, segment)
    if hosts is None or urls is None:
        raise UsageError("what to simulate? a CRAWL_DIR with a fetch list, or --hosts and --urls")
    return synthetic_source(hosts, urls, options.skew, options.parts, options.seed)


def render(result: dict[str, Any], asked: Asked) -> View:
    """How long each part takes, and which hosts take longest."""
    parts = result["parts"]
    rows = [
        [
            part["part"],
            part["urls"],
            part["hosts"],
            round(part["seconds"], 1),
            round(part["ideal_s"], 1),
            f"{part['thread_use']:.0%}",
            round(part["urls_per_s"], 1),
            part["robots_requests"],
            part["handed_back"],
        ]
        for part in parts
    ]
    last = sorted(
        (host for part in parts for host in part["longest"]), key=lambda host: -host["ended_s"]
    )[:_SHOWN_HOSTS]
    seconds = result["seconds"]
    pages = sum(part["urls"] - part["handed_back"] for part in parts)
    view: list[Part] = [
        Table(
            "parts",
            ["part", "urls", "hosts", "seconds", "ideal", "thread use", "urls/s", "robots", "left"],
            rows,
        ),
        Table(
            "hosts that end last",
            ["host", "requests", "ends at", "asking", "pausing", "waiting"],
            [[host["host"], host["requests"], *_seconds(host)] for host in last],
        ),
        Note(
            f"{result['source']}: {pages:,} pages in {seconds:,.0f} s ({_time(seconds)}),"
            f" {result['urls_per_s']:,.1f} a second"
        ),
    ]
    latencies = result["latencies"]
    if latencies["hostdb"] is not None:
        view.append(
            Note(
                f"response times of {latencies['measured']:,} of {latencies['hosts']:,} hosts are"
                f" measured (HostDb, snapshot {latencies['hostdb']}), those of the others assumed"
                " (--latency)"
            )
        )
    return view


def _seconds(host: dict[str, Any]) -> list[float]:
    return [round(host[f"{name}_s"], 1) for name in ("ended", "asking", "pausing", "waiting")]


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"


OPERATION = Operation(
    name="simulate",
    run=run,
    render=render,
    is_crawl_optional=True,
    help="""
    Predict how long a fetch takes, without sending a byte.

    The fetcher itself runs in virtual time: over a fetch list of CRAWL_DIR (the named
    segment, or the oldest that is not fetched yet), or, where none is named, over --urls spread
    over --hosts.

    A request takes as long as the host's answers did, where the HostDb has measured them
    (`crawl updatehostdb`), and --latency else.

    Assumptions: every host answers, its robots.txt (one request a host, unless it is
    on the allowlist) allows everything and asks for no pause; no two hosts share an address;
    the machine and its line are fast enough.
    """,
    examples=(
        "crawl simulate mycrawl --latency 0.3 --threads 50",
        "crawl simulate --hosts 20000 --urls 1000000 --skew 1 -D fetcher.server.delay=2",
    ),
    calls=('web.simulate(latency=0.3)["seconds"]',),
)
