"""status: how far a crawl is. One command, which shows an overview or one of its lists; in the API
each list is an operation of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from crawl.model.costs import EngineCosts
from crawl.operations.amounts import format_bytes
from crawl.operations.operation import Asked, NoOptions, Operation
from crawl.operations.options import selector
from crawl.operations.shown import waiting_hosts_text
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work

_SHOWN_HOSTS = 10
"""The first to be asked again."""
_UNKNOWN = "-"

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostsOptions:
    """The options of the hosts in backoff."""

    hosts: Annotated[bool, selector("List all hosts in backoff.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesOptions:
    """The options of what phases cost."""

    phases: Annotated[bool, selector("List what the phases of the last round cost.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BehindOptions:
    """The options of the tables that are behind."""

    behind: Annotated[
        bool, selector("List the derived tables that are behind what they are made from.")
    ] = False


@dataclass(frozen=True, slots=True)
class Overview:
    """What a person wants to know first."""

    segments: Rows
    hosts: Rows
    """Those in backoff."""
    behind: Rows
    """The derived tables that are."""


def run_overview(work: Work, options: NoOptions) -> Overview:
    return Overview(
        segments=run_segments(work, options),
        hosts=run_hosts(work, HostsOptions()),
        behind=run_behind(work, BehindOptions()),
    )


def run_segments(work: Work, options: NoOptions) -> Rows:
    from crawl.readers.status.segments import segments_status

    work.directory.require_crawldb()
    return segments_status(work.directory, work.config, work.clock)


def run_hosts(work: Work, options: HostsOptions) -> Rows:
    from crawl.readers.status.segments import hosts_left_alone

    return hosts_left_alone(work.directory, work.config, work.clock)


def run_phases(work: Work, options: PhasesOptions) -> Rows:
    from crawl.readers.status.phase_costs import phase_costs

    work.directory.require_crawldb()
    return phase_costs(work.directory, work.remark)


def run_behind(work: Work, options: BehindOptions) -> Rows:
    from crawl.driver.derived import behind, read_facts

    work.directory.require_crawldb()
    tables = behind(read_facts(work.directory))
    return [each.values(work.directory.address) for each in tables]


def render_overview(overview: Overview, asked: Asked) -> View:
    view: list[Part] = [*render_segments(overview.segments, asked)]
    if hosts := overview.hosts:
        view += render_hosts(hosts[:_SHOWN_HOSTS], asked)
        view.append(Note(waiting_hosts_text(len(hosts), hosts[0]["until"])))
    return [*view, *render_behind(overview.behind, asked)] if overview.behind else view


def render_segments(segments: Rows, asked: Asked) -> View:
    columns = ["segment", "urls", "records", "state", "progress"]
    return [Table("segments", columns, [_cells(row, columns) for row in segments])]


def render_hosts(hosts: Rows, asked: Asked) -> View:
    columns = ["host", "reason", "failed rounds", "until"]
    return [Table("hosts in backoff", columns, [list(row.values()) for row in hosts])]


def render_behind(tables: Rows, asked: Asked) -> View:
    rows = [_cells(row, ["table", "reason", "command"]) for row in tables]
    return [Table("behind", ["behind", "why", "command"], rows)]


def render_phases(phases: Rows, asked: Asked) -> View:
    columns = ["phase", "started", "seconds", "jobs", "tasks", "retried"]
    columns += ["read", "written", "exchanged", "driver"]
    view: list[Part] = [Table("phases of the last round", columns, list(map(_phase_cells, phases)))]
    for row in phases:
        if EngineCosts.of_dict(row).is_near_result_limit:
            largest, limit = row["largest_result_bytes"], row["result_limit_bytes"]
            view.append(
                Note(
                    f"{row['phase']}: the tasks of one job returned {format_bytes(largest)}, more"
                    f" than half of spark.driver.maxResultSize ({format_bytes(limit)})"
                )
            )
    return view


def _cells(row: dict[str, Any], names: Sequence[str]) -> list[Any]:
    return [row[name] for name in names]


def _phase_cells(row: dict[str, Any]) -> list[object]:
    seconds = row["seconds"]
    counts = _cells(row, ["jobs", "tasks", "retried_tasks"])
    sizes = _cells(row, ["bytes_read", "bytes_written", "bytes_exchanged", "driver_bytes"])
    return [
        row["phase"],
        row["started"],
        _UNKNOWN if seconds is None else round(seconds, 1),
        *(_UNKNOWN if count is None else count for count in counts),
        *(_UNKNOWN if size is None else format_bytes(size) for size in sizes),
    ]


OPERATIONS = (
    Operation(
        name="overview",
        command="status",
        method="",
        command_help="""
        Show how far the segments of CRAWL_DIR are, also while another process fetches them.

        The state of a segment is `generated`, `interrupted` in its fetch, `fetched`, `parsed` or
        `updated`: the CrawlDb has taken it in; or it is the command that works on it now. Hosts
        that do not answer are left alone for a time that doubles (backoff): the first of them are
        listed, and all of them with --hosts.

        Tables that are made from others (LinkDb, link graph, index …) are listed where they are
        behind, with the command that brings each up to date; --behind lists nothing else.

        With --phases, each phase since the newest segment was generated: when it began, how long it
        took, Spark's jobs and tasks, the bytes that it read from and wrote to the crawl's folders,
        those that tasks exchanged through Spark's shuffle, and those that passed the driver (tasks
        sent out, results returned). What a report does not tell is `-`. --json has more, by step
        too.
        """,
        examples=(
            "crawl status mycrawl",
            "crawl status mycrawl --phases",
            "crawl status mycrawl --hosts --json",
            "crawl status mycrawl --behind",
            "watch crawl status mycrawl",
        ),
        run=run_overview,
        render=render_overview,
        values=lambda overview, asked: overview.segments,
        help="The segments, the first hosts in backoff, and the derived tables that are behind.",
    ),
    Operation(
        name="status",
        run=run_segments,
        render=render_segments,
        help="""
        How far each segment is, also while another process works on it. Its state is `generated`,
        `interrupted` in its fetch, `fetched`, `parsed` or `updated`: the CrawlDb has taken it in;
        or it is the command that works on it now.
        """,
        calls=('web.status()[-1]["state"]',),
    ),
    Operation(
        name="hosts_left_alone",
        command="status",
        run=run_hosts,
        render=render_hosts,
        help="""
        The hosts whose URLs are not selected for now (backoff), why, and until when, the first to
        be asked again first.
        """,
        calls=('[host["until"] for host in web.hosts_left_alone()]',),
    ),
    Operation(
        name="phase_costs",
        command="status",
        run=run_phases,
        render=render_phases,
        help="""
        What each phase of the last round took: seconds, the engine's jobs and tasks, and the bytes
        that were read, written, exchanged between tasks and passed through the driver. A figure
        that its report does not tell is None.
        """,
        calls=('web.phase_costs()[-1]["bytes_exchanged"]',),
    ),
    Operation(
        name="behind",
        command="status",
        run=run_behind,
        render=render_behind,
        help="""
        The derived tables that are behind what they are made from, such as a LinkDb that lacks
        segments: why, and the command that brings each up to date. Only those that the crawl has.
        """,
        calls=('[table["command"] for table in web.behind()]',),
    ),
)
