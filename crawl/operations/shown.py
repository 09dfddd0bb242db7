"""What several operations show in the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crawl.clock import moment
from crawl.operations.operation import Asked
from crawl.operations.results import PhaseResult
from crawl.operations.view import Note
from crawl.printable import plural


def counter_rows(counters: Mapping[str, int], families: Sequence[str]) -> list[list[object]]:
    """A report's counters as rows of a table: all that are not zero, related ones together.
    `families`: beginnings of names, in the order of their rows. A counter of none of them comes
    last, and is shown too, since the rare ones tell what went wrong."""

    def place(name: str) -> tuple[int, str]:
        places = (at for at, family in enumerate(families) if name.startswith(family))
        return next(places, len(families)), name

    return [[name, counters[name]] for name in sorted(counters, key=place) if counters[name]]


def reason_rows(result: PhaseResult, families: tuple[str, ...]) -> list[list[object]]:
    """The counters whose names begin so and that are not zero, each with an example."""
    samples = result.report["samples"]
    return [
        [name, count, next(iter(samples.get(name, ())), "")]
        for name, count in sorted(result.counters.items())
        if count and name.startswith(families)
    ]


def segments_text(result: PhaseResult) -> str:
    """The segments that a phase took in: how many, and their names."""
    return f"{plural(len(result.segments), 'segment')}: {', '.join(result.segments)}"


def crawldb_note(result: PhaseResult, asked: Asked) -> Note:
    """Which state the CrawlDb is in now, and how large it is."""
    return Note(
        f"{asked.address}/crawldb is now snapshot {result.snapshot} with {result.db_urls:,} URLs"
    )


def waiting_hosts_text(hosts: int, until: str) -> str:
    """How many hosts are in backoff, and until when the first of them is."""
    waiting = "1 host is" if hosts == 1 else f"{hosts:,} hosts are"
    return f"{waiting} in backoff, the first until {until}"


def waiting_hosts_note(hosts: int, next_ms: int | None) -> str:
    """The same as the rest of a line; empty where no host waits."""
    if not hosts or next_ms is None:
        return ""
    return f"; {waiting_hosts_text(hosts, moment(next_ms))}"
