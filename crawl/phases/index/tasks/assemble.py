"""Documents are made where the text of their parse lies, and only then travel: once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.interfaces.indexingfilter import IndexablePage
from crawl.model.arrow import as_array, equals, fill_null, strings
from crawl.model.datum import CrawlDatum
from crawl.model.documents import Inlink
from crawl.model.parse import Outlink, Parse, ParseStatus
from crawl.model.records import dicts, to_records
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB, PARSE_DATA
from crawl.phases.index.rules import FILTERED
from crawl.phases.index.tasks.decide_shard import DELETED, REQUESTED
from crawl.phases.index.tasks.documents import DocumentSender
from crawl.phases.index.tasks.filter_chain import DocumentMaker
from crawl.phases.index.tasks.keys import SegmentPart
from crawl.phases.index.tasks.matching import matching_rows
from crawl.phases.index.tasks.part_texts import Text, requested_rows
from crawl.storage.segments import CONTENT
from crawl.tables.exchange import Outbox, Received

BINARY_FIELD = "binaryContent"
_WITHOUT_LINKS = [name for name in PARSE_DATA.names if name != "outlinks"]

_Contents = dict[str, tuple[dict[str, str], bytes]]
"""Headers and bytes of pages, by URL."""


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
    """Makes the documents of the pages that are requested of this part."""
    counters = Counters()
    sender = DocumentSender(outbox, job.shards)
    for rows in received.tables(DELETED):
        versions: list[Any] = rows["version"].to_pylist()
        pairs = list(zip(strings(rows["url"]), versions, strict=True))
        sender.send_deletions(strings(rows["host"]), pairs)
    requests = received.rows(REQUESTED)
    if requests.num_rows:
        _Assembler(job, part, counters, sender).assemble(requests)
    sender.flush()
    return counters


@dataclass(frozen=True, slots=True)
class _Assembler:
    job: AssembleJob
    part: SegmentPart
    counters: Counters
    sender: DocumentSender

    def assemble(self, requests: pa.Table) -> None:
        contents = self._contents(as_array(requests["url"]))
        columns = PARSE_DATA.names if self.job.maker.needs_outlinks else _WITHOUT_LINKS
        for data, group_requests, texts in requested_rows(self.part, requests, columns):
            for page in self._pages(data, group_requests, texts, contents):
                self._make(page, contents)

    def _contents(self, urls: pa.Array[Any]) -> _Contents:
        """Headers and bytes of the requested pages, as far as anybody asks for them."""
        names = ["headers"] if self.job.maker.needs_headers else []
        names += ["content"] if self.job.binary else []
        contents: _Contents = {}
        folder, paths = self.part.folder.child(CONTENT), self.part.content if names else ()
        for rows, places in matching_rows(folder, paths, urls, names):
            headers: Iterable[dict[str, str]] = repeat({}, len(places))
            bodies: Iterable[Any] = repeat(b"", len(places))
            if "headers" in names:
                headers = dicts(cast("pa.MapArray[Any, Any]", as_array(rows["headers"])))
            if "content" in names:
                bodies = rows["content"].to_pylist()
            pairs = zip(headers, bodies, strict=True)
            contents.update(zip(strings(urls.take(places)), pairs, strict=True))
        return contents

    def _pages(
        self, data: pa.Table, requests: pa.Table, texts: Iterable[Text], contents: _Contents
    ) -> Iterator[IndexablePage]:
        """The rows of parse_data with what the shard knows of their pages."""
        rows = zip(
            data.drop_columns(["metadata"]).to_pylist(),
            dicts(cast("pa.MapArray[Any, Any]", as_array(data["metadata"]))),
            texts,
            _records(requests),
            *(requests[name].to_pylist() for name in ("host", "version", "inlinks")),
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
                segment=self.part.name,
                mime_type=row["mime_type"],
                charset=row["charset"],
                signature=row["signature"],
                inlinks=tuple(Inlink(link["url"], link["anchor"]) for link in inlinks or ()),
                headers=contents[url][0] if url in contents else {},
            )

    def _make(self, page: IndexablePage, contents: _Contents) -> None:
        document = self.job.maker.make(page, self.counters)
        if document is None:
            word = "deleted" if self.job.delete_filtered else "skipped"
            self.counters[f"{word}.{FILTERED}"] += 1
            if self.job.delete_filtered:
                self.sender.send_deletions([page.host], [(page.url, page.fetch_time)])
            return
        if self.job.binary and page.url in contents:
            body = contents[page.url][1]
            document.fields[BINARY_FIELD] = (
                base64.b64encode(body).decode() if self.job.base64 else _text(body, page.charset)
            )
        self.counters["documents"] += 1
        self.sender.send(page.host, document, self.part.name)


def _records(requests: pa.Table) -> Iterator[CrawlDatum]:
    """The CrawlDb's records; of URLs that it does not know, that of a fetch."""
    columns: dict[str, Any] = {name: requests[name] for name in CRAWLDB.names}
    is_unknown = equals(columns["status"], 0)
    columns["status"] = pc.if_else(is_unknown, int(Status.FETCH_SUCCESS), columns["status"])
    times = requests["version"].cast(columns["fetch_time"].type)
    columns["fetch_time"] = pc.coalesce(columns["fetch_time"], times)
    for name in ("fetch_interval", "retries", "score"):
        columns[name] = fill_null(columns[name], 0)
    if columns["metadata"].null_count:
        maps = [list(each or ()) for each in columns["metadata"].to_pylist()]
        columns["metadata"] = pa.array(maps, columns["metadata"].type)
    return (datum for _, datum in to_records(pa.table(columns)))


def _text(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset or "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")
