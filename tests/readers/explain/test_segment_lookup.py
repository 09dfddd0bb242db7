from __future__ import annotations

from pathlib import Path

import pytest

from crawl.model.content import Content
from crawl.model.status import Status
from crawl.readers.explain.segment_lookup import Inlink, find_in_segment, find_inlinks
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import CONTENT, FETCH, GENERATE, PARSE, PARSE_DATA, Segment
from tests.phases.made import NOW, datum
from tests.phases.made_segments import link, make_segment

URLS = [f"http://h{n % 5}.org/{n}" for n in range(40)]
LINKED = [datum(status=Status.LINKED, score=n / 4) for n in range(4)]


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    return make_segment(
        CrawlDir(str(tmp_path)),
        "20270101000000",
        generate=[(url, datum()) for url in URLS],
        fetch=[
            *((url, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)) for url in URLS[1:]),
            ("http://h9.org/", datum(status=Status.LINKED)),
        ],
        contents=[
            Content(url, b"x" * 1000, "text/html", 200, NOW, headers={"server": "s"})
            for url in URLS[1:]
        ],
        parse=[
            *((URLS[2], linked) for linked in LINKED),
            (URLS[2], datum(status=Status.SIGNATURE, signature=b"s")),
            ("http://new.org/", LINKED[0]),
        ],
        pages=[
            {
                "url": url,
                "title": f"title of {url}",
                "signature": b"\x01\x02",
                "metadata": [("k", "v")],
                "outlinks": [link(URLS[2], f"from {n}"), link(URLS[3])] if n < 10 else [],
            }
            for n, url in enumerate(URLS)
        ],
    )


def test_every_part_that_speaks_of_a_url(segment: Segment) -> None:
    found = {mention.part: mention for mention in find_in_segment(segment, URLS[2], 4)}
    assert list(found) == [GENERATE, FETCH, CONTENT, PARSE_DATA, PARSE]
    assert found[GENERATE].records == (datum(),)
    assert found[FETCH].records[0].status is Status.FETCH_SUCCESS
    assert found[CONTENT].facts["code"] == 200
    assert found[CONTENT].facts["fetch_time"] == NOW
    assert "content" not in found[CONTENT].facts
    assert found[PARSE_DATA].facts["title"] == f"title of {URLS[2]}"
    assert found[PARSE_DATA].facts["outlinks"] == 2
    assert found[PARSE_DATA].facts["metadata"] == {"k": "v"}
    assert found[PARSE].links == 4
    signed, best = found[PARSE].records
    assert signed.signature == b"s"
    assert best == LINKED[-1]


@pytest.mark.parametrize("buckets", [1, 3, 4, 16])
def test_whatever_number_of_buckets_the_writer_knew(segment: Segment, buckets: int) -> None:
    assert [mention.part for mention in find_in_segment(segment, URLS[0], buckets)] == [
        GENERATE,
        PARSE_DATA,
    ]
    (redirected,) = find_in_segment(segment, "http://h9.org/", buckets)
    assert (redirected.part, redirected.records[0].status) == (FETCH, Status.LINKED)
    (linked,) = find_in_segment(segment, "http://new.org/", buckets)
    assert (linked.part, linked.links) == (PARSE, 1)
    for stranger in ("http://h1.org/none", "nonsense", "", "http://\N{SNOWMAN}/"):
        assert list(find_in_segment(segment, stranger, buckets)) == []


def test_links_to_a_url(segment: Segment) -> None:
    assert find_inlinks(segment, URLS[2], 2) == [
        Inlink(segment.name, URLS[0], "from 0"),
        Inlink(segment.name, URLS[1], "from 1"),
    ]
    assert len(find_inlinks(segment, URLS[2], 100)) == 10
    assert find_inlinks(segment, URLS[4], 5) == []
    assert find_inlinks(segment, URLS[2], 0) == []


def test_a_segment_that_is_only_generated(tmp_path: Path) -> None:
    segment = make_segment(CrawlDir(str(tmp_path)), "20270101000000", generate=[(URLS[0], datum())])
    assert [mention.part for mention in find_in_segment(segment, URLS[0], 4)] == [GENERATE]
    assert find_inlinks(segment, URLS[0], 5) == []
