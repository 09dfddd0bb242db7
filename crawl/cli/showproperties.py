"""crawl showproperties: every property, its value and where that came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import click

from crawl.cli.options import json_option, with_config
from crawl.cli.output import echo, print_json, print_table, remark
from crawl.config import Config, Property
from crawl.config.properties import CORE
from crawl.config.render import distinct, render, toml
from crawl.declared import declared_properties
from crawl.errors import UsageError
from crawl.masking import MARK, masked_setting
from crawl.nearest import nearest


@dataclass(frozen=True, slots=True)
class Shown:
    """One line of the answer."""

    key: str
    value: object
    unit: str
    origin: str
    kind: str
    about: str
    masked: bool = False
    """Whether the value, or a part of it, is a secret and not shown."""


def shown(
    config: Config, properties: Iterable[Property[Any]], *, show_secrets: bool = False
) -> list[Shown]:
    """The properties with their values, and the settings that Spark is given, by key; what
    somebody set is masked where it is a secret."""
    lines = [
        Shown(
            each.name,
            config[each],
            each.unit,
            config.origin(each),
            each.kind.name,
            each.about,
        )
        for each in distinct(properties)
    ]
    for key, value in config.spark_settings().items():
        lines.append(Shown(key, value, "", config.given[key].origin, "text", "Given to Spark."))
    if not show_secrets:
        lines = [_masked(line) if line.key in config.given else line for line in lines]
    return sorted(lines, key=lambda line: line.key)


def _masked(line: Shown) -> Shown:
    value = masked_setting(line.key, line.value)
    return line if value == line.value else replace(line, value=value, masked=True)


def matching(lines: list[Shown], pattern: str) -> list[Shown]:
    """Those whose key contains the pattern, or fits it where it has wildcards."""
    wanted = pattern.lower()
    if not any(wildcard in wanted for wildcard in "*?["):
        wanted = f"*{wanted}*"
    found = [line for line in lines if fnmatchcase(line.key.lower(), wanted)]
    if not found:
        near = nearest(pattern, (line.key for line in lines))
        raise UsageError(f"no property matches {pattern!r}{near}")
    return found


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
    properties = [*CORE.values(), *declared_properties()]
    if as_toml:
        echo(render(properties).removesuffix("\n"))
        return
    lines = shown(config, properties, show_secrets=show_secrets)
    if pattern:
        lines = matching(lines, pattern)
    if changed:
        names = {change.name for change in config.changed()}
        lines = [line for line in lines if line.key in names]
    masked = sum(line.masked for line in lines)
    if masked:
        told = "1 value is a secret" if masked == 1 else f"{masked} values are secrets"
        remark(f"showproperties: {told}, shown as {MARK}; --show-secrets prints them")
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    print_table(
        "properties",
        ["key", "value", "unit", "origin"],
        [[line.key, _plain(line.value), line.unit, line.origin] for line in lines],
    )
