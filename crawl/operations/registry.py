"""Which operations there are: ours by the command that stands for them, others by entry point.

Names, modules and one line of help are here, so that a list of all commands imports none of them.
A package of somebody else's adds an operation by an entry point of the group `nutria.operation`,
whose object is an Operation, or a tuple of those that one command stands for.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.errors import PluginError
from crawl.printable import printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from crawl.operations.operation import Operation

_log = logging.getLogger(__name__)

GROUP = "nutria.operation"


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as it is listed."""

    name: str
    module: str
    """Its module, whose `OPERATION` or `OPERATIONS` the command stands for."""
    summary: str


def _phase(name: str, summary: str) -> Listed:
    return Listed(name, f"crawl.phases.{name}.operation", summary)


def _reader(name: str, summary: str) -> Listed:
    return Listed(name, f"crawl.readers.{name}.operation", summary)


def _service(name: str, summary: str) -> Listed:
    return Listed(name, f"crawl.service.faces.{name}_operation", summary)


def _statistics(name: str, summary: str) -> Listed:
    return Listed(name, f"crawl.readers.webstats.{name}", summary)


_OURS = (
    Listed(
        "demo", "crawl.showcase.demo", "two rounds on a bundled synthetic web, without a network"
    ),
    Listed("run", "crawl.rounds.operation", "crawl in rounds: all phases, one after the other"),
    _phase("inject", "add seed URLs to the CrawlDb"),
    _phase("sitemap", "add the URLs that sites list in their sitemaps"),
    _phase("refresh", "make the URLs of a host or pattern due now"),
    _phase("generate", "select due URLs into new segments"),
    _phase("fetch", "fetch a segment, politely"),
    _phase("parse", "extract text, data and links from a fetched segment"),
    _phase("updatedb", "merge fetched segments into the CrawlDb"),
    _phase("invertlinks", "merge the links of parsed segments into the LinkDb"),
    _phase("mergelinkdb", "merge the LinkDbs of other crawls"),
    _phase("webgraph", "take the links of parsed segments into the link graph"),
    _phase("linkrank", "rank the pages of the link graph"),
    _phase("hostgraph", "make and rank the graph of hosts or domains"),
    _phase("scoreupdater", "make the link graph's scores the CrawlDb's"),
    _phase("nodedumper", "pages, hosts or domains by links or score"),
    _reader("nodereader", "what the link graph knows of a page"),
    _phase("updatehostdb", "count what each host is like, for generate"),
    _phase("dedup", "mark pages that the crawl has more than once"),
    _phase("index", "make documents of pages for the index writers"),
    _phase("clean", "delete stale documents from the index writers"),
    _reader("search", "search the pages of the embedded index"),
    _phase("export", "write pages as a dataset: text or Markdown, with metadata"),
    _reader("simulate", "predict how long a fetch takes, without sending a byte"),
    _reader("plan", "estimate nodes, hours, storage and cost of a crawl"),
    _reader("status", "progress of the segments, also while they are fetched"),
    _reader("readdb", "statistics, lookups and dumps of the CrawlDb"),
    _reader("readhostdb", "what each host is like: lookups, tops and dumps"),
    _reader("readlinkdb", "which pages link to a URL, and dumps of the LinkDb"),
    _phase("dust", "find parts of URLs that make no difference"),
    _phase("mirrors", "find hosts that are copies of others"),
    _statistics("domainstats", "pages by host, domain, suffix or TLD"),
    _statistics("crawlcomplete", "how much of each host or domain is fetched"),
    _statistics("protocolstats", "URLs by the HTTP code of their last answer"),
    _statistics("linkstats", "links of the pages: degrees, most linked URLs"),
    _reader("snapshots", "list the snapshots of the CrawlDb"),
    _phase("rollback", "make an older snapshot of the CrawlDb current"),
    _phase("gc", "drop old snapshots and unreferenced files"),
    _phase("check", "find damaged files, and restore an intact state"),
    _phase("rebucket", "give a grown CrawlDb more buckets"),
    _reader("explain", "everything known about a URL, and what happens to it next"),
    _reader("indexchecker", "the documents that pages would give"),
    _reader("filterchecker", "which URLs the filters accept or reject, and why"),
    _reader("normalizerchecker", "normalize URLs, step by step"),
    _reader("parsechecker", "fetch and parse a page, and show the result"),
    _reader("robotsparser", "which URLs a robots.txt allows"),
    _reader("plugin", "list the plugins and which are active"),
    _service("serve", "fetch URLs in realtime, and answer what is known"),
    _service("submit", "submit URLs to a service"),
    _service("mcp", "tools for agents: fetch, search, crawl a site"),
    _service("keys", "make, list and disable the service's API keys"),
    Listed("testweb", "crawl.showcase.testweb", "serve a synthetic web to test settings against"),
    _reader("showproperties", "every setting and where it came from"),
)

OURS: Mapping[str, Listed] = {each.name: each for each in _OURS}


@cache
def commands() -> Mapping[str, Listed]:
    """Every command, by name: ours, then those of others, one of which may be broken."""
    entries = dict(OURS)
    for name, point in sorted(_of_others().items()):
        try:
            summary = operations_of(name)[0].summary
        except PluginError as error:
            summary = str(error)
        entries[name] = Listed(name, point.value, summary)
    return entries


def find_command(name: str) -> Listed | None:
    """The command of that name; packages of others are looked through where it is none of ours."""
    return OURS.get(name) or commands().get(name)


@cache
def operations_of(command: str) -> tuple[Operation, ...]:
    """The operations that a command stands for."""
    if command not in OURS:
        return _loaded(_of_others()[command])
    module = importlib.import_module(OURS[command].module)
    several = getattr(module, "OPERATIONS", None)
    return tuple(several or (module.OPERATION,))


def all_operations() -> Iterator[Operation]:
    """Every operation that can be loaded; imports the declarations of all."""
    for name in commands():
        try:
            yield from operations_of(name)
        except PluginError as error:
            _log.warning("%s", error)


def find_method(name: str) -> Operation | None:
    """The operation of somebody else that is a method of that name."""
    for command in _of_others():
        for each in operations_of(command):
            if each.method_name == name:
                return each
    return None


def _may_have_others() -> bool:
    """Whether any installed package names the group. To read their entry points as they lie takes
    a tenth of the time in which the library for them is loaded."""
    for place in sys.path:
        try:
            packages = [each for each in os.scandir(place or ".") if each.name.endswith("-info")]
        except NotADirectoryError:
            return True  # an archive, whose content the library knows to read
        except OSError:
            continue
        for package in packages:
            with suppress(OSError):
                declared = Path(package.path, "entry_points.txt").read_bytes()
                if f"[{GROUP}]".encode() in declared:
                    return True
    return False


@cache
def _of_others() -> Mapping[str, EntryPoint]:
    if not _may_have_others():
        return {}
    from importlib.metadata import entry_points

    points = {point.name: point for point in entry_points(group=GROUP)}
    for name in points.keys() & OURS.keys():
        _log.warning("operation %s of %s: the name is taken", name, points.pop(name).value)
    return points


def _loaded(point: EntryPoint) -> tuple[Operation, ...]:
    from crawl.operations.operation import Operation

    try:
        loaded: Any = point.load()
    except Exception as error:
        why = printable(str(error)) or type(error).__name__
        fault = f"operation {point.name}: {point.value} cannot be loaded: {why}"
        raise PluginError(fault) from error
    several = loaded if isinstance(loaded, tuple) else (loaded,)
    if not several or not all(isinstance(each, Operation) for each in several):
        raise PluginError(f"operation {point.name}: {point.value} is no Operation")
    return several
