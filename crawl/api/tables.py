"""The tables of a crawl: the CrawlDb, those of its segments, and the pages of them all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from crawl.api.handle import Handle
from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.operations.options import Positive, checked
from crawl.storage.folder import Folder
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    GENERATE,
    PARSE,
    PARSE_DATA,
    PARSE_TEXT,
    SEGMENT_TABLES,
    Segment,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from crawl.datasets.table import Table
    from crawl.model.table import Table as StoredTable
    from crawl.storage.manifest import BucketFile, Snapshot
    from crawl.storage.segments import PartFile


@dataclass(frozen=True, slots=True)
class SegmentTables:
    """One segment's tables. A table that is not made yet is a `NoSnapshot` error."""

    segment: Segment

    @property
    def name(self) -> str:
        return self.segment.name

    def generate(self) -> Table:
        """The fetch list: records as they were when they were selected."""
        return self._table(GENERATE)

    def fetch(self) -> Table:
        """What became of each URL."""
        return self._table(FETCH)

    def content(self) -> Table:
        """The bytes of the pages, with their headers."""
        return self._table(CONTENT)

    def parse(self) -> Table:
        """What the parse tells the CrawlDb: links, signatures, failures."""
        return self._table(PARSE)

    def parse_data(self) -> Table:
        """Titles, languages, links and metadata of the pages."""
        return self._table(PARSE_DATA)

    def parse_text(self) -> Table:
        """The texts of the pages."""
        return self._table(PARSE_TEXT)

    def pages(self) -> Table:
        """The parsed pages of this segment alone."""
        return _pages([self.segment])

    def __repr__(self) -> str:
        return f"<segment {self.name}>"

    def _table(self, part: str) -> Table:
        folder = self.segment.part_folder(part)
        files = self.segment.require(part).files
        return _table_of_files(SEGMENT_TABLES[part], folder, files, f"{self.name}/{part}")


class Tables(Handle):
    """Tables, read when they are asked for rows."""

    def crawldb(self, *, snapshot: int | None = None) -> Table:
        """Every URL that the crawl knows: the current state, or that of an older snapshot.

        >>> web.crawldb().select("url", "score").where(("score", ">", 1.0)).to_arrow()
        """
        from crawl.model.tables import CRAWLDB

        checked("snapshot", Positive | None, snapshot)
        state = self._opened_crawl.require_crawldb()
        if snapshot is not None:
            state = self._opened_crawl.crawldb.snapshot(snapshot)
        return _table_of_files(CRAWLDB, self._opened_crawl.crawldb.folder, state.files)

    def hostdb(self) -> Table:
        """Every host that the crawl knows, as `updatehostdb` found it.

        >>> web.hostdb().select("host", "fetched", "response_ms_p95").to_pandas()
        """
        from crawl.model.derived_tables import HOSTDB
        from crawl.storage.hostdb import require_hostdb

        return self._derived(HOSTDB, require_hostdb(self._opened_crawl))

    def host_ranks(self, group: str = "host") -> Table:
        """The graph of hosts, or of registered domains, a row each: harmonic, pagerank, their
        positions, pages, inlinks … as `hostgraph` made it.

            >>> web.host_ranks().select("host", "harmonic", "pagerank").to_pandas()
        """
        from crawl.phases.hostgraph.run import require_hostgraph, table_of
        from crawl.phases.webgraph.values import NodeGroup

        node_group: NodeGroup = checked("group", NodeGroup, group)
        table = table_of(node_group)
        return self._derived(table, require_hostgraph(self._opened_crawl, node_group))

    def linkdb(self) -> Table:
        """Every link that the LinkDb keeps, a row each: url, from_url, anchor, score, segment.

        >>> web.linkdb().select("url", "anchor").to_arrow()
        """
        from crawl.model.derived_tables import LINKDB
        from crawl.phases.invertlinks.linkdb import require_linkdb

        return self._derived(LINKDB, require_linkdb(self._opened_crawl))

    def pages(self) -> Table:
        """Every page that was parsed, as its newest fetch has it: url, title, text, language …

        >>> web.pages().select("url", "title", "language").to_pandas()
        """
        self._opened_crawl.require_crawldb()
        return _pages(self._opened_crawl.segments.generated())

    def segments(self) -> list[str]:
        """The names of the segments, oldest first."""
        self._opened_crawl.require_crawldb()
        return [segment.name for segment in self._opened_crawl.segments.generated()]

    def segment(self, name: str) -> SegmentTables:
        """One segment's tables.

        >>> web.segment(web.segments()[-1]).fetch().to_pandas()
        """
        checked("name", str, name)
        names = self.segments()
        if name not in names:
            near = did_you_mean(name, names)
            raise UsageError(f"{self.address} has no segment {name}{near}")
        return SegmentTables(self._opened_crawl.segments.segment(name))

    def dataframe(self, table: Table) -> DataFrame:
        """A table as a Spark DataFrame, of any size: each file is read by a task.

        >>> web.dataframe(web.crawldb()).groupBy("status").count()
        """
        from crawl.datasets.files import PAGES
        from crawl.spark.dataframes import dataframe_of, newest_of

        self._require_open()
        spark, parts, conditions = self._engine.open_session(), table.parts, table.conditions
        if not table.unique:
            return dataframe_of(spark, parts, table.schema, conditions)
        whole = table.schema if not conditions else PAGES.schema
        rows = newest_of(spark, parts, whole, conditions, table.unique)
        return rows.select(*table.columns)

    def _derived(self, table: StoredTable, state: Snapshot) -> Table:
        return _table_of_files(table, self._opened_crawl.dataset(table).folder, state.files)


def _table_of_files(
    table: StoredTable, folder: Folder, files: Iterable[BucketFile | PartFile], name: str = ""
) -> Table:
    from crawl.datasets.table import Table
    from crawl.storage.scan import scan_file, with_status_names

    parts = tuple(partial(scan_file, folder, file.path) for file in files)
    return Table(name or table.name, with_status_names(table).schema, parts)


def _pages(segments: Sequence[Segment]) -> Table:
    from crawl.datasets.files import PAGES, pages_of_segment
    from crawl.datasets.table import Table

    newest_first = tuple(partial(pages_of_segment, segment) for segment in reversed(segments))
    return Table("pages", PAGES.schema, newest_first, unique="url")
