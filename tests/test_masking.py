from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.masking import MARK, masked_head, masked_setting, masked_urls


@pytest.mark.parametrize(
    "line",
    [
        *("Authorization: Basic bWU6eA==", "PROXY-AUTHORIZATION: x", "Cookie: id=1", "cookie2: a"),
        *("X-Api-Key: 123", "X-Auth-Token: t", "X-Amz-Security-Token: t", "Client-Secret: s"),
        *("X-Password: p", "X-Credential: c", "apikey: 1", "X-Session-Id: 5", "Api-Signature: f"),
        *("X-Access: Bearer abc.def", "X: token abcdef", "X: eyJhbGciOiJI.eyJzdWIi.sig"),
    ],
)
def test_headers_that_are_credentials(line: str) -> None:
    name = line.partition(":")[0]
    head = f"GET /a HTTP/1.1\r\nHost: a.org\r\n{line}\r\nAccept: */*\r\n\r\n".encode()
    assert masked_head(head) == head.replace(line.encode(), f"{name}: {MARK}".encode())


def test_other_headers_are_kept_byte_for_byte() -> None:
    head = (
        b"GET /?token=1: HTTP/1.1\r\nHost: a.org:80\r\nUser-Agent: bot/1 (about; me@a.org)\r\n"
        b"From: me@a.org\r\nAccept: text/html,*/*;q=0.8\r\nAccept-Language: en\r\nX-Author: me\r\n"
        b'If-None-Match: "basic"\r\nIf-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT\r\n'
        b"X-Y:\r\n\r\n"
    )
    assert masked_head(head) == head


@given(st.binary(max_size=200))
def test_any_head_can_be_masked(head: bytes) -> None:
    once = masked_head(head)
    assert masked_head(once) == once


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see http://me:pw@a.org/x@y", "see http://***@a.org/x@y"),
        ("socks5h://u:p@ss@proxy:1080 failed", "socks5h://***@proxy:1080 failed"),
        ("https://token@a.org", "https://***@a.org"),
        ('{"url": "ftp://u:p@h/"}', '{"url": "ftp://***@h/"}'),
        ("write to me@a.org", "write to me@a.org"),
        ("http://a.org/?to=me@b.org", "http://a.org/?to=me@b.org"),
    ],
)
def test_urls_lose_their_users(text: str, shown: str) -> None:
    assert masked_urls(text) == shown


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("http.proxy.password", "pw", MARK),
        ("http.proxy.password", "", ""),
        ("http.proxy.password", 12345, MARK),
        ("spark.hadoop.fs.s3a.secret.key", "x", MARK),
        ("spark.hadoop.fs.s3a.access.key", "x", MARK),
        ("spark.hadoop.fs.s3a.session.token", "x", MARK),
        ("spark.authenticate.secret", "x", MARK),
        ("spark.executorEnv.AWS_SECRET_ACCESS_KEY", "x", MARK),
        ("db.signature.text_profile.min_token_len", 2, 2),
        ("http.auth.file", "auth.txt", "auth.txt"),
        ("http.proxy.host", "me:pw@proxy", f"{MARK}@proxy"),
        ("http.agent.email", "me@a.org", "me@a.org"),
        ("metrics.pushgateway.url", "http://u:p@gw:9091", f"http://{MARK}@gw:9091"),
        ("spark.driver.extraJavaOptions", "-Da=1 -Dmy.password=x", f"-Da=1 -Dmy.password={MARK}"),
        ("http.custom.headers", "X-Key: 1\nX-A: b", f"X-Key: {MARK}\nX-A: b"),
        ("plugin.list", ("a", "http://u:p@h/"), ("a", f"http://{MARK}@h/")),
    ],
)
def test_settings(name: str, value: object, shown: object) -> None:
    assert masked_setting(name, value) == shown
