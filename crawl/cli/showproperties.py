"""crawl showproperties: every property, its value and where that came from."""

from __future__ import annotations

from dataclasses import asdict

import click

from crawl.cli.common.options import json_option, with_config
from crawl.cli.common.output import echo, print_json, print_table, remark
from crawl.config import Config
from crawl.config.properties import CORE
from crawl.config.render import render, toml
from crawl.declared import properties_in_use
from crawl.masking import MARK
from crawl.readers.showproperties.settings import matching, settings_in_use


def _plain(value: object) -> str:
    """A value as it would be typed after `-D KEY=`."""
    if isinstance(value, tuple):
        return " ".join(map(_plain, value))
    return value if isinstance(value, str) else toml(value)


@click.command("showproperties")
@click.argument("pattern", default="")
@click.option("--changed", is_flag=True, help="Only those that differ from their defaults.")
@json_option
@click.option(
    "--toml",
    "as_toml",
    is_flag=True,
    help="Every property documented with its default, as conf/crawl-default.toml.",
)
@click.option("--show-secrets", is_flag=True, help="Print passwords and tokens as they are.")
@with_config
def command(
    pattern: str,
    changed: bool,
    as_json: bool,
    as_toml: bool,
    show_secrets: bool,
    config: Config,
) -> None:
    """List every property, its value, its unit and where the value came from.

    PATTERN is a part of the names wanted, or a whole name with wildcards. What a property
    is for: --json tells it, and so does --toml. Passwords, tokens and headers that look
    like credentials are shown as ***, unless --show-secrets is given.

    \b
    Examples:
      crawl showproperties
      crawl showproperties delay
      crawl showproperties 'fetcher.*.delay'
      crawl showproperties --changed -D fetcher.server.delay=2
      crawl showproperties --toml > all.toml
    """
    properties = [*CORE.values(), *properties_in_use(config)]
    if as_toml:
        echo(render(properties).removesuffix("\n"))
        return
    lines = settings_in_use(config, properties, show_secrets=show_secrets)
    if pattern:
        lines = matching(lines, pattern)
    if changed:
        names = {change.name for change in config.changed()}
        lines = [line for line in lines if line.key in names]
    masked = sum(line.masked for line in lines)
    if masked:
        secrets = "1 value is a secret" if masked == 1 else f"{masked} values are secrets"
        remark(f"showproperties: {secrets}, shown as {MARK}; --show-secrets prints them")
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    print_table(
        "properties",
        ["key", "value", "unit", "origin"],
        [[line.key, _plain(line.value), line.unit, line.origin] for line in lines],
    )
