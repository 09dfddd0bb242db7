"""The truth is what an independent client really gets."""

from __future__ import annotations

import gzip
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import islice

import pyarrow as pa
import pytest

from crawl.errors import EnvironmentFault, UsageError
from crawl.synthetic.web import (
    ExpectedAnswer,
    PageKind,
    Settings,
    Web,
    WebServer,
    concurrency,
    gaps,
    running,
)
from crawl.synthetic.web.reply import http_date

SETTINGS = Settings(sites=14, pages=1400, slow=0.05)


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(SETTINGS)) as started:
        yield started


def ask(
    server: WebServer, url: str, method: str = "GET", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    authority, _, path = url.removeprefix("http://").partition("/")
    address = server.resolve(authority.partition(":")[0])
    client = http.client.HTTPConnection(address, server.port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    client.request(method, f"/{path}", headers={"Host": authority, "User-Agent": "test/1", **named})
    answer = client.getresponse()
    body = answer.read()
    client.close()
    return answer, body


def of_kind(server: WebServer, kind: PageKind) -> Iterator[ExpectedAnswer]:
    pages = (server.web.expected(url) for url in server.web.urls())
    return (page for page in pages if page.kind is kind)


def agrees(server: WebServer, page: ExpectedAnswer) -> None:
    answer, body = ask(server, page.url)
    assert (answer.status, body) == (page.code, page.body), page.url
    assert answer.headers.get("Location", "") == page.location
    assert answer.headers.get("ETag", "") == page.etag
    assert answer.headers["Content-Type"] == page.content_type
    assert answer.headers.get("Retry-After", "0") == str(page.retry_after)
    modified = http_date(page.modified) if page.modified else None
    assert answer.headers.get("Last-Modified") == modified
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize(
    "kind", [kind for kind in PageKind if kind is not PageKind.TOUR]
)  # asked for only
def test_every_kind_is_as_expected(server: WebServer, kind: PageKind) -> None:
    pages = list(islice(of_kind(server, kind), 12))
    assert pages
    for page in pages:
        agrees(server, page)


def test_robots_and_sitemaps_are_as_expected(server: WebServer) -> None:
    for seed in server.web.seeds():
        for path in ("robots.txt", "robots-moved.txt", "sitemap.xml", "no-such-page", "p1?x=1"):
            agrees(server, server.web.expected(seed + path))


def test_hops_of_chains_are_as_expected(server: WebServer) -> None:
    (chain, *_) = of_kind(server, PageKind.CHAIN)
    while chain.target:
        agrees(server, chain)
        chain = server.web.expected(chain.target)


def test_head_has_the_headers_and_no_body(server: WebServer) -> None:
    page = next(of_kind(server, PageKind.PAGE))
    answer, body = ask(server, page.url, "HEAD")
    assert (answer.status, body) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(page.body))


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "br": lambda body: pa.CompressedInputStream(pa.BufferReader(body), "brotli").read(),
    "zstd": lambda body: pa.CompressedInputStream(pa.BufferReader(body), "zstd").read(),
}


@pytest.mark.parametrize("encoding", UNPACK)
def test_an_encoding_is_used_where_it_is_accepted(server: WebServer, encoding: str) -> None:
    page = next(page for page in of_kind(server, PageKind.PAGE) if page.encoding == encoding)
    answer, body = ask(server, page.url, Accept_Encoding=f"identity, {encoding};q=0.5")
    assert answer.headers["Content-Encoding"] == encoding
    assert len(body) < len(page.body) / 2
    assert UNPACK[encoding](body) == page.body
    for refusal in (f"{encoding};q=0", "identity", "x-other"):
        answer, body = ask(server, page.url, Accept_Encoding=refusal)
        assert "Content-Encoding" not in answer.headers
        assert body == page.body


def test_not_modified_by_etag(server: WebServer) -> None:
    page = next(page for page in of_kind(server, PageKind.PAGE) if page.etag)
    answer, body = ask(server, page.url, If_None_Match=f'"other", {page.etag}')
    assert (answer.status, body, answer.headers["ETag"]) == (304, b"", page.etag)
    assert ask(server, page.url, If_None_Match='"other"')[0].status == 200


def test_not_modified_since(server: WebServer) -> None:
    page = next(page for page in of_kind(server, PageKind.PAGE) if page.modified)
    assert ask(server, page.url, If_Modified_Since=http_date(page.modified))[0].status == 304
    assert ask(server, page.url, If_Modified_Since=http_date(page.modified - 1))[0].status == 200
    assert ask(server, page.url, If_Modified_Since="yesterday")[0].status == 200


def test_an_etag_outweighs_a_date(server: WebServer) -> None:
    page = next(page for page in of_kind(server, PageKind.PAGE) if page.modified and page.etag)
    since = http_date(page.modified)
    answer, _ = ask(server, page.url, If_None_Match='"x"', If_Modified_Since=since)
    assert answer.status == 200


