"""The public face: `crawl.open` and what a crawl can be asked to do.

    import crawl

    web = crawl.open("mycrawl", settings={"http.agent.name": "mybot"})
    web.inject(["https://example.org/"])
    web.run(rounds=2)
    web.pages().to_pandas()

Every phase and reader of the command line is a method here. Methods return plain values and
print nothing to stdout; what goes wrong is a `CrawlError` (crawl/errors.py) whose message is
the command line's one line. A Spark session that exists is used and left open; one that had to
be opened is shared by all crawls of this process, and stopped by the `close` of the last one, or
at the end of its `with crawl.open(...)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from crawl.api.methods import Methods, list_plugins, list_properties, plan
from crawl.api.tables import Tables
from crawl.declared import load_configuration
from crawl.errors import UsageError
from crawl.operations.registry import OURS, operations_of
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir

if TYPE_CHECKING:
    from crawl.api.one_page import FetchedPage, ParsedPage, UrlCheck

__all__ = [
    "Crawl",
    "check_url",
    "fetch_page",
    "is_allowed",
    "list_plugins",
    "list_properties",
    "open",
    "parse_page",
    "plan",
]

Settings = Mapping[str, object]
"""Properties by name, as in crawl-site.toml; `crawl showproperties` lists them."""

_REDIRECTS = 5


class Crawl(Methods, Tables):
    """One crawl: its phases, its readers and its tables. Made by `crawl.open`."""

    if not TYPE_CHECKING:  # to a type checker an unknown name is a fault as before

        def __getattr__(self, name: str) -> object:
            if (method := self._method_of_others(name)) is not None:
                return method
            raise AttributeError(_no_such_method(name), name=name, obj=self)


def _no_such_method(name: str) -> str:
    """The line for whoever asks a crawl for a method that it has not, such as a command that stands
    for several."""
    line = f"a crawl has no method {name!r}"
    if name not in OURS:
        return line
    methods = [each.method_name for each in operations_of(name) if each.method_name]
    return f"{line}: the command's are {', '.join(methods)}" if methods else line


def open(
    address: str | Path,
    *,
    settings: Settings | None = None,
    conf: str | Path | None = None,
    master: str | None = None,
    progress: bool = True,
) -> Crawl:
    """The crawl in a folder, or the one that is to begin there; nothing is written yet.

    `address` is a path, or `s3://bucket/crawl`, `hdfs://namenode/crawl`. `settings` stand above
    those of the configuration folder `conf` (else $CRAWL_CONF_DIR, or ./conf). `master` is
    Spark's. `progress`: long phases show on stderr, or in the notebook, how far they are.

        >>> web = crawl.open("mycrawl", settings={"http.agent.name": "mybot"})
    """
    if not isinstance(address, str | Path) or not str(address):
        raise UsageError(f"a crawl is named by a path or an address, not by {address!r}")
    spark = SparkOptions(master, quiet=not progress)
    return Crawl(CrawlDir(str(address)), load_configuration(settings, conf), spark)


def fetch_page(
    url: str,
    *,
    settings: Settings | None = None,
    conf: str | Path | None = None,
    redirects: int = _REDIRECTS,
) -> FetchedPage:
    """One page, asked for as a crawl would: robots.txt first, every pause kept; no JVM.

    >>> crawl.fetch_page("https://example.org/", settings={"http.agent.name": "mybot"}).code
    """
    from crawl.api.one_page import fetch_one

    return fetch_one(url, load_configuration(settings, conf), redirects=redirects)


def parse_page(
    content: bytes,
    url: str,
    *,
    content_type: str = "",
    headers: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    conf: str | Path | None = None,
) -> ParsedPage:
    """What a crawl would make of these bytes, found at that URL: title, text, language, links.

    >>> crawl.parse_page(b"<title>Hello</title>", "https://example.org/").title
    """
    from crawl.api.one_page import parse_one

    config = load_configuration(settings, conf)
    header_values = dict(headers or {})
    return parse_one(content, url, config, content_type=content_type, headers=header_values)


def check_url(
    url: str, *, settings: Settings | None = None, conf: str | Path | None = None
) -> UrlCheck:
    """What normalizers and filters make of a URL; nothing is sent.

    >>> crawl.check_url("HTTP://Example.org:80/a/../b").normal
    """
    from crawl.api.one_page import check_one_url

    return check_one_url(url, load_configuration(settings, conf))


def is_allowed(robots_txt: bytes | str, url: str, agents: Iterable[str]) -> bool:
    """Whether a robots.txt allows agents of these names to fetch the URL (RFC 9309).

    >>> crawl.is_allowed("User-agent: *\\nDisallow: /a", "https://example.org/a", ["mybot"])
    """
    from crawl.api.one_page import is_allowed_by

    names = (agents,) if isinstance(agents, str) else tuple(agents)
    return is_allowed_by(robots_txt, url, names)
