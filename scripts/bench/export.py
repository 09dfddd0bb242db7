"""Main text and Markdown of pages whose main text is known, by our extractor and by others; and a
whole export, on all cores.

    .venv/bin/python scripts/bench/export.py [--pages N] [--export N] [--json]

How much of the main text is found, and how much else: F1 over words, as the published comparisons
of extractors count it. Of Markdown also the share of headings, items of lists, cells of tables and
lines of code that are written as such. Pages a second are those of one core by processor time, and
for the whole export (keys, selection, extraction, signals, gzip) those of the clock with as many
processes as there are cores, each with a crawl of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from export_pages import MadePage, made_pages

_WORD = re.compile(r"\w+")
Extractor = Callable[[str], str | None]


def f1(found: str, wanted: str) -> float:
    """Of the words, each as often as it occurs."""
    here, there = Counter(_WORD.findall(found.lower())), Counter(_WORD.findall(wanted.lower()))
    shared = sum((here & there).values())
    return 2 * shared / max(1, here.total() + there.total())


def structure(found: str, page: MadePage) -> Iterator[tuple[int, int]]:
    """Of headings, items, cells and code how many are there, and how many should be."""
    listed = re.sub(r"(?m)^\s*[*+-]\s+", "- ", found)
    lines = {line.strip() for line in re.sub(r"[*_`]", "", listed).split("\n")}
    headings = {line.lstrip("#").strip() for line in lines if line.startswith("#")}
    yield sum(each in headings for each in page.headings), len(page.headings)
    items = {re.sub(r"^(?:-|\d+\.)\s+", "", line) for line in lines}
    yield sum(each in items and each not in lines for each in page.items), len(page.items)
    cells = {cell.strip() for line in lines if line.startswith("|") for cell in line.split("|")}
    yield sum(each in cells for each in page.cells), len(page.cells)
    code = {line.strip() for block in found.split("```")[1::2] for line in block.split("\n")}
    yield sum(each in code for each in page.code), len(page.code)


def contestants(*, markdown: bool) -> Iterator[tuple[str, Extractor]]:
    """Those that are installed, ours first."""
    from crawl.maincontent.extract import extract

    yield "crawl export", lambda html: extract(html.encode(), markdown=markdown).text
    try:
        import trafilatura

        shape = "markdown" if markdown else "txt"
        yield (
            "trafilatura",
            lambda html: trafilatura.extract(
                html, output_format=shape, include_formatting=markdown, include_comments=False
            ),
        )
        if not markdown:
            yield "trafilatura, fast", lambda html: trafilatura.extract(html, fast=True)
    except ImportError:
        pass
    try:
        from markdownify import markdownify
        from readability import Document

        yield (
            "readability, markdownify",
            lambda html: markdownify(
                Document(html).summary(), heading_style="ATX", code_language=""
            ),
        )
    except ImportError:
        pass
    try:
        import html2text

        yield "html2text (all of the page)", html2text.html2text
    except ImportError:
        pass
    if markdown:
        try:
            import html_to_markdown

            yield (
                "html-to-markdown (all of it)",
                lambda html: html_to_markdown.convert(html).content,
            )
        except ImportError:
            pass
    else:
        try:
            from resiliparse.extract.html2text import extract_plain_text

            yield (
                "resiliparse (not memory-safe)",
                lambda html: extract_plain_text(html, main_content=True),
            )
        except ImportError:
            pass


def measure(extract: Extractor, pages: Sequence[MadePage]) -> dict[str, Any]:
    extract(pages[0].html)
    begun = time.process_time()
    found = [extract(page.html) or "" for page in pages]
    spent = time.process_time() - begun
    kinds: dict[str, list[float]] = {}
    for page, text in zip(pages, found, strict=True):
        kinds.setdefault(page.kind, []).append(f1(text, page.text))
    counted = [list(structure(text, page)) for page, text in zip(pages, found, strict=True)]
    shares = [
        sum(row[at][0] for row in counted) / max(1, sum(row[at][1] for row in counted))
        for at in range(4)
    ]
    return {
        "pages_s": len(pages) / spent,
        "f1": sum(map(sum, kinds.values())) / len(pages),
        "by_kind": {kind: sum(values) / len(values) for kind, values in kinds.items()},
        "structure": dict(zip(("headings", "items", "cells", "code"), shares, strict=True)),
    }


# --- a whole export --------------------------------------------------------------------
def make_crawl(folder: str, count: int, seed: int) -> None:
    """A crawl whose segment has the made pages, fetched and parsed."""
    from crawl.config import Config
    from crawl.model.content import Content
    from crawl.model.status import Status
    from crawl.phases.parse import run as parse
    from crawl.phases.parse.options import ParseOptions
    from crawl.storage.crawl_dir import CrawlDir
    from crawl.tables.runner import InProcess
    from crawl.testing.clock import ManualClock
    from tests.phases.fetched import fetched_segment
    from tests.phases.made import NOW, datum, make_crawldb

    pages = made_pages(min(count, 500), seed)
    urls = [f"http://h{number % 97}.com/{number}" for number in range(count)]
    make_crawldb(
        folder, {url: datum(status=Status.DB_FETCHED, fetch_time=NOW) for url in urls}, buckets=8
    )
    contents = [
        Content(
            url,
            pages[number % len(pages)].html.encode(),
            "text/html",
            200,
            NOW,
            headers={"content-type": "text/html"},
            status=int(Status.FETCH_SUCCESS),
        )
        for number, url in enumerate(urls)
    ]
    crawl_dir = CrawlDir(folder)
    name = "20261115093001"
    fetched_segment(crawl_dir, [contents], name, group_rows=300)
    parse.run(InProcess(), crawl_dir, Config.of({}), ParseOptions(name), ManualClock(NOW))


def export_crawl(folder: str, format: str, text: str) -> tuple[int, float]:
    """Pages and processor seconds of an export in this process."""
    from crawl.config import Config
    from crawl.phases.export import run as export
    from crawl.phases.export.options import ExportOptions
    from crawl.phases.export.values import ExportFormat, TextKind
    from crawl.storage.crawl_dir import CrawlDir
    from crawl.tables.runner import InProcess
    from crawl.testing.clock import ManualClock

    options = ExportOptions(
        f"{folder}-{format}-{text}", ExportFormat(format), TextKind(text), overwrite=True
    )
    begun = time.process_time()
    done = export.run(
        InProcess(), CrawlDir(folder), Config.of({}), options, ManualClock(1_800_000_000_000)
    )
    return done.report.counters["pages"], time.process_time() - begun


def measure_export(count: int) -> list[dict[str, Any]]:
    cores = len(os.sched_getaffinity(0))
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-export-") as folder,
        multiprocessing.get_context("spawn").Pool(cores) as pool,
    ):
        folders = [f"{folder}/crawl{number}" for number in range(cores)]
        pool.starmap(
            make_crawl, [(each, count // cores, at + 1) for at, each in enumerate(folders)]
        )
        for format, text in (
            ("jsonl", "main"),
            ("parquet", "main"),
            ("wet", "full"),
            ("jsonl", "markdown"),
            ("parquet", "markdown"),
        ):
            pool.starmap(export_crawl, [(each, format, text) for each in folders])  # warm
            begun = time.perf_counter()
            done = pool.starmap(export_crawl, [(each, format, text) for each in folders])
            spent = time.perf_counter() - begun
            pages = sum(pages for pages, _ in done)
            found.append(
                {
                    "format": format,
                    "text": text,
                    "pages_s": pages / spent,
                    "pages_cpu_s": pages / sum(seconds for _, seconds in done),
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=200)
    parser.add_argument("--export", type=int, default=4_000, help="pages of the whole export")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    pages = made_pages(options.pages)
    results: dict[str, Any] = {}
    for markdown in (False, True):
        named = contestants(markdown=markdown)
        results["markdown" if markdown else "text"] = {
            name: measure(extract, pages) for name, extract in named
        }
    if options.export:
        results["export"] = measure_export(options.export)
    if options.json:
        print(json.dumps(results, indent=1))
        return
    size = sum(len(page.html) for page in pages) / len(pages) / 1000
    print(f"{len(pages)} pages of {size:.0f} kB on average")
    for form in ("text", "markdown"):
        print(f"\n{form:30} pages/s a core     F1  of its kinds")
        for name, one in results[form].items():
            kinds = " ".join(f"{kind} {value:.2f}" for kind, value in one["by_kind"].items())
            print(f"{name:30} {one['pages_s']:14.0f} {one['f1']:6.3f}  {kinds}")
            if form == "markdown":
                shares = " ".join(f"{key} {each:.2f}" for key, each in one["structure"].items())
                print(f"{'':52} {shares}")
    for one in results.get("export", ()):
        print(
            f"\nwhole export, {one['format']} of {one['text']} text: {one['pages_s']:.0f} pages/s"
            f" on {len(os.sched_getaffinity(0))} cores, {one['pages_cpu_s']:.0f} a core of"
            " processor time"
        )


if __name__ == "__main__":
    main()
