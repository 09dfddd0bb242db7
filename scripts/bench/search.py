"""How well a search finds a certain page of real documentation, beside SQLite FTS5 and tantivy.

    ./scripts/bench/run search [--folder DIR] [--links] [--misses] [--json]

Debian's packages of six manuals in several languages, 60 queries of people who look for one certain
page (search_queries.tsv, fixed before anything was tuned). MRR is the mean of 1/place of the first
right page within the first ten, top 3 how many queries have one there. SQLite FTS5 has Porter's
stemmer and a title that counts five times, tantivy the schema of its tutorials; both are given the
main text, which serves them better than the whole page, and ask for any of the words where no page
has all of them, as ours does. `fairness`: three tenths of the pages get other languages' labels, of
languages whose stemmers leave Latin letters alone: how many queries have the same ten pages in the
same order, and how far scores differ. `--links`: also texts of the pages' links as queries for the
pages that they lead to. The host's bound is off, as FTS5 and tantivy have
none; `ours, 2 a host` has it. Exit code 1 where MRR is below another's, or a label changes an
order.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import tantivy
from search_pages import BenchPage, documentation

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.indexingfilter import IndexablePage
from crawl.model.datum import CrawlDatum
from crawl.model.documents import Inlink
from crawl.model.parse import Parse, ParseStatus
from crawl.model.status import Status
from crawl.phases.index.tasks.filter_chain import DocumentMaker
from crawl.search.answers import SearchOptions
from crawl.search.index import EmbeddedIndex
from crawl.search.writer import EmbeddedIndexWriter
from crawl.urls.parse import host_of

NOW_MS = 1_800_000_000_000
FETCHED_MS = 1_790_000_000_000
FOLDERS = 3
QUERIES = Path(__file__).with_name("search_queries.tsv")
_WORD = re.compile(r"\w+")
_LINK_ITEMS, _LINK_WORDS = 800, 6
_PLAIN_LINK = re.compile(r"[\w ,.]+")

Ask = Callable[[str], Sequence[str]]
"""From a query to the URLs of the ten best pages."""


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A query and the pages that are right."""

    query: str
    right: frozenset[str]


def known_items() -> list[KnownItem]:
    lines = QUERIES.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [KnownItem(query, frozenset(urls.split("|"))) for query, urls in rows]


def link_items(pages: Sequence[BenchPage]) -> list[KnownItem]:
    """Texts of few links, that lead to one page; not of an alphabetical index, which has every name
    of a manual as its own text."""
    urls = {page.url for page in pages}
    leads_to: dict[str, set[str]] = defaultdict(set)
    links: Counter[str] = Counter()
    for page in pages:
        for url, text in set(page.links) if "/genindex" not in page.url else ():
            if url in urls and url != page.url and 2 <= len(_WORD.findall(text)) <= _LINK_WORDS:
                leads_to[text].add(url)
                links[text] += 1
    found = [
        KnownItem(text, frozenset(right))
        for text, right in leads_to.items()
        if len(right) == 1 and links[text] <= _LINK_WORDS and _PLAIN_LINK.fullmatch(text)
    ]
    return sorted(found, key=lambda item: crc32(item.query.encode()))[:_LINK_ITEMS]


def our_index(
    folder: Path,
    pages: Sequence[BenchPage],
    language: Callable[[int, BenchPage], str] | None = None,
    *,
    anchors: bool = False,
) -> EmbeddedIndex:
    """The pages as `crawl index` makes documents of them, in several folders."""
    maker = DocumentMaker.from_config(Config())
    inlinks: dict[str, list[Inlink]] = defaultdict(list)
    for page in pages if anchors else ():
        for url, anchor in page.links:
            if url != page.url:
                inlinks[url.partition("#")[0]].append(Inlink(page.url, anchor))
    writers = [EmbeddedIndexWriter(str(folder / str(number))) for number in range(FOLDERS)]
    for number, page in enumerate(pages):
        parse = Parse(
            page.url,
            ParseStatus.SUCCESS,
            title=page.title,
            text=page.text,
            main_text=page.main_text,
            language=language(number, page) if language else page.language,
        )
        datum = CrawlDatum(Status.FETCH_SUCCESS, FETCHED_MS, score=1.0)
        made = maker.make(
            IndexablePage(
                page.url,
                host_of(page.url) or "",
                parse,
                datum,
                FETCHED_MS,
                mime_type="text/html",
                inlinks=inlinks[page.url],
            ),
            Counters(),
        )
        assert made is not None
        writers[number % FOLDERS].add(
            {**made.fields, "url": page.url, "rest": made.rest}, replaces=False
        )
    for writer in writers:
        writer.commit()
        writer.close()
    return EmbeddedIndex([str(folder / str(number)) for number in range(FOLDERS)])


def asked_of(index: EmbeddedIndex, per_host: int = 0) -> Ask:
    options = SearchOptions(limit=10, per_host=per_host)
    return lambda query: [hit.record.url for hit in index.search(query, NOW_MS, options).hits]


