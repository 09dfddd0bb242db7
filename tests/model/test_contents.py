from __future__ import annotations

from crawl.model.content import Content
from crawl.model.contents import content_table, contents_of
from crawl.model.status import Status

WHOLE = Content(
    url="http://a.org/",
    body=b"\x00page",
    content_type="text/html",
    code=200,
    fetch_time=1_800_000_000_123,
    ip="127.0.0.1",
    truncated="length",
    version="HTTP/1.1",
    cipher="TLS",
    headers={"etag": "x"},
    status=int(Status.FETCH_SUCCESS),
    metadata={"nutch.crawl.score": "1.0"},
    request_headers=b"GET",
    response_headers=b"HTTP",
)
BARE = Content(url="http://a.org/b", body=b"")


def test_contents_come_back_as_they_were() -> None:
    table = content_table([WHOLE, BARE, WHOLE])
    assert list(contents_of(table)) == [WHOLE, BARE, WHOLE]
    assert list(contents_of(table.slice(1, 1))) == [BARE]
    assert list(contents_of(table.slice(3))) == []
