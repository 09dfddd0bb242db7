"""Nutria: a web crawler whose phases are Spark jobs and whose state is open Parquet.

    import crawl

    web = crawl.open("mycrawl", settings={"http.agent.name": "mybot"})
    web.inject(["https://example.org/"])
    web.run(rounds=2)
    web.pages().to_pandas()

What is public is what `__all__` names here, with the methods of what these return
(crawl/api/crawl.py); it is loaded when it is first used, so that `import crawl` costs nothing.

A URL's life: a seed line is injected into the CrawlDb; generate selects it into a
segment's fetch list; fetch, parse and updatedb bring back what became of it.
The floors, lowest first: errors, clock, counters, hints, did_you_mean, masking, printable,
version · model · config · telemetry · html · maincontent · interfaces · urls · net · robots ·
graph · rules · planning · storage · parsing · fetcher · tables · search · synthetic · service ·
plugins, testing · spark (the only place that knows Spark) · driver · phases · rounds · declared ·
readers, datasets · api · cli. Imports only point down.
"""

import sys
from typing import TYPE_CHECKING

# an old Python of a cluster would fail with less to say
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"crawl: needs Python 3.11 or newer, this is {sys.version.split()[0]}")

if TYPE_CHECKING:
    from crawl.api.crawl import (
        Crawl,
        check_url,
        fetch_page,
        is_allowed,
        list_plugins,
        list_properties,
        open,
        parse_page,
        plan,
    )
    from crawl.errors import CrawlError
    from crawl.service.client import connect, connect_async
    from crawl.version import __version__

__all__ = [
    "Crawl",
    "CrawlError",
    "__version__",
    "check_url",
    "connect",
    "connect_async",
    "fetch_page",
    "is_allowed",
    "list_plugins",
    "list_properties",
    "open",
    "parse_page",
    "plan",
]


def __getattr__(name: str) -> object:
    """Loads a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'crawl' has no attribute {name!r}")
    from importlib import import_module

    homes = {
        "CrawlError": "crawl.errors",
        "__version__": "crawl.version",
        "connect": "crawl.service.client",
        "connect_async": "crawl.service.client",
    }
    value = getattr(import_module(homes.get(name, "crawl.api.crawl")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
