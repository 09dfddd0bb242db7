"""crawl status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from crawl.cli.common.options import crawl_dir_argument, json_option, with_config
from crawl.cli.common.output import print_json, print_table, remark
from crawl.cli.common.waiting_hosts import waiting_hosts_text
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.model.costs import EngineCosts
from crawl.operations.amounts import format_bytes
from crawl.readers.status.phase_costs import phase_costs
from crawl.readers.status.segments import hosts_left_alone, segments_status
from crawl.rounds.derived import behind, read_facts
from crawl.storage.crawl_dir import CrawlDir

_HOSTS_SHOWN = 10
"""The first to be asked again."""


@click.command("status")
@crawl_dir_argument
@click.option("--hosts", "only_hosts", is_flag=True, help="List all hosts in backoff.")
@click.option(
    "--phases", "only_phases", is_flag=True, help="List what the phases of the last round cost."
)
@click.option(
    "--behind",
    "only_behind",
    is_flag=True,
    help="List the derived tables that are behind what they are made from.",
)
@json_option
@with_config
def command(
    crawl_dir: str,
    only_hosts: bool,
    only_phases: bool,
    only_behind: bool,
    as_json: bool,
    config: Config,
) -> None:
    """Show how far the segments of CRAWL_DIR are, also while another process fetches them.

    The state of a segment is `generated`, `interrupted` in its fetch, `fetched`, `parsed` or
    `updated`: the CrawlDb has taken it in; or it is the command that works on it now. Hosts
    that do not answer are left alone for a time that doubles (backoff): the first of them are
    listed, and all of them with --hosts.

    Tables that are made from others (LinkDb, link graph, index …) are listed where they are behind,
    with the command that brings each up to date; --behind lists nothing else.

    With --phases, each phase since the newest segment was generated: when it began, how long it
    took, Spark's jobs and tasks, the bytes that it read from and wrote to the crawl's folders,
    those that tasks exchanged through Spark's shuffle, and those that passed the driver (tasks
    sent out, results returned). What a report does not tell is `-`. --json has more, by step too.

    \b
    Examples:
      crawl status mycrawl
      crawl status mycrawl --phases
      crawl status mycrawl --hosts --json
      crawl status mycrawl --behind
      watch crawl status mycrawl
    """
    directory = CrawlDir(crawl_dir)
    if only_hosts + only_phases + only_behind > 1:
        raise UsageError("--hosts, --phases and --behind exclude each other")
    directory.require_crawldb()
    if only_phases:
        _show_phases(directory, as_json=as_json)
        return
    if only_behind:
        _show_behind(directory, as_json=as_json, first=True)
        return
    hosts = hosts_left_alone(directory, config, SystemClock())
    if only_hosts:
        _show_hosts(hosts, as_json=as_json, first=True)
        return
    rows = segments_status(directory, config, SystemClock())
    if as_json:
        print_json(rows)
        return
    columns = ["segment", "urls", "records", "state", "progress"]
    print_table("segments", columns, [[row[name] for name in columns] for row in rows])
    if hosts:
        _show_hosts(hosts[:_HOSTS_SHOWN], as_json=False, first=False)
        remark(f"status: {waiting_hosts_text(len(hosts), hosts[0]['until'])}")
    _show_behind(directory, as_json=False, first=False)


def _show_behind(directory: CrawlDir, *, as_json: bool, first: bool) -> None:
    rows = [each.values(directory.address) for each in behind(read_facts(directory))]
    if as_json:
        print_json(rows)
    elif rows or first:
        cells = [[row[name] for name in ("table", "reason", "command")] for row in rows]
        print_table("behind", ["behind", "why", "command"], cells, first=first)


def _show_hosts(hosts: Sequence[dict[str, Any]], *, as_json: bool, first: bool) -> None:
    if as_json:
        print_json(hosts)
        return
    columns = ["host", "reason", "failed rounds", "until"]
    cells = [list(row.values()) for row in hosts]
    print_table("hosts in backoff", columns, cells, first=first)


def _show_phases(directory: CrawlDir, *, as_json: bool) -> None:
    rows = phase_costs(directory, lambda line: remark(f"status: {line}"))
    if as_json:
        print_json(rows)
        return
    columns = ["phase", "started", "seconds", "jobs", "tasks", "retried"]
    columns += ["read", "written", "exchanged", "driver"]
    print_table("phases of the last round", columns, [_phase_cells(row) for row in rows])
    for row in rows:
        if EngineCosts.of_dict(row).is_near_result_limit:
            most, limit = row["largest_result_bytes"], row["result_limit_bytes"]
            remark(
                f"status: {row['phase']}: the tasks of one job returned {format_bytes(most)}, more"
                f" than half of spark.driver.maxResultSize ({format_bytes(limit)})"
            )


def _phase_cells(row: dict[str, Any]) -> list[object]:
    seconds = row["seconds"]
    counts = [row[name] for name in ("jobs", "tasks", "retried_tasks")]
    sizes = [row[f"bytes_{name}"] for name in ("read", "written", "exchanged")]
    return [
        row["phase"],
        row["started"],
        _UNKNOWN if seconds is None else round(seconds, 1),
        *(_UNKNOWN if count is None else count for count in counts),
        *(
            _UNKNOWN if size is None else format_bytes(size)
            for size in [*sizes, row["driver_bytes"]]
        ),
    ]


_UNKNOWN = "-"
