"""What every plugin must keep to, whatever its interface; the contracts build on it."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar, Generic, TypeVar

from crawl.config import Config, Property
from crawl.interfaces.registry import ResolvedPlugin
from crawl.testing.inputs.wicked_urls import wicked_urls

Plugin = TypeVar("Plugin")


class PluginContract(Generic[Plugin]):
    """Tests for pytest; override `config` to reach your plugin's own cases."""

    interface: ClassVar[str]
    """The name in the registry; set by the contract."""
    plugin_class: ClassVar[Any]
    """The plugin under test; set by its author."""

    def config(self) -> Config:
        """The configuration that the plugin is built with."""
        return Config.of()

    def make(self) -> Plugin:
        """The plugin, as the driver builds it."""
        plugin: Plugin = self.plugin_class(self.config())
        return plugin

    def make_on_executor(self) -> Plugin:
        """The plugin, as an executor builds it: from its name and what travelled."""
        config = self.config()
        self.plugin_class(config)  # the driver reads the rule files
        name = f"{self.plugin_class.__module__}:{self.plugin_class.__qualname__}"
        resolved, travelled = pickle.loads(
            pickle.dumps((ResolvedPlugin(self.interface, name, name), config))
        )
        plugin: Plugin = resolved.build(travelled)
        return plugin

    def test_its_properties_are_declared(self) -> None:
        declared: tuple[Any, ...] = getattr(self.plugin_class, "properties", ())
        assert all(isinstance(each, Property) for each in declared)


class URLPluginContract(PluginContract[Plugin]):
    """Of a plugin that is asked about URLs; override `config` and `samples` to reach your plugin's
    own cases."""

    def samples(self) -> list[str]:
        """URLs that matter to the plugin, beside the wicked ones."""
        return []

    def urls(self) -> list[str]:
        return [*self.samples(), *wicked_urls()]
