"""Every property beyond the core's: what the floors above and the installed plugins declare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crawl.config import Property


def declared_properties() -> Iterator[Property[Any]]:
    """Our own first; then every installed plugin's, which imports it."""
    # only a command that was given such a key has to know them
    from crawl.fetcher.drivers import protocols
    from crawl.fetcher.values import politeness, settings
    from crawl.interfaces import chains
    from crawl.interfaces.registry import plugin_properties
    from crawl.parsing import settings as parsing
    from crawl.rules import outlinks
    from crawl.rules.redirect import DB_IGNORE_ALSO_REDIRECTS
    from crawl.telemetry import settings as telemetry

    yield from chains.PROPERTIES
    yield from politeness.PROPERTIES
    yield from settings.PROPERTIES
    yield protocols.PLUGIN_PROTOCOL
    yield from parsing.PROPERTIES
    yield from outlinks.PROPERTIES
    yield DB_IGNORE_ALSO_REDIRECTS
    yield from telemetry.PROPERTIES
    yield from plugin_properties()
