"""crawl status."""

from __future__ import annotations

from collections.abc import Sequence

import click

from crawl.buckets.generate.host_gate import SAME_PAGES
from crawl.buckets.generate.why import moment
from crawl.buckets.hosts import left_out_until, waiting_hosts
from crawl.cli import fetch_progress, parse_progress
from crawl.cli.hosts_told import hosts_wait
from crawl.cli.options import crawl_dir_argument, json_option, with_config
from crawl.cli.output import print_json, print_table, remark
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.config.properties import DB_HOST_WAIT_MAX, LOCK_STALE_AFTER
from crawl.model.hosts import HostState
from crawl.phases import updatedb
from crawl.printable import printable
from crawl.rounds import Stage
from crawl.rounds.loop import stage_of
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import holder_of
from crawl.storage.segments import FETCH, GENERATE

_HOSTS_SHOWN = 10
"""The first to be asked again."""
_STATES = {
    Stage.GENERATED: "generated",
    Stage.FETCHING: "interrupted",
    Stage.FETCHED: "fetched",
    Stage.PARSED: "parsed",
    Stage.UPDATED: "updated",
}


@click.command("status")
@crawl_dir_argument
@click.option("--hosts", "only_hosts", is_flag=True, help="List all hosts that are left alone.")
@json_option
@with_config
def command(crawl_dir: str, only_hosts: bool, as_json: bool, config: Config) -> None:
    """Tell how far the segments of CRAWL_DIR are; also of a fetch that is running elsewhere.

    The state of a segment is `generated`, `interrupted` in its fetch, `fetched`, `parsed` or
    `updated`: the CrawlDb has taken it in; or it is the command that works on it now. Hosts
    that answered nothing are left alone for a while that doubles: the first of them are listed,
    and all of them with --hosts.

    \b
    Examples:
      crawl status mycrawl
      crawl status mycrawl --hosts --json
      watch crawl status mycrawl
    """
    directory = CrawlDir(crawl_dir)
    snapshot = directory.require_crawldb()
    clock = SystemClock()
    longest_ms = round(config[DB_HOST_WAIT_MAX] * 1000)
    hosts = waiting_hosts(directory.crawldb.folder, snapshot, clock.now_ms(), longest_ms)
    if only_hosts:
        _show_hosts(hosts, longest_ms, as_json=as_json, first=True)
        return
    stale_after_ms = config[LOCK_STALE_AFTER] * 60_000
    applied = updatedb.applied(directory)
    rows = []
    for segment in directory.segments.generated():
        urls = segment.require(GENERATE).rows
        fetched = segment.manifest(FETCH)
        holder = holder_of(segment.folder)
        if holder is not None and holder.is_dead(clock.now_ms(), stale_after_ms):
            holder = None
        if holder is not None:
            state = f"{holder.command} on {holder.host}"
        else:
            state = _STATES[stage_of(segment, applied)]
        told, waits = "", []
        if holder is not None and holder.command == "parse":
            told = str(parse_progress.progress_of(segment))
        elif holder is not None:
            progress = fetch_progress.progress_of(segment)
            told, waits = str(progress), list(progress.waits)
        rows.append(
            {
                "segment": segment.name,
                "urls": urls,
                "records": fetched.rows if fetched else 0,
                "state": state,
                "progress": told,
                "waits": waits,
            }
        )
    if as_json:
        print_json(rows)
        return
    columns = ["segment", "urls", "records", "state", "progress"]
    print_table("segments", columns, [[row[name] for name in columns] for row in rows])
    if hosts:
        _show_hosts(hosts[:_HOSTS_SHOWN], longest_ms, as_json=False, first=False)
        next_ms = left_out_until(hosts[0], longest_ms)
        remark(f"status: {hosts_wait(len(hosts), next_ms).removeprefix('; ')}")


def _show_hosts(hosts: Sequence[HostState], longest_ms: int, *, as_json: bool, first: bool) -> None:
    rows = [_host(state, longest_ms) for state in hosts]
    if as_json:
        print_json(rows)
        return
    columns = ["host", "reason", "rounds in vain", "until"]
    cells = [list(row.values()) for row in rows]
    print_table("hosts that are left alone", columns, cells, first=first)


def _host(state: HostState, longest_ms: int) -> dict[str, object]:
    is_slowed = state.slow_until > state.wait_until
    return {
        "host": printable(state.host),
        "reason": SAME_PAGES if is_slowed else state.reason,
        "failures": state.slowed if is_slowed else state.failures,
        "until": moment(left_out_until(state, longest_ms)),
    }
