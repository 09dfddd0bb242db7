"""Documents are made where the text of their parse lies, and only then travel: once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, cast

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
from crawl.phases.index.tasks.matching import matching_rows
from crawl.phases.index.tasks.part_texts import Text, wanted_rows
from crawl.storage.segments import CONTENT
from crawl.tables.exchange import Outbox, Received

BINARY_FIELD = "binaryContent"
_WITHOUT_LINKS = [name for name in PARSE_DATA.names if name != "outlinks"]


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
        contents = self._contents(as_array(wanted["url"]))
        columns = PARSE_DATA.names if self._job.maker.needs_outlinks else _WITHOUT_LINKS
        for data, chosen, texts in wanted_rows(self._part, wanted, columns):
            for page in self._pages(data, chosen, texts, contents):
                self._make(page, contents)

    def _contents(self, urls: pa.Array[Any]) -> dict[str, tuple[dict[str, str], bytes]]:
        """Headers and bytes of the wanted pages, as far as anybody asks for them."""
        names = ["headers"] if self._job.maker.needs_headers else []
        names += ["content"] if self._job.binary else []
        found: dict[str, tuple[dict[str, str], bytes]] = {}
        if not names:
            return found
        every, folder = strings(urls), self._part.folder.child(CONTENT)
        for rows, places in matching_rows(folder, self._part.content, urls, names):
            headers: Iterable[Any] = repeat({}, len(places))
            bodies: Iterable[Any] = repeat(b"", len(places))
            if "headers" in names:
                headers = dicts(cast("pa.MapArray[Any, Any]", as_array(rows["headers"])))
            if "content" in names:
                bodies = rows["content"].to_pylist()
            for place, *content in zip(places.tolist(), headers, bodies, strict=True):
                found[every[place]] = (content[0], content[1])
        return found

    def _pages(
        self,
        data: pa.Table,
        wanted: pa.Table,
        texts: Iterable[Text],
        contents: Mapping[str, tuple[dict[str, str], bytes]],
    ) -> Iterator[IndexablePage]:
        """The rows of parse_data with what the shard knows of their pages."""
        rows = zip(
            data.drop_columns(["metadata"]).to_pylist(),
            dicts(cast("pa.MapArray[Any, Any]", as_array(data["metadata"]))),
            texts,
            _records(wanted),
            *(wanted[name].to_pylist() for name in ("host", "version", "inlinks")),
            strict=True,
        )
        for row, metadata, text, datum, host, version, inlinks in rows:
            url = row["url"]
            parse = Parse(
                url,
                ParseStatus(row["status"]),
                row["message"],
                row["title"],
                text[0],
                text[1],
                outlinks=tuple(Outlink(**link) for link in row.get("outlinks") or ()),
                canonical=row["canonical"],
                language=row["language"],
                directives=frozenset(row["directives"].split()),
                metadata=metadata,
            )
            yield IndexablePage(
                url=url,
                host=host,
                parse=parse,
                datum=datum,
                fetch_time=version,
                segment=self._part.name,
                mime_type=row["mime_type"],
                charset=row["charset"],
                signature=row["signature"],
                inlinks=tuple(Inlink(link["url"], link["anchor"]) for link in inlinks or ()),
                headers=contents[url][0] if url in contents else {},
            )

    def _make(
        self, page: IndexablePage, contents: Mapping[str, tuple[dict[str, str], bytes]]
    ) -> None:
        document = self._job.maker.make(page, self._counters)
        if document is None:
            word = "deleted" if self._job.delete_filtered else "skipped"
            self._counters[f"{word}.{FILTERED}"] += 1
            if self._job.delete_filtered:
                self._sender.send_deletions([page.host], [(page.url, page.fetch_time)])
            return
        if self._job.binary and page.url in contents:
            body = contents[page.url][1]
            _add_binary(document, body, page.charset, in_base64=self._job.base64)
        self._counters["documents"] += 1
        self._sender.send(page.host, document, self._part.name)


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
