"""Every property beyond the core's: what the floors above and the installed plugins declare."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from crawl.config import Config, Property, properties_in
from crawl.config.load import UnknownProperty, load
from crawl.errors import ConfigError, PluginError, UsageError


def load_declared(
    overrides: Iterable[str] = (),
    conf: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
    settings: Mapping[str, object] | None = None,
) -> Config:
    """`load` with every property that is declared by anybody: the core, the floors above,
    installed plugins, and those that the configuration names as `module:attr`."""
    faults: list[str] = []
    try:
        return load(
            overrides,
            conf,
            environ,
            extra=lambda: declared_properties(faults),
            of_setting=_of_setting,
            settings=settings,
        )
    except UnknownProperty as error:
        if not faults:
            raise
        raise ConfigError(f"{error}; it may be one of a plugin: {faults[0]}") from None


def load_configuration(settings: Mapping[str, object] | None, conf: str | Path | None) -> Config:
    """The layers of the configuration, checked: defaults, the site file, then these settings."""
    if settings is not None and not isinstance(settings, Mapping):
        raise UsageError(f"settings: expected a mapping of names to values, got {settings!r}")
    return load_declared(conf=conf, environ=os.environ, settings=settings)


def properties_in_use(config: Config) -> Iterator[Property[Any]]:
    """All declared properties, and those of plugins that the configuration names as
    `module:attr`. One that cannot be imported is passed over: its error comes when it is used."""
    yield from declared_properties()
    for name, setting in config.settings.items():
        with suppress(PluginError):
            yield from _of_setting(name, setting.raw)


def _of_setting(name: str, raw: object) -> Iterable[Property[Any]]:
    from crawl.interfaces.registry import setting_properties

    return setting_properties(name, raw)


def declared_properties(faults: list[str] | None = None) -> Iterator[Property[Any]]:
    """Our own first; then every installed plugin's, which imports it: why one cannot be imported
    is put among `faults`."""
    # only a command that was given such a key has to know them
    from crawl.fetcher.drivers import protocols
    from crawl.fetcher.values import politeness, settings
    from crawl.graph import settings as graph
    from crawl.interfaces import chains
    from crawl.interfaces.registry import plugin_properties
    from crawl.parsing import settings as parsing
    from crawl.parsing.fields import rule_file
    from crawl.parsing.html import reader
    from crawl.phases.export import settings as exporting
    from crawl.phases.index import settings as indexing
    from crawl.phases.invertlinks import settings as linkdb
    from crawl.phases.updatehostdb import settings as hostdb
    from crawl.rules import links, redirect
    from crawl.search import settings as embedded
    from crawl.service import settings as service
    from crawl.service import settings_kafka
    from crawl.service.callers import settings_access
    from crawl.telemetry import settings as telemetry

    yield from properties_in(
        *(chains, politeness, settings, protocols, parsing, reader, rule_file, links, redirect),
        *(linkdb, hostdb, graph, indexing, embedded, exporting, telemetry),
        *(service, settings_access, settings_kafka),
    )
    yield from plugin_properties([] if faults is None else faults)
