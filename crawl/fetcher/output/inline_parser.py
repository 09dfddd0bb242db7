"""Parses pages on their way to disk (`fetcher.parse`), and finds links to follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from crawl.counters import Counters
from crawl.fetcher.values.item import FoundLinks
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.parsing.document import ParsedBatch
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.sandbox import Sandbox
from crawl.rules.follow import FollowRules
from crawl.storage.segments import CONTENT, PARSE, PARSE_DATA, PARSE_TEXT


class InlineParser:
    """The parser of one task. `parse` is called by one thread, `found_links` by another."""

    def __init__(self, parsing: ParsePlan, following: FollowRules) -> None:
        self._sandbox = Sandbox(parsing)
        self._sandbox.start()  # it loads while the first pages are fetched
        self._following = following
        self._links: deque[FoundLinks] = deque()

    @property
    def follows(self) -> bool:
        return self._following.depth > 0

    def parse(
        self, tables: Mapping[str, pa.Table], depths: Mapping[str, int] | None = None
    ) -> tuple[dict[str, pa.Table], Counters, list[FoundLinks]]:
        """Returns the tables of a batch with those that its parse adds, its counts, and the links
        to follow that were found; `depths` has the depth of each page whose links may be."""
        if CONTENT not in tables:
            return dict(tables), Counters(), []
        pages = tables[CONTENT]
        good = pc.equal(pages["status"], pa.scalar(int(Status.FETCH_SUCCESS)))
        if not pc.all(good).as_py():  # else nothing need be copied
            pages = pages.filter(good)
        batch = self._sandbox.parse_table(pages)
        links = self._find(batch, depths) if self.follows and depths else []
        self._links.extend(links)
        parsed = {
            PARSE: batch.crawl_parse,
            PARSE_DATA: batch.parse_data,
            PARSE_TEXT: batch.parse_text,
        }
        return {**tables, **parsed}, batch.counters, links

    def found_links(self) -> Iterator[FoundLinks]:
        """Yields links that were found since the last call."""
        while self._links:
            yield self._links.popleft()

    @property
    def has_found(self) -> bool:
        return bool(self._links)

    def close(self) -> None:
        self._sandbox.close()

    def _find(self, batch: ParsedBatch, depths: Mapping[str, int]) -> list[FoundLinks]:
        chosen_links: list[tuple[int, list[str]]] = []
        rows = batch.parse_data
        urls = cast(list[str], rows["url"].to_pylist())
        outlinks = cast("pa.ListArray[Any]", rows["outlinks"].combine_chunks())
        for url, links in zip(urls, _targets(outlinks), strict=True):
            depth = depths.get(url, self._following.depth) + 1
            targets = self._following.choose(url, depth, links)
            if targets:
                chosen_links.append((depth, targets))
        datums = _linked(batch.crawl_parse, {url for _, urls in chosen_links for url in urls})
        # a link's share is added when the CrawlDb is updated, as to any other page
        return [
            FoundLinks(
                depth, [(url, replace(datums[url], score=0.0)) for url in urls if url in datums]
            )
            for depth, urls in chosen_links
        ]


def _targets(outlinks: pa.ListArray[Any]) -> Iterator[list[str]]:
    ends = outlinks.value_lengths().to_pylist()
    links = cast(pa.StructArray, outlinks.flatten())
    urls = cast(list[str], links.field("url").to_pylist())
    start = 0
    for count in ends:
        yield urls[start : start + (count or 0)]
        start += count or 0


def _linked(crawl_parse: pa.Table, urls: set[str]) -> dict[str, CrawlDatum]:
    """The records that the parse made for links to these URLs."""
    if not urls:
        return {}
    is_link = pc.and_(
        pc.equal(crawl_parse["status"], pa.scalar(int(Status.LINKED))),
        pc.is_in(crawl_parse["url"], pa.array(urls, pa.string())),
    )
    return dict(to_records(crawl_parse.filter(is_link)))
