"""Finds plugins by entry point and builds them.

A plugin is named in the configuration by its entry-point name or directly as
`module:attr`. Names are resolved once, on the driver, because executors may have the
code (by --py-files) without the package metadata that entry points live in; what
travels is the resolved `module:attr` text.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from crawl.config import Config, Property, properties_in
from crawl.did_you_mean import did_you_mean
from crawl.errors import CrawlError, PluginError

GROUP_PREFIX = "nutria."
_SEPARATORS = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Interface:
    """One seam that plugins fill."""

    name: str
    setting: str
    """The configuration key that names the active plugins, in order."""
    about: str

    @property
    def group(self) -> str:
        return GROUP_PREFIX + self.name


INTERFACES: tuple[Interface, ...] = (
    Interface("protocol", "plugin.protocol", "fetches a URL of one scheme"),
    Interface("urlnormalizer", "urlnormalizer.order", "one spelling for one page"),
    Interface("urlfilter", "urlfilter.order", "which URLs may be in the crawl"),
    Interface("urlexemption", "urlexemption.order", "external links kept all the same"),
    Interface("scoring", "scoring.filter.order", "how important a URL is"),
    Interface("schedule", "db.fetch.schedule.class", "when a URL is due again"),
    Interface("signature", "db.signature.class", "whether two pages are the same"),
    Interface("parser", "plugin.parser", "text, data and links of a page"),
    Interface("parsefilter", "parsefilter.order", "adds to what a parser found"),
    Interface("indexingfilter", "indexingfilter.order", "fields of a page's document"),
    Interface("indexwriter", "index.writers", "where documents go"),
)


def interface(name: str) -> Interface:
    """The interface of that name."""
    for candidate in INTERFACES:
        if candidate.name == name:
            return candidate
    raise PluginError(f"no interface is called {name!r}")


@dataclass(frozen=True, slots=True)
class ResolvedPlugin:
    """A plugin found: all that an executor needs to build it."""

    interface: str
    name: str
    target: str
    """`module:attr`."""

    def load(self) -> Any:
        """The plugin class; PluginError where its code cannot be imported."""
        module_name, _, attribute = self.target.partition(":")
        try:
            value: Any = importlib.import_module(module_name)
            for part in attribute.split("."):
                value = getattr(value, part)
        except Exception as error:  # a foreign module may raise anything while imported
            raise PluginError(
                f"{self.interface} plugin {self.name!r} cannot be loaded"
                f" from {self.target}: {_one_line(error)}"
            ) from error
        return value

    def declared_properties(self) -> tuple[Property[Any], ...]:
        """Those that the class lists as its `properties`; else all that are constants of the
        module where it is written, and of those of its bases."""
        plugin = self.load()
        if hasattr(plugin, "properties"):
            return tuple(plugin.properties)
        modules = [sys.modules.get(each.__module__) for each in getattr(plugin, "__mro__", ())]
        return properties_in(*filter(None, modules))

    def build(self, config: Config) -> Any:
        """The plugin, configured; PluginError where it refuses for no reason of ours."""
        plugin = self.load()
        try:
            return plugin(config)
        except CrawlError:
            raise
        except Exception as error:
            raise PluginError(
                f"{self.interface} plugin {self.name!r} ({self.target}) cannot be built:"
                f" {_one_line(error)}"
            ) from error


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


@cache
def _installed() -> dict[str, dict[str, EntryPoint]]:
    """By group and name. All at once: finding those of one group reads the metadata of every
    installed package, too."""
    entries = entry_points()
    return {
        each.group: {entry.name: entry for entry in entries.select(group=each.group)}
        for each in INTERFACES
    }


def available(interface_name: str) -> dict[str, ResolvedPlugin]:
    """Every installed plugin of the interface, by name."""
    entries = _installed()[interface(interface_name).group]
    return {
        name: ResolvedPlugin(interface_name, name, entry.value.strip())
        for name, entry in sorted(entries.items())
    }


def resolve(interface_name: str, names: Iterable[str]) -> tuple[ResolvedPlugin, ...]:
    """The named plugins in the given order; PluginError names the nearest for a typo."""
    installed = available(interface_name)
    chain: list[ResolvedPlugin] = []
    for name in names:
        if ":" in name:
            chain.append(ResolvedPlugin(interface_name, name, name))
        elif name in installed:
            chain.append(installed[name])
        else:
            raise PluginError(
                f"no {interface_name} plugin is called {name!r}"
                + (did_you_mean(name, installed) or f" (there is {', '.join(installed) or 'none'})")
                + f"; set in {interface(interface_name).setting}"
            )
    return tuple(chain)


def direct_names(raw: object) -> Iterator[str]:
    """The plugins that the raw value of a setting names as `module:attr`."""
    names = _SEPARATORS.split(raw) if isinstance(raw, str) else raw
    for name in names if isinstance(names, list | tuple) else ():
        if isinstance(name, str) and ":" in name:
            yield name.strip()


def setting_properties(setting: str, raw: object) -> Iterator[Property[Any]]:
    """The properties of the plugins that a setting of an interface names as `module:attr`;
    PluginError where one of them cannot be loaded."""
    for each in INTERFACES:
        if each.setting == setting:
            for plugin in resolve(each.name, direct_names(raw)):
                yield from plugin.declared_properties()


def plugin_properties(faults: list[str]) -> Iterator[Property[Any]]:
    """The properties that the installed plugins declare; imports each of them.

    One that cannot be imported is passed over, and its fault is put among these: it is an error
    where the plugin is used.
    """
    for each in INTERFACES:
        for plugin in available(each.name).values():
            try:
                yield from plugin.declared_properties()
            except PluginError as error:
                faults.append(str(error))
