"""A service of the real kind in this process, with its HTTP interface on loopback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from crawl.clock import SystemClock
from crawl.declared import load_declared
from crawl.operations.work import Work
from crawl.service.faces.own_service import OwnService, own_service
from crawl.storage.crawl_dir import CrawlDir
from tests.service.mcp.loopback_web import SETTINGS


@contextmanager
def service_of(
    folder: Path, settings: Mapping[str, str] | None = None, host: str = "127.0.0.1"
) -> Iterator[OwnService]:
    """One for the crawl in the folder."""
    declared = {**SETTINGS, **(settings or {})}
    config = load_declared([f"{name}={value}" for name, value in declared.items()])
    engine: object = None
    work = Work("mcp", config, engine, CrawlDir(str(folder)), clock=SystemClock())  # type: ignore[arg-type]
    with own_service(work, host, 0) as own:
        yield own
