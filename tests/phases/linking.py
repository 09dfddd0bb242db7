"""Segments with links made by hand, and LinkDbs read back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.interfaces.scoring import SCORE_KEY
from crawl.model.derived_tables import LINKDB
from crawl.model.tables import PARSE_DATA
from crawl.phases.invertlinks import run as invertlinks
from crawl.phases.invertlinks.linkdb import linkdb_of
from crawl.phases.invertlinks.options import InvertLinksOptions
from crawl.phases.mergelinkdb import run as mergelinkdb
from crawl.phases.mergelinkdb.options import MergeLinkDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.segments import (
    GENERATE,
    PARSE,
    PARSE_TEXT,
    PartFile,
    PartManifest,
    Segment,
)
from crawl.storage.segments import PARSE_DATA as PARSE_DATA_PART
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from crawl.urls.parse import host_of
from tests.phases.made import NOW


@dataclass(frozen=True)
class LinkingPage:
    """A parsed page: its URL, its links with their texts, and its score."""

    url: str
    links: tuple[tuple[str, str], ...]
    score: float | None = 1.0
    tag: str = "a"
    """The element that the links are found in."""


def pages_table(pages: Iterable[LinkingPage]) -> pa.Table:
    """The pages as rows of parse_data."""
    rows = [
        {
            "url": page.url,
            "status": "success",
            "message": "",
            "title": "",
            "mime_type": "text/html",
            "charset": "",
            "language": "",
            "canonical": "",
            "directives": "",
            "signature": None,
            "fetch_time": NOW,
            "outlinks": [
                {"url": url, "anchor": anchor, "rel": "", "tag": page.tag}
                for url, anchor in page.links
            ],
            "metadata": [] if page.score is None else [(SCORE_KEY, repr(page.score))],
        }
        for page in pages
    ]
    return pa.Table.from_pylist(rows, PARSE_DATA.schema)


def make_parsed(
    directory: CrawlDir, name: str, pages: list[LinkingPage], *, files: int = 2, whole: bool = True
) -> Segment:
    """A segment whose parse has found these pages, in several files."""
    segment = directory.segments.segment(name)
    segment.publish(GENERATE, PartManifest((), NOW))
    written = []
    folder = segment.part_folder(PARSE_DATA_PART)
    for number in range(files):
        path = attempt_name(f"part-{number:05d}")
        with open_writer(folder, path, PARSE_DATA.schema, 3) as writer:
            writer.write(pages_table(pages[number::files]))
        written.append(PartFile(number, path, writer.rows, folder.size(path) or 0))
    manifest = PartManifest(tuple(written), NOW, whole)
    none = PartManifest((), NOW, whole)
    segment.publish_parsed({PARSE: none, PARSE_DATA_PART: manifest, PARSE_TEXT: none})
    return segment


def invert(
    directory: CrawlDir,
    *segments: str,
    normalize: bool = False,
    filter: bool = False,
    again: bool = False,
    **settings: Any,
) -> Published:
    options = InvertLinksOptions(
        segments, normalize=normalize, filter=filter, again=again, steal_lock=again
    )
    usual = {"linkdb.ignore.internal.links": True}
    given = {name.replace("__", "."): value for name, value in settings.items()}
    config = Config.of({**usual, **given})
    return invertlinks.run(InProcess(), directory, config, options, ManualClock(NOW))


Inlinks = dict[tuple[str, str], tuple[str, float, str]]
"""Of (URL, linking page) the anchor, the score and the segment."""


def inlinks_of(directory: CrawlDir) -> Inlinks:
    """All links of the current LinkDb; also checks what every snapshot promises."""
    dataset = linkdb_of(directory)
    snapshot = dataset.require_current()
    found: Inlinks = {}
    before: tuple[int, bytes] = -1, b""
    for file in snapshot.files:
        with open_table(dataset.folder, file.path) as source:
            assert source.schema_arrow.equals(LINKDB.schema)
            rows = pa.concat_tables(each_group(source)).to_pylist()
        keys = [(row["url"], row["from_url"]) for row in rows]
        assert keys == sorted(set(keys), key=lambda key: (key[0].encode(), key[1].encode()))
        assert len(rows) == file.rows > 0
        assert before < (file.bucket, keys[0][0].encode()), "files of a bucket lie in order"
        assert file.first in (None, keys[0][0])
        before = file.bucket, keys[-1][0].encode()
        for row in rows:
            assert row["host"] == (host_of(row["url"]) or "")
            assert bucket_of(row["host"], snapshot.buckets) == file.bucket
            found[row["url"], row["from_url"]] = row["anchor"], row["score"], row["segment"]
    return found


def expected_inlinks(
    segments: Mapping[str, Iterable[LinkingPage]], *, most: int = 10_000, internal: bool = False
) -> Inlinks:
    """What the LinkDb must hold, link by link."""
    best: dict[tuple[str, str], tuple[float, str, int, str]] = {}
    for name, pages in segments.items():
        for page in pages:
            for url, anchor in page.links:
                if not internal and host_of(url) == host_of(page.url):
                    continue
                rank = page.score or 0.0, name, len(anchor), anchor
                key = url, page.url
                best[key] = max(best.get(key, rank), rank)
    of_url: dict[str, list[str]] = {}
    for url, source in best:
        of_url.setdefault(url, []).append(source)
    kept: Inlinks = {}
    for url, sources in of_url.items():
        sources.sort(key=lambda source: (-best[url, source][0], source.encode()))
        for source in sources[:most]:
            score, name, _, anchor = best[url, source]
            kept[url, source] = anchor, score, name
    return kept


SMALL = Config.of({"crawldb.file.rows": 6})


def invert_small_files(address: str, other: str) -> None:
    """Inverts all that is parsed, for a kill test."""
    options = InvertLinksOptions(normalize=False, filter=False)
    invertlinks.run(InProcess(), CrawlDir(address), SMALL, options, SystemClock())


def invert_again(address: str, name: str) -> None:
    """Inverts a segment anew, for a kill test."""
    options = InvertLinksOptions(
        (name,), normalize=False, filter=False, again=True, steal_lock=True
    )
    invertlinks.run(InProcess(), CrawlDir(address), SMALL, options, SystemClock())


def merge_small_files(address: str, other: str) -> None:
    """Merges another crawl's LinkDb, for a kill test."""
    options = MergeLinkDbOptions((other,))
    mergelinkdb.run(InProcess(), CrawlDir(address), SMALL, options, SystemClock())