def test_time_changes_pages_and_repairs(server: WebServer) -> None:
    changing = next(page for page in of_kind(server, PageKind.CHANGING) if page.etag)
    flaky = next(of_kind(server, PageKind.FLAKY))
    ask(server, changing.url)
    server.set_time(700_000)
    try:
        answer, body = ask(server, changing.url, If_None_Match=changing.etag)
        assert (answer.status, body) == (200, server.web.expected(changing.url, 700_000).body)
        assert ask(server, flaky.url)[0].status == 200
    finally:
        server.set_time(0)
    assert ask(server, changing.url, If_None_Match=changing.etag)[0].status == 304


def raw(server: WebServer, data: bytes, pieces: int = 1) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
        size = -(-len(data) // pieces)
        for start in range(0, len(data), size):
            client.sendall(data[start : start + size])
            time.sleep(0.005 if pieces > 1 else 0)
        got = b""
        while more := client.recv(1 << 16):
            got += more
        return got


def request(path: str, *, last: bool = False) -> bytes:
    close = "Connection: close\r\n" if last else ""
    return f"GET {path} HTTP/1.1\r\nhost: Site2.test\r\n{close}\r\n".encode()


def test_requests_can_be_pipelined_and_come_in_pieces(server: WebServer) -> None:
    slow = next(page for page in of_kind(server, PageKind.SLOW) if "site2.test" in page.url)
    slow_path = "/" + slow.url.split("/", 3)[3]
    pages = [server.web.expected(server.web.seeds()[2] + path) for path in ("", "p2", "p3")]
    data = request("/") + request(slow_path) + request("/p2") + request("/p3", last=True)
    bodies = [pages[0].body, slow.body, pages[1].body, pages[2].body]
    for pieces in (1, 40):
        got = raw(server, data, pieces)
        assert [got.count(body) for body in bodies] == [1, 1, 1, 1]
        assert [got.index(body) for body in bodies] == sorted(got.index(body) for body in bodies)


def test_what_is_no_request_is_refused(server: WebServer) -> None:
    assert raw(server, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert raw(server, b"POST / HTTP/1.1\r\nHost: site1.test\r\n\r\n").startswith(b"HTTP/1.1 405 ")
    gone = b"GET / HTTP/1.0\r\nHost: example.org\r\n\r\n"
    assert raw(server, gone).startswith(b"HTTP/1.1 421 ")
    assert raw(server, b"x" * 65_536) == b""


def test_the_log_has_every_request_and_its_times() -> None:
    with running(Web(Settings.plain(3, 30, port=0, latency=0.05))) as server:
        url = server.web.seeds()[1]
        before = time.monotonic()
        for path in ("robots.txt", "", "p1"):
            ask(server, url + path)
        after = time.monotonic()
        log = server.requests()
        assert [entry.path for entry in log] == ["/robots.txt", "/", "/p1"]
        assert {(entry.host, entry.ip) for entry in log} == {
            ("site1.test", server.resolve("site1.test"))
        }
        assert {entry.agent for entry in log} == {"test/1"}
        assert log[1].sent == len(server.web.expected(url).body)
        assert len({entry.connection for entry in log}) == 3
        assert before < log[0].began < log[-1].ended < after
        assert all(entry.ended - entry.began >= 0.025 for entry in log)
        assert all(gap.seconds > 0 for gap in gaps(log))
        assert concurrency(log) == {"site1.test": 1}
        pid = server.pid
    assert server.requests() == log
    assert not server.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_who_leaves_early_is_logged() -> None:
    with running(Web(Settings.plain(1, 1, port=0, latency=5.0))) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: site0.test\r\n\r\n")
        entries = server.requests()
        while not entries:
            entries = server.requests()
        assert [(entry.status, entry.path) for entry in entries] == [(0, "/")]


def test_a_large_page_to_a_slow_reader_arrives_whole() -> None:
    with running(Web(Settings.plain(1, 1, port=0, size=20_000_000))) as server:
        with socket.create_connection((server.resolve("site0.test"), server.port)) as client:
            client.sendall(b"GET / HTTP/1.0\r\nHost: site0.test\r\n\r\n")
            time.sleep(0.1)
            got = b"".join(iter(lambda: client.recv(1 << 20), b""))
        assert got.endswith(server.web.expected(server.web.seeds()[0]).body)


def test_warming_changes_nothing_but_the_speed() -> None:
    with running(Web(Settings(sites=2, pages=50, port=0))) as server:
        server.warm()
        for url in server.web.urls():
            agrees(server, server.web.expected(url))
        assert len(server.requests()) == 50


def test_a_port_that_is_taken_is_reported(server: WebServer) -> None:
    with pytest.raises(UsageError, match="cannot listen on port"):
        WebServer(server.web)


def test_a_server_that_died_is_reported() -> None:
    server = WebServer(Web(Settings.plain(1, 1, port=0)))
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(EnvironmentFault):
        for _ in range(1000):
            server.set_time(1)
    server.stop()
    assert server.requests() == []


KILLED_PARENT = """
import os, signal
from crawl.synthetic.web import Settings, Web, WebServer
server = WebServer(Web(Settings.plain(1, 1, port=0)))
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_it_does_not_outlive_a_parent_that_was_killed() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_PARENT], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    pid = int(done.stdout)
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {pid} still runs")
