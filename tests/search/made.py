"""Indexes made of a few pages, as a crawl's folder has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from crawl.search.folders import EMBEDDED, MANIFEST, EmbeddedFolders
from crawl.search.index import EmbeddedIndex
from crawl.search.writer import EmbeddedIndexWriter
from crawl.storage.layout import bucket_of
from crawl.storage.sealed_file import SealedFile
from crawl.urls.parse import host_of

PAGES: tuple[dict[str, object], ...] = (
    {
        "url": "http://run.example/shoes",
        "title": "Running shoes",
        "content": "The best running shoes for marathon runners. They ran far.",
        "lang": "en",
        "author": "Jane Doe",
    },
    {
        "url": "http://haus.example/koeln",
        "title": "Häuser in Köln",
        "content": "Viele schöne Häuser stehen in Köln am Rhein.",
        "lang": "de",
    },
    {
        "url": "http://tenki.example/tokyo",
        "title": "東京都の天気",
        "content": "東京都の天気予報です。明日は晴れるでしょう。",
        "lang": "ja",
    },
    {
        "url": "http://pku.example/",
        "title": "北京大学",
        "content": "北京大学是中国的一所大学。",
        "lang": "zh",
    },
    {
        "url": "http://seoul.example/",
        "title": "서울",
        "content": "서울은 대한민국의 수도이다",
        "lang": "ko",
    },
    {
        "url": "http://thai.example/",
        "title": "ไทย",
        "content": "ประเทศไทยมีเมืองหลวงชื่อกรุงเทพมหานคร",
        "lang": "th",
    },
    {
        "url": "http://fruit.example/a",
        "title": "Fruit",
        "content": "Apples and oranges: a marathon of fruit",
        "lang": "en",
        "type": "text/html; charset=utf-8",
        "tstamp": 1_000_000_000_000,
    },
)


def index_pages(
    crawl_dir: Path,
    pages: Iterable[Mapping[str, object]],
    shards: int = 2,
    writer: str = EMBEDDED,
) -> None:
    """Publishes an index of the pages, by host in so many folders."""
    folders = EmbeddedFolders.of_crawl(str(crawl_dir), writer)
    names = [f"shard-{number}" for number in range(shards)]
    writers = [EmbeddedIndexWriter(folders.folder.path(name)) for name in names]
    for page in pages:
        host = host_of(str(page["url"])) or ""
        writers[bucket_of(host, shards)].add(page)
    for each in writers:
        each.commit()
        each.close()
    publish(folders, names)


def publish(folders: EmbeddedFolders, names: Iterable[str]) -> None:
    """Makes these folders the index."""
    SealedFile(folders.folder, MANIFEST, unsealed=False).write({"folders": list(names)})


def opened(crawl_dir: Path) -> EmbeddedIndex:
    return EmbeddedIndex(EmbeddedFolders.of_crawl(str(crawl_dir)).require_paths(str(crawl_dir)))
