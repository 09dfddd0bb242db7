"""Every property beyond the core's: what the chains and the installed plugins declare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crawl.config import Property
from crawl.interfaces import chains
from crawl.interfaces.registry import plugin_properties


def declared_properties() -> Iterator[Property[Any]]:
    """The chains' own first; then every installed plugin's, which imports it."""
    yield from chains.PROPERTIES
    yield from plugin_properties()