def tantivy_alone(folder: Path, pages: Sequence[BenchPage]) -> Ask:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", tokenizer_name="en_stem")
    builder.add_text_field("body", tokenizer_name="en_stem")
    folder.mkdir()
    index = tantivy.Index(builder.build(), str(folder))
    writer = index.writer(64 << 20, 1)
    for page in pages:
        writer.add_document(tantivy.Document(url=page.url, title=page.title, body=page.main_text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(query: str) -> list[str]:
        words = " ".join(_WORD.findall(query.lower()))
        for conjunction in (True, False):
            parsed = index.parse_query(words, ["title", "body"], conjunction_by_default=conjunction)
            hits = searcher.search(parsed, 10).hits
            if hits:
                return [str(searcher.doc(address)["url"][0]) for _, address in hits]
        return []

    return ask


def sqlite_fts5(folder: Path, pages: Sequence[BenchPage]) -> Ask:
    folder.mkdir()
    database = sqlite3.connect(folder / "pages.db")
    database.execute(
        "CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, body, tokenize='porter')"
    )
    with database:
        database.executemany(
            "INSERT INTO pages VALUES (?, ?, ?)",
            [(page.url, page.title, page.main_text) for page in pages],
        )
    asked = "SELECT url FROM pages WHERE pages MATCH ? ORDER BY bm25(pages, 0, 5, 1) LIMIT 10"

    def ask(query: str) -> list[str]:
        words = [f'"{word}"' for word in _WORD.findall(query)]
        for joiner in (" AND ", " OR "):
            found = database.execute(asked, (joiner.join(words),)).fetchall()
            if found:
                return [str(url) for (url,) in found]
        return []

    return ask


def fairness(place: Path, pages: Sequence[BenchPage], items: Sequence[KnownItem]) -> dict[str, Any]:
    """What labels of languages change that have fields or statistics of their own, and no stems
    of words in Latin letters."""
    labels = ("ar", "el", "", *("ru",) * 7)
    one = our_index(place / "one", pages, lambda number, page: "ru")
    other = our_index(
        place / "other", pages, lambda number, page: labels[crc32(page.url.encode()) % 10]
    )
    options = SearchOptions(limit=10, per_host=0)
    same, worst = 0, 0.0
    for item in items:
        first = one.search(item.query, NOW_MS, options).hits
        second = other.search(item.query, NOW_MS, options).hits
        same += [hit.record.url for hit in first] == [hit.record.url for hit in second]
        scores = {hit.record.url: hit.score for hit in first}
        for hit in second:
            known = scores.get(hit.record.url)
            if known:
                worst = max(worst, abs(hit.score / known - 1.0))
    return {"queries": len(items), "same_order": same, "worst_score_difference": worst}


def judged(ask: Ask, items: Sequence[KnownItem]) -> dict[str, Any]:
    places = {}
    for item in items:
        found = ask(item.query)
        places[item.query] = next(
            (place for place, url in enumerate(found, 1) if url in item.right), 0
        )
    return {
        "mrr": sum(1 / place for place in places.values() if place) / len(items),
        "first": sum(place == 1 for place in places.values()),
        "top_3": sum(1 <= place <= 3 for place in places.values()),
        "top_10": sum(place > 0 for place in places.values()),
        "places": places,
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    kept = Path(tempfile.gettempdir(), "nutria-bench-search")
    arguments.add_argument("--folder", default=kept, help="for packages")
    arguments.add_argument("--links", action="store_true", help="texts of links as queries, too")
    arguments.add_argument("--misses", action="store_true", help="show queries not found first")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    pages, items = documentation(Path(options.folder)), known_items()
    unknown = {url for item in items for url in item.right} - {page.url for page in pages}
    if unknown:
        print(f"search: no such page: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 1
    place = Path(tempfile.mkdtemp())
    try:
        plain = our_index(place / "ours", pages)
        results = {
            "ours": judged(asked_of(plain), items),
            "ours, 2 a host": judged(asked_of(plain, 2), items),
            "ours, with anchors": judged(
                asked_of(our_index(place / "anchors", pages, anchors=True)), items
            ),
            "SQLite FTS5": judged(sqlite_fts5(place / "fts5", pages), items),
            "tantivy alone": judged(tantivy_alone(place / "tantivy", pages), items),
        }
        if options.links:
            others = link_items(pages)
            results |= {
                f"{name}: {len(others)} links": judged(ask, others)
                for name, ask in (
                    ("ours", asked_of(plain)),
                    ("SQLite FTS5", sqlite_fts5(place / "links-fts5", pages)),
                    ("tantivy", tantivy_alone(place / "links-tantivy", pages)),
                )
            }
        fair = fairness(place, pages, items)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if options.json:
        print(json.dumps({"pages": len(pages), "engines": results, "fairness": fair}, indent=1))
    else:
        _show(len(pages), results, fair, misses=options.misses)
    ours = results["ours"]["mrr"]
    beaten = all(ours >= results[name]["mrr"] for name in ("SQLite FTS5", "tantivy alone"))
    return 0 if beaten and fair["same_order"] == len(items) else 1


def _show(
    pages: int, results: dict[str, dict[str, Any]], fair: dict[str, Any], *, misses: bool
) -> None:
    print(f"{pages:,} pages, {fair['queries']} queries")
    for name, found in results.items():
        print(
            f"{name:24} MRR {found['mrr']:.3f}, first {found['first']}, top 3 {found['top_3']},"
            f" top 10 {found['top_10']}"
        )
    print(
        f"fairness: {fair['same_order']} of {fair['queries']} queries in the same order,"
        f" scores differ by {fair['worst_score_difference']:.2%} at most"
    )
    for query, place in results["ours"]["places"].items() if misses else ():
        if place != 1:
            others = [results[name]["places"][query] for name in ("SQLite FTS5", "tantivy alone")]
            shown = [f"{each or '-':>3}" for each in (place, *others)]
            print(f"  {shown[0]}  FTS5 {shown[1]}  tantivy {shown[2]}  {query}")


if __name__ == "__main__":
    sys.exit(main())
