"""Reads all rows below a prefix, some at a time."""

from __future__ import annotations

from collections.abc import Iterator

from crawl.service.stores.store import Row, Space, Store


def scan_all(
    store: Store, space: Space, prefix: bytes = b"", after: bytes = b"", page: int = 1000
) -> Iterator[Row]:
    """The rows below the prefix in the order of their keys."""
    while True:
        rows = store.scan(space, prefix, after, page)
        yield from rows
        if len(rows) < page:
            return
        after = rows[-1].key
