"""Requests that are wrong, large, slow or forged."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from typing import Any

import pytest

from crawl.service.callers.scope import Scope
from tests.service.api.served import Answer, Running, wait_until

JSON = {"Content-Type": "application/json"}
LOOKUP = b'{"urls": ["http://site.test/"]}'


def head(service: Running, method: str = "POST", path: str = "/v1/lookup", *lines: str) -> bytes:
    """The head of a request whose other lines are given as they are."""
    said = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{service.port}", *lines, "", ""]
    return "\r\n".join(said).encode("latin-1")


def error_of(said: bytes) -> tuple[int, str]:
    """Status and code of an answer as it came."""
    first, _, rest = said.partition(b"\r\n")
    names, _, body = rest.partition(b"\r\n\r\n")
    assert b"content-type: application/json" in names.lower(), said
    return int(first.split()[1]), json.loads(body)["error"]["code"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"text"',
        b"{",
        b'{"urls": ["http://site.test/"',
        b'{"urls": "http://site.test/"}',
        b'{"urls": [1]}',
        b'{"urls": [], "more": 1}',
        b'{"urls": ["http://site.test/"]} {}',
        b'{"urls": ["\xff\xfe"]}',
        b'{"urls": ["\\ud800"]}',
        b'{"urls": ["a\x00b"]}',
        b"[" * 50_000,
        b'{"urls":' * 9_000,
        b'{"urls": [' + b"9" * 50_000 + b"]}",
        b'{"urls": [1e99999]}',
        b'{"urls": [NaN]}',
        b'{"urls": [' + b",".join([b'"u"'] * 301) + b"]}",
        b"\xef\xbb\xbf" + LOOKUP,
        LOOKUP.decode().encode("utf-16"),
    ],
)
def test_a_body_that_is_none_is_a_bad_request(service: Running, body: bytes) -> None:
    answer = service.ask("POST", "/v1/lookup", body)
    assert (answer.status, answer.code) == (400, "bad_request"), answer
    _says_nothing_of_the_machine(answer)


@pytest.mark.parametrize(
    ("path", "wish"),
    [
        ("/v1/urls", {}),
        ("/v1/urls", {"url": "http://a/", "urls": ["http://b/"]}),
        ("/v1/urls", {"url": None}),
        ("/v1/urls", {"url": ""}),
        ("/v1/urls", {"urls": ["http://a/"] * 1001}),
        ("/v1/urls", {"url": "http://a/", "priority": "urgent"}),
        ("/v1/urls", {"url": "http://a/", "max_age": -1}),
        ("/v1/urls", {"url": "http://a/", "max_age": "1 fortnight"}),
        ("/v1/urls", {"url": "http://a/", "tags": ["x"] * 21}),
        ("/v1/urls", {"url": "http://a/", "tags": [""]}),
        ("/v1/urls", {"url": "h" * 9000}),
        ("/v1/fetch", {"url": ["http://a/"]}),
        ("/v1/crawls", {"seeds": []}),
        ("/v1/crawls", {"seeds": ["http://a/"], "limits": {"pages": 0}}),
        ("/v1/crawls", {"seeds": ["http://a/"], "limits": {"pages": 10**30}}),
        ("/v1/crawls", {"seeds": ["http://a/"], "formats": ["html"]}),
        ("/v1/webhooks", {"url": "http://site.test/", "events": []}),
    ],
)
def test_what_cannot_be_meant_is_named(service: Running, path: str, wish: Any) -> None:
    answer = service.ask("POST", path, wish)
    assert (answer.status, answer.code) == (400, "bad_request"), answer


@pytest.mark.parametrize(
    "url",
    [
        "http://a\r\nb/",
        "http://site.test/\r\nX-Evil: 1",
        "http://site.test /",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "gopher://site.test/",
        "http://\x00/",
        "//site.test/",
        "http://[::1",
        "http://site.test:99999/",
        "http://" + "a" * 300 + "/",
        "http://site.test/" + "a" * 5000,
        "\u202ehttp://site.test/",
    ],
)
def test_a_submitted_url_that_is_none_is_refused_with_its_reason(
    service: Running, url: str
) -> None:
    (job,) = service.submit(url)
    if job["state"] == "refused":
        assert job["reason"] and job["message"]
    else:  # what a browser would make of it, by the URL standard
        assert "\r" not in job["url"] and "\n" not in job["url"] and "\x00" not in job["url"]


def test_lone_surrogates_and_nul_of_a_parameter_do_no_harm(service: Running) -> None:
    for raw in ("%ED%A0%80", "%00", "%FF", "http://site.test/%00", "%F0%9F"):
        answer = service.ask("GET", f"/v1/url?url={raw}")
        assert answer.status in (400, 404), answer


def test_a_body_that_is_too_large_is_refused_and_its_connection_ends_well(service: Running) -> None:
    large = b'{"urls": ["' + b"a" * 400_000 + b'"]}'
    answer = service.ask("POST", "/v1/lookup", large)
    assert (answer.status, answer.code) == (413, "too_large")
    pieces = b"".join(b"%x\r\n%s\r\n" % (50_000, b"a" * 50_000) for _ in range(4))
    lines = ("Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close")
    said = service.send(head(service, "POST", "/v1/lookup", *lines) + pieces + b"0\r\n\r\n")
    assert error_of(said) == (413, "too_large")


def test_a_body_in_pieces_without_a_length_is_read(service: Running) -> None:
    lines = ("Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close")
    body = b"".join(b"1\r\n%c\r\n" % each for each in LOOKUP) + b"0\r\n\r\n"
    assert service.send(head(service, "POST", "/v1/lookup", *lines) + body).startswith(
        b"HTTP/1.1 200"
    )


def test_a_compressed_body_is_not_unpacked(service: Running) -> None:
    bomb = gzip.compress(b" " * 10_000_000 + LOOKUP)
    answer = service.ask("POST", "/v1/lookup", bomb, {"Content-Encoding": "gzip"})
    assert (answer.status, answer.code) == (415, "content_encoding")


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_what_a_page_may_post_without_asking_is_not_taken(service: Running, kind: str) -> None:
    answer = service.ask("POST", "/v1/lookup", LOOKUP, {"Content-Type": kind})
    assert (answer.status, answer.code) == (415, "media_type")


@pytest.mark.parametrize(
    "lines",
    [
        ("Host: evil.example",),
        ("Authorization: Bearer a", "Authorization: Bearer b"),
        ("X-API-Key: a", "X-API-Key: b"),
        ("Content-Type: text/plain", "Content-Type: application/json"),
        ("Origin: http://localhost", "Origin: http://evil.example"),
    ],
)
def test_a_header_that_decides_may_be_there_once(service: Running, lines: tuple[str, ...]) -> None:
    said = service.send(head(service, "GET", "/v1/jobs/x", *lines, "Connection: close"))
    assert error_of(said) == (400, "bad_request")


@pytest.mark.parametrize(
    "raw",
    [
        b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/url HTTP/1.1\r\n\r\n",
        b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
        b"Content-Length: 6\r\n\r\nhello!",
        b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello",
        b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/urls HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n",
        b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\n Folded: x\r\n\r\n",
        b"POST /v1/lookup HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"POST /v1/lookup HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
        b"GET /v1/\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"NOTHING\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
def test_what_two_servers_might_read_differently_is_no_request(
    service: Running, raw: bytes
) -> None:
    said = service.send(raw)
    assert said.count(b"HTTP/1.1 ") == 1, said
    assert error_of(said)[0] == 400
    assert b"connection: close" in said.lower()


def test_a_head_without_an_end_is_refused(service: Running) -> None:
    raw = b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 200_000
    assert error_of(service.send(raw)) == (431, "head_too_large")


@pytest.mark.parametrize(
    ("header", "value", "code"),
    [
        ("Host", "evil.example", "host_refused"),
        ("Host", "127.0.0.1.evil.example", "host_refused"),
        ("Origin", "https://evil.example", "origin_refused"),
        ("Origin", "null", "origin_refused"),
        ("Sec-Fetch-Site", "cross-site", "origin_refused"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/events", "/metrics", "/openapi.json", "/v1/webhooks"])
def test_a_page_of_another_site_reads_nothing(
    service: Running, header: str, value: str, code: str, path: str
) -> None:
    answer = service.ask("GET", path, headers={header: value})
    assert (answer.status, answer.code) == (403, code)
    assert "access-control-allow-origin" not in answer.headers


def test_no_other_site_is_allowed_anything(service: Running) -> None:
    preflight = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = service.ask("OPTIONS", "/v1/urls", headers=preflight)
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert not [each for each in answer.headers if each.startswith("access-control")]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/urls", "POST"),
        ("DELETE", "/v1/url", "GET, HEAD"),
        ("POST", "/v1/webhooks/wh_1", "DELETE, GET, HEAD"),
        ("PATCH", "/v1/crawls", "GET, HEAD, POST"),
        ("TRACE", "/v1/urls", "POST"),
        ("POST", "/metrics", "GET, HEAD"),
    ],
)
def test_another_method_is_told_which_there_are(
    service: Running, method: str, path: str, allow: str
) -> None:
    answer = service.ask(method, path)
    assert (answer.status, answer.code) == (405, "method_not_allowed")
    assert answer.headers["allow"] == allow


def test_of_a_get_the_head_can_be_had_alone(service: Running) -> None:
    for path in ("/readyz", "/openapi.json", "/v1/crawls", "/v1/events"):
        answer = service.ask("HEAD", path)
        assert (answer.status, answer.body) == (200, b""), path
    wait_until(lambda: service.crawl.bus.listeners == 0)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v1/urls/",
        "//v1/urls",
        "/v1//urls",
        "/v1/../metrics",
        "/v1/%2e%2e/metrics",
        "/v1/jobs/..%2f..%2fmetrics",
        "/v1/jobs/a/b",
        "/v1/jobs/" + "x" * 5000,
        "/V1/url",
        "/v1/webhooks/wh_%00",
        "/v1/crawls/../../etc/passwd",
        "/.git/config",
        "/docs",
    ],
)
def test_there_is_nothing_beside_the_paths_that_there_are(service: Running, path: str) -> None:
    answer = service.ask("GET", path)
    assert (answer.status, answer.code) == (404, "not_found"), answer
    assert "location" not in answer.headers


def _says_nothing_of_the_machine(answer: Answer) -> None:
    for word in (b"Traceback", b"File ", b".py", b"/tmp", b"/home", b"site-packages"):
        assert word not in answer.body


def test_a_fault_of_ours_tells_nothing(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(f"secret {__file__}")

    monkeypatch.setattr(service.crawl.service.queue, "entry", broken)
    answer = service.ask("GET", "/v1/jobs/01m7t0xkfcbdf3szcjfnhywe3c")
    assert (answer.status, answer.code) == (500, "internal_error")
    assert b"secret" not in answer.body
    _says_nothing_of_the_machine(answer)


def test_refusals_are_logged_without_what_a_terminal_obeys(
    service: Running, caplog: pytest.LogCaptureFixture
) -> None:
    def is_told() -> bool:  # one a second, of each kind
        service.ask("GET", "/v1/jobs/%1b%5b2J%0aforged", headers={"Host": "evil.example"})
        return "forged" in caplog.text

    with caplog.at_level("WARNING"):
        wait_until(is_told)
    assert "\x1b" not in caplog.text and "\nforged" not in caplog.text
    assert r"\x1b[2J\nforged" in caplog.text


def test_refusals_are_counted_for_whoever_watches(service: Running) -> None:
    service.ask("GET", "/v1/crawls", headers={"Host": "evil.example"})
    text = service.ask("GET", "/metrics").body.decode()
    assert 'code="host_refused"' in text


@pytest.mark.slow(seconds=5)
def test_a_client_that_sends_slowly_is_let_go(strict: Running) -> None:
    """Neither one that says nothing, nor one that goes on saying a little, holds a connection."""
    with socket.create_connection(("127.0.0.1", strict.port), timeout=120) as silent:
        assert error_of(_all_of(silent)) == (408, "head_timeout")
    with socket.create_connection(("127.0.0.1", strict.port), timeout=120) as slow:
        over = threading.Event()

        def drip() -> None:
            slow.sendall(b"GET /readyz HTTP/1.1\r\n")
            while not over.wait(0.1):
                try:
                    slow.sendall(b"X: y\r\n")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        said = _all_of(slow)
        over.set()
        thread.join()
        assert not said or error_of(said) == (408, "head_timeout")
    lines = ("Content-Type: application/json", "Content-Length: 1000")
    said = strict.send(head(strict, "POST", "/v1/lookup", *lines) + b"{")
    assert error_of(said) == (408, "body_timeout")


def _all_of(connection: socket.socket) -> bytes:
    said = b""
    try:
        while piece := connection.recv(65536):
            said += piece
    except ConnectionResetError:
        pass
    return said


@pytest.mark.slow(seconds=5)
def test_too_many_connections_are_told_to_come_back(strict: Running) -> None:
    held = [socket.create_connection(("127.0.0.1", strict.port), timeout=120) for _ in range(12)]
    try:
        refused = strict.crawl.service.counters
        before = refused["api_errors.too_many_connections"]
        said = b""

        def is_refused() -> bool:
            nonlocal said
            said = strict.send(head(strict, "GET", "/readyz", "Connection: close"))
            return said.startswith(b"HTTP/1.1 503")

        wait_until(lambda: is_refused() or _held_again(held, strict.port))
        assert error_of(said) == (503, "too_many_connections")
        assert b"retry-after: " in said.lower()
        assert refused["api_errors.too_many_connections"] > before
    finally:
        for each in held:
            each.close()
    wait_until(lambda: strict.ask("GET", "/readyz").status == 200)


def _held_again(held: list[socket.socket], port: int) -> bool:
    """On a slow machine those that were held may have been let go by now."""
    for each in held:
        each.close()
    held[:] = [socket.create_connection(("127.0.0.1", port), timeout=120) for _ in range(12)]
    return False


def test_keys_that_are_missing_or_wrong(service: Running) -> None:
    made = service.crawl.keys.make("r", [Scope.LOOKUP])
    off = service.crawl.keys.make("off", [Scope.LOOKUP])
    service.crawl.keys.disable(off.key.id)
    wrong = made.text[:-1] + ("0" if made.text[-1] != "0" else "1")
    for text, code in (
        ("nonsense", "key_malformed"),
        (wrong, "key_unknown"),
        ("nut_" + "0" * 12 + "_" + "0" * 64, "key_unknown"),
        (off.text, "key_disabled"),
    ):
        answer = service.ask("POST", "/v1/lookup", LOOKUP, key=text)
        assert (answer.status, answer.code) == (401, code)
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert text.encode() not in answer.body
    assert service.ask("POST", "/v1/lookup", LOOKUP, key=made.text).status == 200
    answer = service.ask("POST", "/v1/urls", {"url": "http://site.test/"}, key=made.text)
    assert (answer.status, answer.code) == (403, "scope_missing")


def test_a_used_up_quota_says_when_to_come_back(service: Running) -> None:
    from crawl.service.callers.quota import Quota

    few = {Scope.LOOKUP: Quota(per_second=0.001, burst=2)}
    key = service.crawl.keys.make("few", [Scope.LOOKUP], few).text
    assert service.ask("POST", "/v1/lookup", {"urls": ["http://a/", "http://b/"]}, key=key).status
    answer = service.ask("GET", "/v1/url?url=http://a/", key=key)
    assert (answer.status, answer.code) == (429, "rate_exceeded")
    assert int(answer.headers["retry-after"]) > 100
