"""Documents are made where the text of their parse lies, and only then travel: once."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.interfaces.indexingfilter import IndexablePage
from crawl.model.arrow import as_array, strings
from crawl.model.datum import CrawlDatum
from crawl.model.documents import IndexDocument, Inlink
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.model.records import dicts, to_records
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB, PARSE_DATA
from crawl.phases.index.rules import FILTERED
from crawl.phases.index.tasks.decide_shard import DELETED, WANTED
from crawl.phases.index.tasks.documents import DocumentSender
from crawl.phases.index.tasks.filter_chain import DocumentMaker
from crawl.phases.index.tasks.keys import SegmentPart
from crawl.phases.index.tasks.part_texts import PartTexts
from crawl.storage.parquet import each_group, open_table, read_groups
from crawl.storage.segments import CONTENT
from crawl.storage.segments import PARSE_DATA as PARSE_DATA_PART
from crawl.tables.exchange import Outbox, Received

BINARY_FIELD = "binaryContent"
_ALL = PARSE_DATA.names
_WITHOUT_LINKS = [name for name in _ALL if name != "outlinks"]


@dataclass(frozen=True)
class AssembleJob:
    """The making of documents: how they are made, what they hold, and among how many shards they
    are shared out."""

    shards: int
    maker: DocumentMaker
    delete_filtered: bool = False
    binary: bool = False
    """Whether documents get the page's bytes."""
    base64: bool = False


def assemble_part(
    job: AssembleJob, part: SegmentPart, received: Received, outbox: Outbox
) -> Counters:
    """Makes the documents of the pages that are wanted of this part."""
    counters = Counters()
    sender = DocumentSender(outbox, job.shards)
    for rows in received.tables(DELETED):
        versions: list[Any] = rows["version"].to_pylist()
        pairs = list(zip(strings(rows["url"]), versions, strict=True))
        sender.send_deletions(strings(rows["host"]), pairs)
    wanted = received.rows(WANTED)
    if wanted.num_rows:
        _Assembler(job, part, counters, sender).assemble(wanted)
    sender.flush()
    return counters


class _Assembler:
    def __init__(
        self, job: AssembleJob, part: SegmentPart, counters: Counters, sender: DocumentSender
    ) -> None:
        self._job = job
        self._part = part
        self._counters = counters
        self._sender = sender

    def assemble(self, wanted: pa.Table) -> None:
        wanted = wanted.sort_by("row").combine_chunks()
        numbers = wanted["row"].to_numpy()
        contents = self._contents(wanted["url"])
        first = done = 0
        with PartTexts(self._part) as texts:
            for rows, successes in self._groups(numbers):
                count = len(successes)
                end = int(np.searchsorted(numbers, first + count))
                if end > done:
                    places = numbers[done:end] - first
                    chosen = wanted.slice(done, end - done)
                    assert rows is not None
                    data = rows.take(pa.array(places))
                    before = np.cumsum(successes) - successes
                    found = texts.of(before[places] + texts.passed, strings(data["url"]))
                    for page, text in zip(self._pages(data, chosen), found, strict=True):
                        self._make(page, text, contents.get(page.url))
                texts.passed += int(successes.sum())
                first, done = first + count, end

    def _groups(self, numbers: Any) -> Iterator[tuple[pa.Table | None, Any]]:
        """Of each row group the rows, if any of them is wanted, and which ones have a text."""
        columns = _ALL if self._job.maker.needs_outlinks else _WITHOUT_LINKS
        first = 0
        for path in self._part.data:
            with open_table(self._part.folder.child(PARSE_DATA_PART), path) as source:
                for group in range(source.num_row_groups):
                    count = source.metadata.row_group(group).num_rows
                    low, high = np.searchsorted(numbers, [first, first + count])
                    names = columns if high > low else ["status"]
                    rows = read_groups(source, [group], names)
                    good = pc.starts_with(rows["status"], "success").to_numpy()
                    yield (rows if high > low else None), good.astype(np.int64)
                    first += count

    def _contents(self, urls: Any) -> dict[str, Mapping[str, Any]]:
        """Headers and bytes of the wanted pages, as far as anybody asks for them."""
        names = ["headers"] if self._job.maker.needs_headers else []
        names += ["content"] if self._job.binary else []
        found: dict[str, Mapping[str, Any]] = {}
        if not names:
            return found
        value_set = as_array(urls)
        for path in self._part.content:
            with open_table(self._part.folder.child(CONTENT), path) as source:
                for rows in each_group(source, ["url", *names]):
                    rows = rows.filter(pc.is_in(rows["url"], value_set))
                    columns: dict[str, Any] = {"url": strings(rows["url"])}
                    if "headers" in names:
                        maps = cast("pa.MapArray[Any, Any]", as_array(rows["headers"]))
                        columns["headers"] = list(dicts(maps)) if rows.num_rows else []
                    if "content" in names:
                        columns["content"] = rows["content"].to_pylist()
                    for values in zip(*columns.values(), strict=True):
                        found[values[0]] = dict(zip(columns, values, strict=True))
        return found

    def _pages(self, data: pa.Table, wanted: pa.Table) -> Iterator[_PageRow]:
        """The rows of parse_data with what the shard knows of their pages."""
        metadata = dicts(cast("pa.MapArray[Any, Any]", as_array(data["metadata"])))
        others = {name: data[name].to_pylist() for name in data.column_names if name != "metadata"}
        records = _records(wanted)
        versions: list[Any] = wanted["version"].to_pylist()
        hosts, inlinks = strings(wanted["host"]), wanted["inlinks"].to_pylist()
        for number, (values, datum) in enumerate(zip(metadata, records, strict=True)):
            row = {name: column[number] for name, column in others.items()}
            links = tuple(Inlink(link["url"], link["anchor"]) for link in inlinks[number] or ())
            yield _PageRow(row, values, datum, hosts[number], versions[number], links)

    def _make(
        self, row: _PageRow, text: tuple[str, str | None], content: Mapping[str, Any] | None
    ) -> None:
        page = row.page(self._part.name, text, (content or {}).get("headers", {}))
        document = self._job.maker.make(page, self._counters)
        if document is None:
            word = "deleted" if self._job.delete_filtered else "skipped"
            self._counters[f"{word}.{FILTERED}"] += 1
            if self._job.delete_filtered:
                self._sender.send_deletions([row.host], [(page.url, row.version)])
            return
        if self._job.binary and content is not None:
            _add_binary(document, content["content"], page.charset, in_base64=self._job.base64)
        self._counters["documents"] += 1
        self._sender.send(row.host, document, self._part.name)


