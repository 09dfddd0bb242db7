"""`parse_steps.py CRAWL_DIR SETTINGS PAGES`: what each step of parsing costs, over the same
fetched pages in one process; beside html-soup, and beside BeautifulSoup as people use it.
The last line is JSON: CPU milliseconds a page by step."""

from __future__ import annotations

import gc
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pyarrow as pa
from bs4 import BeautifulSoup
from fetch_list import config_of

from crawl.counters import Counters
from crawl.interfaces.page import Page
from crawl.interfaces.registry import resolve
from crawl.model.content import Content
from crawl.model.contents import contents_of
from crawl.model.status import Status
from crawl.parsing import rows
from crawl.parsing.document import Document, ParsedBatch
from crawl.parsing.outlinks import keep_links
from crawl.parsing.pipeline import Pipeline
from crawl.parsing.plan import ParsePlan
from crawl.parsing.process.child import RARE_COLLECTIONS
from crawl.parsing.process.messages import (
    pack_reply,
    pack_request,
    unpack_reply,
    unpack_request,
)
from crawl.parsing.process.parser_process import end_idle
from crawl.parsing.process.sandbox import Sandbox
from crawl.parsing.text.charset import charset_of
from crawl.parsing.text.mime import mime_type
from crawl.storage.bucketed import write_bucketed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.segments import CONTENT

BATCH = 256
"""As the sandbox has them."""


class Watched(Pipeline):
    """Keeps the documents that rows are made of."""

    documents: list[Document]

    def _rows(self, documents: list[Document], counters: Counters) -> ParsedBatch:
        self.documents = documents
        return super()._rows(documents, counters)


def main(address: str, settings: str, pages: str) -> None:
    config = config_of(Path(settings))
    contents = _contents(CrawlDir(address), int(pages))
    batches = [contents[start : start + BATCH] for start in range(0, len(contents), BATCH)]
    plan = ParsePlan.from_config(config)
    pipeline = Watched(plan)
    pipeline.parse(batches[0])
    gc.collect()
    gc.freeze()
    gc.set_threshold(*RARE_COLLECTIONS)
    made = [(pipeline.parse(batch), pipeline.documents) for batch in batches]

    def cost(work: Callable[[int], Any], of: int = len(contents)) -> float:
        """Of the slow ones the first pages must do."""
        begun = time.process_time()
        for number in range(len(batches)):
            if number * BATCH < of:
                work(number)
        return 1000 * (time.process_time() - begun) / min(of, len(contents))

    def html(name: str) -> Callable[[int], Any]:
        parser = resolve("parser", [name])[0].build(config)
        return lambda number: [parser.parse(Page(each, "text/html")) for each in batches[number]]

    signature = plan.signature.build(config)
    told = {
        "type": cost(lambda n: [mime_type(each) for each in batches[n]]),
        "charset": cost(lambda n: [charset_of(each.body, "text/html") for each in batches[n]]),
        "html": cost(html("html")),
        "signature": cost(lambda n: [signature.calculate(each, None) for each in batches[n]]),
        "links": cost(lambda n: keep_links(_links(made[n][1]), plan.outlinks, Counters())),
        "scores and rows": cost(lambda n: _rows(pipeline, made[n][1])),
        "whole pipeline": cost(lambda n: pipeline.parse(batches[n])),
        "pipes to the sandbox": cost(lambda n: _piped(batches[n], made[n][0])),
        "Parquet": _stored([batch for batch, _ in made], len(contents)),
        "start of a parser's process, once": _started(plan),
        "html-soup": cost(html("html-soup"), BATCH),
        "bs4 + html.parser": cost(lambda n: [_by_hand(each) for each in batches[n]], BATCH),
    }
    print(json.dumps(told))


def _contents(directory: CrawlDir, most: int) -> list[Content]:
    (segment,) = directory.segments.generated()
    found: list[Content] = []
    for file in segment.require(CONTENT).files:
        with open_table(segment.part_folder(CONTENT), file.path) as source:
            for group in each_group(source):
                found += contents_of(group)
                if len(found) >= most:
                    return [each for each in found[:most] if each.status == Status.FETCH_SUCCESS]
    return found


def _links(documents: Sequence[Document]) -> list[Any]:
    return [(document.parse.url, document.parse.outlinks) for document in documents]


def _rows(pipeline: Pipeline, documents: list[Document]) -> None:
    """What comes after the links are chosen."""
    none = [replace(each, parse=replace(each.parse, outlinks=())) for each in documents]
    counters = Counters()
    rows.parse_data(none, keep_links(_links(none), pipeline._parsing.outlinks, counters))
    rows.parse_text(none)


def _piped(contents: list[Content], batch: ParsedBatch) -> None:
    from crawl.model.contents import content_table

    request = [bytes(part) for part in pack_request(content_table(contents), {})]
    list(contents_of(unpack_request(request)[0]))
    unpack_reply([bytes(part) for part in pack_reply(batch, needs_restart=False)])


def _started(plan: ParsePlan) -> float:
    """Until it asks for pages."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Sandbox(plan) as sandbox:
        sandbox.parse([])
    end_idle()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def _stored(batches: list[ParsedBatch], pages: int) -> float:
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(place)
        begun = time.process_time()
        for name in ("parse_data", "parse_text"):
            schema = getattr(batches[0], name).schema
            with open_writer(folder, name, schema, 512) as writer:
                for batch in batches:
                    writer.write(getattr(batch, name))
        links = pa.concat_tables([batch.crawl_parse for batch in batches])
        write_bucketed(folder, "crawl_parse", links, 16)
        return 1000 * (time.process_time() - begun) / pages


def _by_hand(content: Content) -> Any:
    """As most who crawl with Python do it."""
    soup = BeautifulSoup(content.body, "html.parser")
    for element in soup(["script", "style"]):
        element.decompose()
    links = [(urljoin(content.url, a["href"]), a.get_text()) for a in soup.find_all("a", href=True)]
    return soup.title and soup.title.string, soup.get_text(" ", strip=True), links


if __name__ == "__main__":
    main(*sys.argv[1:])
