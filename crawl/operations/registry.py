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


_OURS = (
    Listed(
        "demo",
        "crawl.showcase.demo",
        "two rounds on a bundled synthetic web, without a network",
    ),
    Listed("run", "crawl.rounds.operation", "crawl in rounds: all phases, one after the other"),
    Listed("inject", "crawl.phases.inject.operation", "add seed URLs to the CrawlDb"),
    Listed(
        "sitemap",
        "crawl.phases.sitemap.operation",
        "add the URLs that sites list in their sitemaps",
    ),
    Listed(
        "refresh",
        "crawl.phases.refresh.operation",
        "make the URLs of a host or pattern due now",
    ),
    Listed("generate", "crawl.phases.generate.operation", "select due URLs into new segments"),
    Listed("fetch", "crawl.phases.fetch.operation", "fetch a segment, politely"),
    Listed(
        "parse",
        "crawl.phases.parse.operation",
        "extract text, data and links from a fetched segment",
    ),
    Listed(
        "updatedb",
        "crawl.phases.updatedb.operation",
        "merge fetched segments into the CrawlDb",
    ),
    Listed(
        "invertlinks",
        "crawl.phases.invertlinks.operation",
        "merge the links of parsed segments into the LinkDb",
    ),
    Listed(
        "mergelinkdb",
        "crawl.phases.mergelinkdb.operation",
        "merge the LinkDbs of other crawls",
    ),
    Listed(
        "webgraph",
        "crawl.phases.webgraph.operation",
        "take the links of parsed segments into the link graph",
    ),
    Listed("linkrank", "crawl.phases.linkrank.operation", "rank the pages of the link graph"),
    Listed(
        "hostgraph",
        "crawl.phases.hostgraph.operation",
        "make and rank the graph of hosts or domains",
    ),
    Listed(
        "scoreupdater",
        "crawl.phases.scoreupdater.operation",
        "make the link graph's scores the CrawlDb's",
    ),
    Listed(
        "nodedumper",
        "crawl.phases.nodedumper.operation",
        "pages, hosts or domains by links or score",
    ),
    Listed(
        "nodereader",
        "crawl.readers.nodereader.operation",
        "what the link graph knows of a page",
    ),
    Listed(
        "updatehostdb",
        "crawl.phases.updatehostdb.operation",
        "count what each host is like, for generate",
    ),
    Listed("dedup", "crawl.phases.dedup.operation", "mark pages that the crawl has more than once"),
    Listed(
        "index",
        "crawl.phases.index.operation",
        "make documents of pages for the index writers",
    ),
    Listed(
        "clean",
        "crawl.phases.clean.operation",
        "delete stale documents from the index writers",
    ),
    Listed("search", "crawl.readers.search.operation", "search the pages of the embedded index"),
    Listed(
        "export",
        "crawl.phases.export.operation",
        "write pages as a dataset: text or Markdown, with metadata",
    ),
    Listed(
        "simulate",
        "crawl.readers.simulate.operation",
        "predict how long a fetch takes, without sending a byte",
    ),
    Listed(
        "plan",
        "crawl.readers.plan.operation",
        "estimate nodes, hours, storage and cost of a crawl",
    ),
    Listed(
        "status",
        "crawl.readers.status.operation",
        "progress of the segments, also while they are fetched",
    ),
    Listed(
        "readdb",
        "crawl.readers.readdb.operation",
        "statistics, lookups and dumps of the CrawlDb",
    ),
    Listed(
        "readhostdb",
        "crawl.readers.readhostdb.operation",
        "what each host is like: lookups, tops and dumps",
    ),
    Listed(
        "readlinkdb",
        "crawl.readers.readlinkdb.operation",
        "which pages link to a URL, and dumps of the LinkDb",
    ),
    Listed("dust", "crawl.phases.dust.operation", "find parts of URLs that make no difference"),
    Listed("mirrors", "crawl.phases.mirrors.operation", "find hosts that are copies of others"),
    Listed(
        "domainstats",
        "crawl.readers.webstats.domainstats",
        "pages by host, domain, suffix or TLD",
    ),
    Listed(
        "crawlcomplete",
        "crawl.readers.webstats.crawlcomplete",
        "how much of each host or domain is fetched",
    ),
    Listed(
        "protocolstats",
        "crawl.readers.webstats.protocolstats",
        "URLs by the HTTP code of their last answer",
    ),
    Listed(
        "linkstats",
        "crawl.readers.webstats.linkstats",
        "links of the pages: degrees, most linked URLs",
    ),
    Listed("snapshots", "crawl.readers.snapshots.operation", "list the snapshots of the CrawlDb"),
    Listed(
        "rollback",
        "crawl.phases.rollback.operation",
        "make an older snapshot of the CrawlDb current",
    ),
    Listed("gc", "crawl.phases.gc.operation", "drop old snapshots and unreferenced files"),
    Listed(
        "check",
        "crawl.phases.check.operation",
        "find damaged files, and restore an intact state",
    ),
    Listed("rebucket", "crawl.phases.rebucket.operation", "give a grown CrawlDb more buckets"),
    Listed(
        "explain",
        "crawl.readers.explain.operation",
        "everything known about a URL, and what happens to it next",
    ),
    Listed(
        "indexchecker",
        "crawl.readers.indexchecker.operation",
        "the documents that pages would give",
    ),
    Listed(
        "filterchecker",
        "crawl.readers.filterchecker.operation",
        "which URLs the filters accept or reject, and why",
    ),
    Listed(
        "normalizerchecker",
        "crawl.readers.normalizerchecker.operation",
        "normalize URLs, step by step",
    ),
    Listed(
        "parsechecker",
        "crawl.readers.parsechecker.operation",
        "fetch and parse a page, and show the result",
    ),
    Listed(
        "robotsparser",
        "crawl.readers.robotsparser.operation",
        "which URLs a robots.txt allows",
    ),
    Listed("plugin", "crawl.readers.plugin.operation", "list the plugins and which are active"),
    Listed("testweb", "crawl.showcase.testweb", "serve a synthetic web to test settings against"),
    Listed(
        "showproperties",
        "crawl.readers.showproperties.operation",
        "every setting and where it came from",
    ),
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
        fault = f"operation {point.name}: {point.value} cannot be loaded: {error}"
        raise PluginError(fault) from error
    several = loaded if isinstance(loaded, tuple) else (loaded,)
    if not several or not all(isinstance(each, Operation) for each in several):
        raise PluginError(f"operation {point.name}: {point.value} is no Operation")
    return several
