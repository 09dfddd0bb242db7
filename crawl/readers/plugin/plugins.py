"""Which plugins there are, which are active, in what order, and why."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from crawl.config import Config, Property
from crawl.config.properties import CORE
from crawl.declared import declared_properties
from crawl.errors import PluginError
from crawl.interfaces.chains import describe
from crawl.interfaces.registry import INTERFACES, Interface, ResolvedPlugin, available, resolve


@dataclass(frozen=True, slots=True)
class PluginLine:
    """One plugin of one interface."""

    interface: str
    plugin: str
    active: str
    """Its place in the chain, or why it is not in it."""
    why: str
    target: str


def list_plugins_of(config: Config) -> list[PluginLine]:
    """Those of every interface."""
    return [line for interface in INTERFACES for line in _plugins_of(interface, config)]


def _plugins_of(interface: Interface, config: Config) -> list[PluginLine]:
    installed = available(interface.name)
    active = _active(interface, config)
    if active is None:
        if not installed:
            return [PluginLine(interface.name, "-", "no", "none installed", interface.about)]
        why = "no phase asks for this interface yet"
        return [_inactive_line(plugin, why) for plugin in installed.values()]
    used = {line.plugin for line in active}
    why = f"not in {interface.setting}"
    return [
        *active,
        *(_inactive_line(plugin, why) for name, plugin in installed.items() if name not in used),
    ]


def _active(interface: Interface, config: Config) -> list[PluginLine] | None:
    """The active plugins; None where nothing in the configuration names any."""
    if interface.name in CHAINED:
        return [
            _active_line(
                each.plugin,
                f"{each.position} in scope {each.scope}" if each.scope else str(each.position),
                f"{each.property} ({each.origin})",
            )
            for each in describe(config)
            if each.plugin.interface == interface.name
        ]
    declared = _declared_properties().get(interface.setting)
    if declared is None:
        return None
    value = config[declared]
    names = [value] if isinstance(value, str) else list(value)
    why = f"{interface.setting} ({config.origin(declared)})"
    return [
        _active_line(plugin, str(place), why)
        for place, plugin in enumerate(resolve(interface.name, names), start=1)
    ]


@cache
def _declared_properties() -> dict[str, Property[Any]]:
    return {**CORE, **{each.name: each for each in declared_properties()}}


CHAINED = ("urlnormalizer", "urlfilter")
"""The interfaces whose chains tell themselves what is in them."""


def _active_line(plugin: ResolvedPlugin, place: str, why: str) -> PluginLine:
    try:
        plugin.load()
    except PluginError as error:
        return PluginLine(plugin.interface, plugin.name, "broken", str(error), plugin.target)
    return PluginLine(plugin.interface, plugin.name, place, why, plugin.target)


def _inactive_line(plugin: ResolvedPlugin, why: str) -> PluginLine:
    return PluginLine(plugin.interface, plugin.name, "no", why, plugin.target)
