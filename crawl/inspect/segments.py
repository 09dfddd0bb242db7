"""How far the segments of a crawl are, as plain values."""

from __future__ import annotations

from typing import Any

from crawl.clock import Clock
from crawl.storage.crawl_dir import CrawlDir


def segments_status(directory: CrawlDir, clock: Clock) -> list[dict[str, Any]]:
    """Of every segment, oldest first, its size and its state."""
    return []
