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
from crawl.inspect.segments import hosts_left_alone, segments_status
from crawl.storage.crawl_dir import CrawlDir

_HOSTS_SHOWN = 10
"""The first to be asked again."""


@click.command("status")
@crawl_dir_argument
@click.option("--hosts", "only_hosts", is_flag=True, help="List all hosts in backoff.")
@json_option
@with_config
def command(crawl_dir: str, only_hosts: bool, as_json: bool, config: Config) -> None:
    """Show how far the segments of CRAWL_DIR are, also while another process fetches them.

    The state of a segment is `generated`, `interrupted` in its fetch, `fetched`, `parsed` or
    `updated`: the CrawlDb has taken it in; or it is the command that works on it now. Hosts
    that do not answer are left alone for a time that doubles (backoff): the first of them are
    listed, and all of them with --hosts.

    \b
    Examples:
      crawl status mycrawl
      crawl status mycrawl --hosts --json
      watch crawl status mycrawl
    """
    directory = CrawlDir(crawl_dir)
    directory.require_crawldb()
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


def _show_hosts(hosts: Sequence[dict[str, Any]], *, as_json: bool, first: bool) -> None:
    if as_json:
        print_json(hosts)
        return
    columns = ["host", "reason", "failed rounds", "until"]
    cells = [list(row.values()) for row in hosts]
    print_table("hosts in backoff", columns, cells, first=first)