@dataclass(frozen=True, slots=True)
class _PageRow:
    row: dict[str, Any]
    metadata: dict[str, str]
    datum: CrawlDatum
    host: str
    version: int
    inlinks: tuple[Inlink, ...]

    @property
    def url(self) -> str:
        return str(self.row["url"])

    def page(
        self, segment: str, text: tuple[str, str | None], headers: Mapping[str, str]
    ) -> IndexablePage:
        row = self.row
        parse = Parse(
            self.url,
            ParseStatus(row["status"]),
            row["message"],
            row["title"],
            *text,
            outlinks=tuple(Outlink(**link) for link in row.get("outlinks") or ()),
            canonical=row["canonical"],
            language=row["language"],
            directives=frozenset(row["directives"].split()),
            metadata=self.metadata,
        )
        return IndexablePage(
            url=self.url,
            host=self.host,
            parse=parse,
            datum=self.datum,
            fetch_time=self.version,
            segment=segment,
            mime_type=row["mime_type"],
            charset=row["charset"],
            signature=row["signature"],
            inlinks=self.inlinks,
            headers=headers,
        )


def _records(wanted: pa.Table) -> Iterator[CrawlDatum]:
    """The CrawlDb's records; of URLs that it does not know, that of a fetch."""
    columns = []
    for field in CRAWLDB.schema:
        column = wanted[field.name]
        if field.name == "status":
            unknown = pc.equal(column, pa.scalar(0, pa.int8()))
            fetched = pa.scalar(int(Status.FETCH_SUCCESS), pa.int8())
            column = pc.if_else(unknown, fetched, column)
        elif field.name == "fetch_time":
            column = pc.coalesce(column, wanted["version"].cast(field.type))
        elif field.name in ("fetch_interval", "retries", "score"):
            column = pc.fill_null(column, pa.scalar(0).cast(field.type))
        elif field.name == "metadata" and column.null_count:
            column = pa.chunked_array(
                [pa.array([list(each or ()) for each in column.to_pylist()], field.type)]
            )
        columns.append(column)
    table = pa.Table.from_arrays(columns, names=CRAWLDB.names)
    return (datum for _, datum in to_records(table))


def _add_binary(document: IndexDocument, body: bytes, charset: str, *, in_base64: bool) -> None:
    if in_base64:
        document.fields[BINARY_FIELD] = base64.b64encode(body).decode()
        return
    try:
        document.fields[BINARY_FIELD] = body.decode(charset or "utf-8", "replace")
    except LookupError:
        document.fields[BINARY_FIELD] = body.decode("utf-8", "replace")
