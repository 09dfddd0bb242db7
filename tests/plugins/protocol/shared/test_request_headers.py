from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import Request
from crawl.masking import masked_head
from crawl.plugins.protocol.shared.credentials import credentials
from crawl.plugins.protocol.shared.request_headers import HeaderBuilder, user_agent

NAMED = {"http.agent.name": "mybot"}


def test_a_name_that_can_be_sent() -> None:
    assert user_agent(Config.of({**NAMED, "http.agent.version": ""})) == "mybot"
    for name in ("", "  ", "my\nbot", "bot(1)"):
        with pytest.raises(ConfigError, match="http.agent.name"):
            user_agent(Config.of({"http.agent.name": name}))


def test_requests_that_ask_nothing_special_share_their_headers() -> None:
    asking = HeaderBuilder(Config.of(NAMED))
    one, other = (asking.headers(Request(f"http://{host}/"), host) for host in ("a", "b"))
    assert one is other


def test_a_requests_own_header_replaces_ours() -> None:
    headers = (("accept", "text/plain"), ("User-Agent", "other/1"))
    pairs = (
        HeaderBuilder(Config.of(NAMED)).headers(Request("http://a/", headers=headers), "a").pairs
    )
    names = [name.lower() for name, _ in pairs]
    assert len(names) == len(set(names))
    assert ("accept", "text/plain") in pairs and ("User-Agent", "other/1") in pairs


def test_switches() -> None:
    off = {
        "http.enable.if.modified.since.header": False,
        "http.enable.cookie.header": False,
        "http.accept": "",
        "http.accept.language": "",
    }
    request = Request("http://a/", 1, etag="x", last_modified="y", headers=(("Cookie", "a=1"),))
    pairs = HeaderBuilder(Config.of({**NAMED, **off})).headers(request, "a").pairs
    assert [name for name, _ in pairs] == ["User-Agent", "Accept-Encoding"]


def rotating(lines: str, **others: object) -> Config:
    return Config.of({**NAMED, "http.agent.rotate": True, **others}, {"agents.txt": lines})


def test_agents_are_sent_in_turn_where_wanted() -> None:
    lines = "# of old\nmybot/1 (a)\n\nmybot/2\n"
    asking = HeaderBuilder(rotating(lines))
    requests = [Request("http://a/"), Request("http://b/", etag="x"), Request("http://a/")]
    agents = [dict(asking.headers(request, "a").pairs)["User-Agent"] for request in requests]
    assert agents == ["mybot/1 (a)", "mybot/2", "mybot/1 (a)"]
    off = HeaderBuilder(Config.of(NAMED, {"agents.txt": lines}))
    assert dict(off.headers(requests[0], "a").pairs)["User-Agent"].startswith("mybot/Nutria-")


def test_rotation_needs_agents_and_still_a_name() -> None:
    with pytest.raises(ConfigError, match=r"agents.txt names no agent"):
        HeaderBuilder(rotating("# none\n"))
    with pytest.raises(ConfigError, match=r"agents.txt names no agent"):
        HeaderBuilder(Config.of({**NAMED, "http.agent.rotate": True}))  # the packaged file
    with pytest.raises(ConfigError, match=r"http.agent.name is not set"):
        HeaderBuilder(rotating("x\n", **{"http.agent.name": ""}))


def test_an_agent_of_ones_own_is_not_rotated_away() -> None:
    config = rotating("a\nb\n", **{"http.custom.headers": "User-Agent: mine"})
    pairs = HeaderBuilder(config).headers(Request("http://a/"), "a").pairs
    assert [value for name, value in pairs if name == "User-Agent"] == ["mine"]


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        (b"G\r\nauthorization: x y\r\nB: 1\r\n", b"G\r\nauthorization: ***\r\nB: 1\r\n"),
        (b"G\r\nX-Colour: 1\r\nCOOKIE:a=b\r\n", b"G\r\nX-Colour: 1\r\nCOOKIE: ***\r\n"),
        (b"G\r\nProxy-Authorization: Basic x\r\n", b"G\r\nProxy-Authorization: ***\r\n"),
    ],
)
def test_secrets_are_cut_out(head: bytes, kept: bytes) -> None:
    assert masked_head(head) == kept


def test_custom_headers_are_checked() -> None:
    for lines in ("hush", "Bad Name: hush", ": hush"):
        with pytest.raises(ConfigError, match="http.custom.headers: line 1") as raised:
            HeaderBuilder(Config.of({**NAMED, "http.custom.headers": lines}))
        assert "hush" not in str(raised.value)


def test_other_characters_go_as_utf8() -> None:
    rendered = HeaderBuilder(Config.of({**NAMED, "http.custom.headers": "X-Name: Zoë"}))
    assert "X-Name: Zoë".encode() in rendered.headers(Request("http://a/"), "a").rendered


@pytest.mark.parametrize("line", ["a.test cookie", "a.test\t", "a/b\tx=1"])
def test_a_wrong_cookie_line(line: str) -> None:
    values = {**NAMED, "http.agent.host.cookie.file": "c"}
    with pytest.raises(ConfigError, match="c:1"):
        HeaderBuilder(Config.of(values, files={"c": line}))


@pytest.mark.parametrize(
    "line", ["a.test", "a.test basic me", "a.test ntlm me hush", "a/b bearer hush"]
)
def test_a_wrong_credentials_line_is_reported_without_its_secret(line: str) -> None:
    with pytest.raises(ConfigError, match="auth:1") as raised:
        credentials(Config.of({"http.auth.file": "auth"}, files={"auth": line}))
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize(
    ("etag", "sent"),
    [
        ('"a-1"', '"a-1"'),
        ('W/"a"', 'W/"a"'),
        ('"a-gzip"', '"a-gzip", "a"'),
        ('W/"a-br"', 'W/"a-br", W/"a"'),
        ('"-gzip"', '"-gzip"'),
        ("unquoted-gzip", "unquoted-gzip"),
    ],
)
def test_a_version_is_asked_for_without_the_name_of_its_encoding_too(etag: str, sent: str) -> None:
    pairs = HeaderBuilder(Config.of(NAMED)).headers(Request("http://a/", etag=etag), "a").pairs
    assert ("If-None-Match", sent) in pairs


@pytest.mark.parametrize("etag", ["*", " * ", "a, *"])
def test_the_sign_for_any_version_is_no_version(etag: str) -> None:
    request = Request("http://a/", etag=etag, last_modified="then")
    pairs = HeaderBuilder(Config.of(NAMED)).headers(request, "a").pairs
    assert "If-None-Match" not in dict(pairs)
    assert ("If-Modified-Since", "then") in pairs
    quoted = HeaderBuilder(Config.of(NAMED)).headers(Request("http://a/", etag='"*"'), "a").pairs
    assert ("If-None-Match", '"*"') in quoted


def test_versions_are_sent_in_the_bytes_in_which_they_came() -> None:
    words = "M\xe4rz, \u00e6\u0097\u00a5"  # as headers are read, one character a byte
    request = Request("http://a/", etag=f'"{words}"', last_modified=words)
    headers = HeaderBuilder(Config.of(NAMED)).headers(request, "a")
    sent = words.encode("latin-1")
    assert headers.lines[-2:] == [
        b'If-None-Match: "' + sent + b'"',
        b"If-Modified-Since: " + sent,
    ]
    other = Request("http://a/", last_modified="\u65e5")  # of no HTTP server
    assert HeaderBuilder(Config.of(NAMED)).headers(other, "a").lines[-1].endswith(b"\xe6\x97\xa5")
