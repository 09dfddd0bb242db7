"""Answers of plugins by column, as plain lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from crawl.interfaces.urlfilter import URLFilter
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer


def accepted_by_column(plugin: URLFilter, urls: Sequence[str | None]) -> list[bool | None]:
    """What a filter says of each URL by column; None where it leaves the row open."""
    return _listed(plugin.accepts_batch(pa.array(urls, pa.string())))


def left_alone_by_column(
    plugin: URLNormalizer, urls: Sequence[str | None], scope: Scope = Scope.DEFAULT
) -> list[bool | None]:
    """Which URLs a normalizer leaves alone, as it says by column."""
    return _listed(plugin.leaves_alone(pa.array(urls, pa.string()), scope))


def _listed(column: pa.Array[Any] | None) -> list[bool | None]:
    assert column is not None
    return list(column.to_pylist())
