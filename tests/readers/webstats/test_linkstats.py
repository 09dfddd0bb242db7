"""linkstats: degrees and the most linked URLs are those of the latest parse of each page."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa

from crawl.model.tables import PARSE_DATA as TABLE
from crawl.readers.webstats import run as statistics
from crawl.storage.parquet import open_writer
from crawl.storage.segments import PARSE_DATA, PartFile, PartManifest, Segment
from crawl.tables.runner import InProcess
from tests.phases.made import NOW, datum, make_crawldb, make_segment

Links = dict[str, list[str]]


def write_links(segment: Segment, pages: Links, files: int = 2) -> None:
    written = []
    for number in range(files):
        rows = [
            {
                **{field.name: "" for field in TABLE.schema},
                "url": url,
                "signature": None,
                "fetch_time": NOW,
                "outlinks": [{"url": to, "anchor": "", "rel": "", "tag": "a"} for to in links],
                "metadata": [],
            }
            for url, links in list(pages.items())[number::files]
        ]
        path = f"part-{number}.parquet"
        with open_writer(segment.part_folder(PARSE_DATA), path, TABLE.schema) as writer:
            writer.write(pa.Table.from_pylist(rows, schema=TABLE.schema))
        written.append(PartFile(number, path, len(rows), 1))
    segment.publish(PARSE_DATA, PartManifest(tuple(written), NOW))


def test_the_links_of_the_latest_parses(tmp_path: Path) -> None:
    chance = random.Random(3)
    urls = [f"http://h{n % 4}.test/p{n}" for n in range(60)]
    directory = make_crawldb(str(tmp_path), {urls[0]: datum()})
    latest: Links = {}
    for name in ("20260101000000", "20260102000000"):
        pages = {
            url: chance.choices(urls, k=chance.randrange(9)) for url in chance.sample(urls, 40)
        }
        write_links(make_segment(directory, name), pages)
        latest |= pages
    files = statistics.parse_files(directory.segments.generated())
    found = statistics.count_links(InProcess(), files, 5)
    distinct = {url: set(links) for url, links in latest.items()}
    indegrees = Counter(to for links in distinct.values() for to in links)
    assert found.segments == 2
    assert found.outlinks.pages == len(latest)
    assert found.outlinks.degrees == Counter(map(len, distinct.values()))
    assert found.inlinks.degrees == Counter(indegrees.values())
    assert found.outlinks.internal == sum(
        url[:10] == to[:10] for url, links in distinct.items() for to in links
    )
    counts = sorted(indegrees.values(), reverse=True)[:5]
    assert [links for links, _ in found.top] == counts
    assert all(indegrees[url] == links for links, url in found.top)
