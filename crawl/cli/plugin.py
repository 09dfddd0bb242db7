"""crawl plugin."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

from crawl.cli.options import json_option, with_config
from crawl.cli.output import print_json, print_table
from crawl.config import Config
from crawl.config.properties import CORE
from crawl.errors import PluginError
from crawl.interfaces.chains import PROPERTIES
from crawl.interfaces.registry import INTERFACES, Interface, available, resolve


@dataclass(frozen=True, slots=True)
class Listed:
    """One plugin of one interface."""

    interface: str
    plugin: str
    active: str
    """Its place in the chain, or why it is not in it."""
    why: str
    target: str


@click.group("plugin")
def command() -> None:
    """What can be plugged into the crawler, and what is."""


@command.command("list")
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
    found = [line for interface in INTERFACES for line in _listed(interface, config)]
    if only_active:
        found = [line for line in found if line.active[:1].isdigit()]
    if as_json:
        print_json([asdict(line) for line in found])
    else:
        print_table(
            "plugins",
            ["interface", "plugin", "active", "why", "code"],
            [[each.interface, each.plugin, each.active, each.why, each.target] for each in found],
        )


_ORDERS = {**CORE, **{each.name: each for each in PROPERTIES}}
"""The properties that may name the active plugins of an interface."""


def _listed(interface: Interface, config: Config) -> list[Listed]:
    installed = available(interface.name)
    declared = _ORDERS.get(interface.setting)
    if declared is None:
        why = "no phase asks for this interface yet"
        return [
            Listed(interface.name, plugin.name, "no", why, plugin.target)
            for plugin in installed.values()
        ] or [Listed(interface.name, "-", "no", "none installed", interface.about)]
    value = config[declared]
    names = [value] if isinstance(value, str) else list(value)
    why = f"{interface.setting} ({config.origin(declared)})"
    lines = []
    for place, plugin in enumerate(resolve(interface.name, names), start=1):
        try:
            plugin.load()
            lines.append(Listed(interface.name, plugin.name, str(place), why, plugin.target))
        except PluginError as error:
            lines.append(Listed(interface.name, plugin.name, "broken", str(error), plugin.target))
    lines += [
        Listed(interface.name, plugin.name, "no", f"not in {interface.setting}", plugin.target)
        for name, plugin in installed.items()
        if name not in names
    ]
    return lines
