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
class Listed:
    """One plugin of one interface."""

    interface: str
    plugin: str
    active: str
    """Its place in the chain, or why it is not in it."""
    why: str
    target: str


def plugins_listed(config: Config) -> list[Listed]:
    """Those of every interface."""
    return [line for interface in INTERFACES for line in _listed(interface, config)]


def _listed(interface: Interface, config: Config) -> list[Listed]:
    installed = available(interface.name)
    active = _active(interface, config)
    if active is None:
        if not installed:
            return [Listed(interface.name, "-", "no", "none installed", interface.about)]
        why = "no phase asks for this interface yet"
        return [_not_active(plugin, why) for plugin in installed.values()]
    used = {line.plugin for line in active}
    why = f"not in {interface.setting}"
    return [
        *active,
        *(_not_active(plugin, why) for name, plugin in installed.items() if name not in used),
    ]


def _active(interface: Interface, config: Config) -> list[Listed] | None:
    """The active plugins; None where nothing in the configuration names any."""
    if interface.name in CHAINED:
        return [
            _shown(
                ResolvedPlugin(each.interface, each.name, each.target),
                f"{each.position} in scope {each.scope}" if each.scope else str(each.position),
                f"{each.property} ({each.origin})",
            )
            for each in describe(config)
            if each.interface == interface.name
        ]
    declared = _declared().get(interface.setting)
    if declared is None:
        return None
    value = config[declared]
    names = [value] if isinstance(value, str) else list(value)
    why = f"{interface.setting} ({config.origin(declared)})"
    return [
        _shown(plugin, str(place), why)
        for place, plugin in enumerate(resolve(interface.name, names), start=1)
    ]


@cache
def _declared() -> dict[str, Property[Any]]:
    return {**CORE, **{each.name: each for each in declared_properties()}}


CHAINED = ("urlnormalizer", "urlfilter")
"""The interfaces whose chains tell themselves what is in them."""


def _shown(plugin: ResolvedPlugin, place: str, why: str) -> Listed:
    try:
        plugin.load()
    except PluginError as error:
        return Listed(plugin.interface, plugin.name, "broken", str(error), plugin.target)
    return Listed(plugin.interface, plugin.name, place, why, plugin.target)


def _not_active(plugin: ResolvedPlugin, why: str) -> Listed:
    return Listed(plugin.interface, plugin.name, "no", why, plugin.target)
