"""Documents and their links as rows of parse_data, parse_text and crawl_parse, by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.interfaces.scoring import Target
from crawl.model.answer_keys import PARSE_STATUS_KEY, REPRESENTATIVE_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.parse import REDIRECT_KEY, ParseStatus
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.model.table import METADATA, OUTLINKS, TIMESTAMP, Table
from crawl.model.tables import CRAWL_PARSE, PARSE_DATA, PARSE_TEXT
from crawl.parsing.document import Document
from crawl.parsing.outlinks import KeptLinks
from crawl.parsing.sitemap_depth import with_depths
from crawl.rules.redirect import representative
from crawl.urls.parse import host_of


def parse_data(documents: Sequence[Document], links: KeptLinks) -> pa.Table:
    parses = [document.parse for document in documents]
    columns = [
        _texts([parse.url for parse in parses]),
        _texts([parse.status.value for parse in parses]),
        _texts([parse.message for parse in parses]),
        _texts([parse.title for parse in parses]),
        _texts([document.mime_type for document in documents]),
        _texts([document.charset for document in documents]),
        _texts([parse.language for parse in parses]),
        _texts([parse.canonical for parse in parses]),
        _texts([" ".join(sorted(parse.directives)) for parse in parses]),
        pa.array([document.signature for document in documents], pa.binary()),
        pa.array([document.content.fetch_time for document in documents], TIMESTAMP),
        _outlinks(documents, links),
        _maps([_metadata(document) for document in documents]),
    ]
    return _table(columns, PARSE_DATA)


def _metadata(document: Document) -> Mapping[str, str]:
    metadata = document.parse.metadata
    return {**metadata, REDIRECT_KEY: document.redirect} if document.redirect else metadata


def parse_text(documents: Sequence[Document]) -> pa.Table:
    """The texts of documents that could be parsed."""
    parses = [document.parse for document in documents if document.parse.status.is_success]
    columns = [
        _texts([parse.url for parse in parses]),
        _texts([parse.text for parse in parses]),
        _texts([parse.main_text for parse in parses]),
    ]
    return _table(columns, PARSE_TEXT)


def crawl_parse(
    documents: Sequence[Document],
    links: KeptLinks,
    distributed: Sequence[Sequence[Target]] | None,
    metadata_keys: Sequence[str],
    interval: int,
) -> pa.Table:
    """The rows for the CrawlDb: those of each document itself, then those of its links.

    `distributed` are each document's links with their scores, if scoring distributes any;
    `metadata_keys` are the keys of the parse's metadata that the CrawlDb keeps.
    """
    own = to_table(_records(documents, metadata_keys, interval))
    if not len(links.owner):
        return own
    return pa.concat_tables([own, _linked(documents, links, distributed, interval)])


def _records(
    documents: Sequence[Document], metadata_keys: Sequence[str], interval: int
) -> Iterator[tuple[str, str, CrawlDatum]]:
    for document in documents:
        parse, fetched = document.parse, document.content.fetch_time
        url, host = parse.url, host_of(parse.url) or ""
        if not parse.status.is_success and parse.status is not ParseStatus.TRUNCATED:
            reason = {PARSE_STATUS_KEY: parse.status.value}
            datum = CrawlDatum(
                Status.PARSE_FAILED, fetched, signature=document.signature, metadata=reason
            )
            yield url, host, datum
            continue
        if document.is_inside:
            yield url, host, CrawlDatum(Status.FETCH_SUCCESS, fetched, fetch_interval=interval)
        if document.signature is not None:
            yield url, host, CrawlDatum(Status.SIGNATURE, fetched, signature=document.signature)
        kept_metadata = {
            key: _clean(parse.metadata[key]) for key in metadata_keys if key in parse.metadata
        }
        if kept_metadata:
            yield url, host, CrawlDatum(Status.PARSE_METADATA, fetched, metadata=kept_metadata)
        if document.redirect and parse.refresh is not None:
            target = document.redirect
            name = representative(url, target, temporary=parse.refresh.temporary)
            datum = CrawlDatum(
                Status.LINKED,
                fetched,
                fetch_interval=interval,
                metadata={REPRESENTATIVE_KEY: name} if name != target else {},
            )
            yield target, host_of(target) or "", datum


def _linked(
    documents: Sequence[Document],
    links: KeptLinks,
    distributed: Sequence[Sequence[Target]] | None,
    interval: int,
) -> pa.Table:
    owner, urls, hosts = links.owner, links.urls, links.hosts
    if distributed is None:
        rows = len(owner)
        scores = pa.array(np.zeros(rows, np.float32), pa.float32())
        intervals = pa.array(np.full(rows, interval, np.int32), pa.int32())
        metadata = _no_maps(rows)
    else:
        rows_scored, datums = _scored_links(links, distributed)
        rows = len(rows_scored)
        owner, urls, hosts = owner[rows_scored], urls.take(rows_scored), hosts.take(rows_scored)
        scores = pa.array([datum.score for datum in datums], pa.float32())
        intervals = pa.array([datum.fetch_interval for datum in datums], pa.int32())
        noted = [datum.metadata for datum in datums]
        metadata = _maps(noted) if any(noted) else _no_maps(rows)
    metadata = with_depths(documents, owner, metadata)
    fetched = np.array([document.content.fetch_time for document in documents], np.int64)
    columns = [
        urls,
        hosts,
        pa.array(np.full(rows, int(Status.LINKED), np.int8)),
        pa.array(fetched[owner]).cast(TIMESTAMP),
        pa.nulls(rows, TIMESTAMP),
        intervals,
        pa.array(np.zeros(rows, np.int16)),
        scores,
        pa.nulls(rows, pa.binary()),
        metadata,
    ]
    return _table(columns, CRAWL_PARSE)


def _scored_links(
    links: KeptLinks, distributed: Sequence[Sequence[Target]]
) -> tuple[npt.NDArray[np.int64], list[CrawlDatum]]:
    """Which of the kept links scoring has left, and the records that it gives them."""
    starts = np.searchsorted(links.owner, np.arange(len(distributed) + 1)).tolist()
    rows: list[int] = []
    datums: list[CrawlDatum] = []
    for number, targets in enumerate(distributed):
        start, stop = starts[number], starts[number + 1]
        datums += [datum for _, datum in targets]
        if len(targets) == stop - start:
            rows += range(start, stop)
            continue
        candidates = iter(zip(range(start, stop), links.urls[start:stop].to_pylist(), strict=True))
        for url, _ in targets:  # in their order, some left out
            rows.append(next(row for row, candidate in candidates if candidate == url))
    return np.array(rows, np.int64), datums


def _outlinks(documents: Sequence[Document], links: KeptLinks) -> pa.Array[Any]:
    outlinks = [
        documents[owner].parse.outlinks[position]
        for owner, position in zip(links.owner.tolist(), links.position.tolist(), strict=True)
    ]
    _, anchors, rels, tags = zip(*outlinks, strict=True) if outlinks else ((),) * 4
    structs = pa.StructArray.from_arrays(
        [links.urls, _texts(anchors), _texts(rels), _texts(tags)], fields=list(OUTLINKS.value_type)
    )
    offsets = np.searchsorted(links.owner, np.arange(len(documents) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs).cast(OUTLINKS)


def _table(columns: list[Any], table: Table) -> pa.Table:
    return pa.Table.from_arrays(columns, schema=table.schema)


def _texts(values: Sequence[Any]) -> pa.Array[Any]:
    """A string column; texts of plugins that cannot be stored are repaired."""
    try:
        return pa.array(values, pa.string())
    except (UnicodeError, pa.ArrowException):
        return pa.array([None if text is None else _clean(text) for text in values], pa.string())


def _clean(text: object) -> str:
    """The text as it can be stored: a lone surrogate has no bytes."""
    return str(text).encode("utf-8", "replace").decode()


def _no_maps(rows: int) -> pa.Array[Any]:
    nothing = pa.array([], pa.string())
    return _map_array(np.zeros(rows + 1, np.int32), nothing, nothing)


def _maps(values: Sequence[Any]) -> pa.Array[Any]:
    entries = [list(value.items()) for value in values]
    keys = [key for pairs in entries for key, _ in pairs]
    items = [item if type(item) is str else _clean(item) for pairs in entries for _, item in pairs]
    offsets = np.cumsum([0, *map(len, entries)]).astype(np.int32)
    return _map_array(offsets, _texts(keys), _texts(items)).cast(METADATA)


def _map_array(
    offsets: npt.NDArray[np.int32], keys: pa.Array[Any], items: pa.Array[Any]
) -> pa.Array[Any]:
    made: pa.Array[Any] = pa.MapArray.from_arrays(
        pa.array(offsets, pa.int32()),  # type: ignore[call-overload]  # the stubs want 64 bits
        keys,
        items,
    )
    return made
