"""Which derived tables are behind what they are made from, and the command for each.

`behind` decides by facts that manifests and the notes of `crawl/storage/last_runs.py` tell; no row
is read. It tells only of what a crawl has: whoever never made a LinkDb is not told to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crawl.driver.behind import BehindTable
from crawl.errors import StorageError
from crawl.model.derived_tables import (
    DOMAINGRAPH,
    HOSTDB,
    HOSTGRAPH,
    INDEX,
    LINKDB,
    WEBGRAPH,
    WEBGRAPH_SCORES,
)
from crawl.printable import plural
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.last_runs import last_run
from crawl.storage.manifest import COUNTED_CRAWLDB, LOOKED_AT, MADE_FROM_WEBGRAPH, Snapshot
from crawl.storage.segments import FETCH, PARSE_DATA, Segment
from crawl.storage.snapshot import Dataset


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table's current state."""

    number: int
    applied: Mapping[str, int] = field(default_factory=dict)
    """Its segments, each with the snapshot that brought it."""
    made_from: int | None = None
    """The snapshot of the table that it was made from, where it notes one."""

    def since(self, number: int) -> int:
        """How many segments it has taken in after that snapshot of it."""
        return sum(each > number for each in self.applied.values())


@dataclass(frozen=True, slots=True)
class DerivedFacts:
    """What is known of a crawl's tables; None for one that it has not."""

    crawldb: TableFacts | None = None
    linkdb: TableFacts | None = None
    webgraph: TableFacts | None = None
    has_scores: bool = False
    """Whether the link graph's pages are ranked as it is now."""
    hostgraph: TableFacts | None = None
    domaingraph: TableFacts | None = None
    hostdb: TableFacts | None = None
    index: TableFacts | None = None
    fetched: frozenset[str] = frozenset()
    """Segments whose fetch is finished; those that every table has need not be among them."""
    parsed: frozenset[str] = frozenset()
    runs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What phases last worked from, by their names."""

    @property
    def marked(self) -> int:
        """The snapshot of the CrawlDb in which dedup last marked pages; 0 where none has."""
        return self.runs.get("dedup", {}).get("crawldb", 0)


def behind(facts: DerivedFacts) -> list[BehindTable]:
    """The tables that are behind, each after what it builds on."""
    webgraph, by_domain = facts.webgraph, ("--group", "domain")
    tables = (
        BehindTable("the LinkDb", "invertlinks", _lack(facts.linkdb, facts.parsed, "parsed")),
        BehindTable("the link graph", "webgraph", _lack(webgraph, facts.parsed, "parsed")),
        BehindTable("the rank of pages", "linkrank", _linkrank(facts)),
        BehindTable("the graph of hosts", "hostgraph", _hostgraph(facts.hostgraph, webgraph)),
        BehindTable(
            "the graph of domains", "hostgraph", _hostgraph(facts.domaingraph, webgraph), by_domain
        ),
        BehindTable("the CrawlDb's scores", "scoreupdater", _scoreupdater(facts)),
        BehindTable("dedup", "dedup", _dedup(facts)),
        BehindTable("the HostDb", "updatehostdb", _hostdb(facts)),
        BehindTable("the index", "index", _index(facts)),
        BehindTable("the index's clean-up", "clean", _clean(facts)),
    )
    return [each for each in tables if each.reason]


# Why a table is behind; empty where it is not, or where there is none.


def _lack(table: TableFacts | None, segments: frozenset[str], state: str) -> str:
    missing = len(segments - table.applied.keys()) if table else 0
    return f"{plural(missing, 'segment')} {state} since" if missing else ""


def _linkrank(facts: DerivedFacts) -> str:
    if facts.webgraph is None or "linkrank" not in facts.runs or facts.has_scores:
        return ""
    new = facts.webgraph.since(facts.runs["linkrank"].get(WEBGRAPH.name, 0))
    return f"the link graph took in {plural(new, 'segment')} since"


def _hostgraph(graph: TableFacts | None, webgraph: TableFacts | None) -> str:
    if graph is None or webgraph is None or graph.made_from is None:
        return ""
    return _growth("the link graph", webgraph, graph.made_from)


def _scoreupdater(facts: DerivedFacts) -> str:
    run = facts.runs.get("scoreupdater")
    if run is None or facts.crawldb is None:
        return ""
    ranked = facts.runs.get("linkrank", {}).get(WEBGRAPH.name, 0)
    if ranked > run.get(WEBGRAPH.name, 0):
        return "pages were ranked anew since"
    return _rollback(facts.crawldb, run)


def _dedup(facts: DerivedFacts) -> str:
    run, crawldb = facts.runs.get("dedup"), facts.crawldb
    if run is None or crawldb is None:
        return ""
    return _growth("the CrawlDb", crawldb, run.get("crawldb", 0)) or _rollback(crawldb, run)


def _hostdb(facts: DerivedFacts) -> str:
    lack = _lack(facts.hostdb, facts.fetched, "fetched")
    if lack or facts.hostdb is None or facts.hostdb.made_from is None:
        return lack
    return _crawldb_changes(facts, facts.hostdb.made_from)


def _index(facts: DerivedFacts) -> str:
    if facts.index is None or facts.crawldb is None:
        return ""
    # of a segment that the CrawlDb does not have some pages have to wait for it
    missing = len((facts.parsed & facts.crawldb.applied.keys()) - facts.index.applied.keys())
    return f"{plural(missing, 'segment')} of pages are not in it" if missing else ""


def _clean(facts: DerivedFacts) -> str:
    """Documents may be of pages that are gone, or duplicates, since."""
    if facts.index is None or facts.crawldb is None:
        return ""
    cleaned, indexed = facts.runs.get("clean", {}).get("crawldb"), facts.index.made_from
    if cleaned is not None:
        return _crawldb_changes(facts, cleaned)
    # by whom nobody cleans, new documents are told from duplicates all the same
    is_marked = indexed is not None and facts.marked > indexed
    return "dedup marked pages since they were indexed" if is_marked else ""


def _growth(name: str, table: TableFacts, number: int) -> str:
    new = table.since(number)
    return f"{name} took in {plural(new, 'segment')} since" if new else ""


def _rollback(crawldb: TableFacts, run: Mapping[str, int]) -> str:
    is_older = crawldb.number < run.get("crawldb", 0)
    return "the CrawlDb was rolled back since" if is_older else ""


def _crawldb_changes(facts: DerivedFacts, number: int) -> str:
    """What has happened to the CrawlDb since that snapshot of it."""
    if facts.crawldb is None:
        return ""
    marked = "dedup marked pages since" if facts.marked > number else ""
    return _growth("the CrawlDb", facts.crawldb, number) or marked


def is_up_to_date(step: str, facts: DerivedFacts) -> bool:
    """Whether a step was done and has nothing new to work on. Those that are not asked here know it
    themselves: they take in segments, of which none is left."""
    is_made = {
        "linkrank": facts.has_scores,
        "hostgraph": facts.hostgraph is not None and facts.hostgraph.made_from is not None,
        "scoreupdater": "scoreupdater" in facts.runs,
        "dedup": "dedup" in facts.runs,
        "updatehostdb": facts.hostdb is not None and facts.hostdb.made_from is not None,
        "clean": "clean" in facts.runs,
    }
    if not is_made.get(step, False):
        return False
    return all(each.step != step or each.options for each in behind(facts))


def read_facts(crawl_dir: CrawlDir) -> DerivedFacts:
    """What manifests and notes say. A table whose pointer or manifest is damaged counts as one that
    is not there: `crawl check` tells of it."""
    linkdb, graph, hostdb, index, hosts, domains = (
        _current(crawl_dir.dataset(table))
        for table in (LINKDB, WEBGRAPH, HOSTDB, INDEX, HOSTGRAPH, DOMAINGRAPH)
    )
    segments = list(crawl_dir.segments.generated())
    phases = ("linkrank", "scoreupdater", "dedup", "clean")
    noted = {phase: last_run(crawl_dir, phase) for phase in phases}
    return DerivedFacts(
        crawldb=_facts(_current(crawl_dir.crawldb)),
        linkdb=_facts(linkdb),
        webgraph=_facts(graph),
        has_scores=graph is not None and WEBGRAPH_SCORES.name in graph.attached,
        hostgraph=_facts(hosts, MADE_FROM_WEBGRAPH),
        domaingraph=_facts(domains, MADE_FROM_WEBGRAPH),
        hostdb=_facts(hostdb, COUNTED_CRAWLDB),
        index=_facts(index, LOOKED_AT),
        fetched=_whole(segments, FETCH, (hostdb,)),
        parsed=_whole(segments, PARSE_DATA, (linkdb, graph, index)),
        runs={phase: run for phase, run in noted.items() if run is not None},
    )


def behind_lines(crawl_dir: CrawlDir, steps: Iterable[str]) -> tuple[str, ...]:
    """A line for each table that is behind, of those that these commands make."""
    names = frozenset(steps)
    return tuple(
        each.line(crawl_dir.address) for each in behind(read_facts(crawl_dir)) if each.step in names
    )


def _current(dataset: Dataset) -> Snapshot | None:
    try:
        return dataset.current()
    except StorageError:
        return None


def _facts(snapshot: Snapshot | None, note: str = "") -> TableFacts | None:
    if snapshot is None:
        return None
    made_from = snapshot.notes.get(note) if note else None
    return TableFacts(
        snapshot.number, snapshot.applied, made_from if type(made_from) is int else None
    )


def _whole(
    segments: Iterable[Segment], part: str, tables: Iterable[Snapshot | None]
) -> frozenset[str]:
    """The segments of which that part is finished and that one of the tables lacks: no manifest of
    any other is read."""
    there = [table.applied.keys() for table in tables if table is not None]
    names = set()
    for segment in segments:
        if all(segment.name in applied for applied in there):
            continue
        try:
            manifest = segment.manifest(part)
        except StorageError:
            continue
        if manifest is not None and manifest.complete:
            names.add(segment.name)
    return frozenset(names)
