"""crawl plugin."""

from __future__ import annotations

from dataclasses import asdict

import click

from crawl.cli.common.options import json_option, with_config
from crawl.cli.common.output import print_json, print_table
from crawl.config import Config
from crawl.readers.plugin.plugins import list_plugins_of


@click.group("plugin")
def command() -> None:
    """What can be plugged into the crawler, and what is.

    \b
    Examples:
      crawl plugin list
      crawl plugin list --active
    """


@command.command("list", short_help="every plugin, which are active, and why")
@click.option("--active", "only_active", is_flag=True, help="Only the active ones.")
@json_option
@with_config
def list_plugins(only_active: bool, as_json: bool, config: Config) -> None:
    """List every interface's plugins: which are active, in what order, and why.

    \b
    Examples:
      crawl plugin list
      crawl plugin list --active -D urlfilter.order=regex,domain
    """
    found = list_plugins_of(config)
    if only_active:
        found = [line for line in found if line.active[:1].isdigit()]
    if as_json:
        print_json([asdict(line) for line in found])
    else:
        print_table(
            "plugins",
            ["interface", "plugin", "active", "why"],
            [[each.interface, each.plugin, each.active, each.why] for each in found],
        )
