"""The headers of requests: who the crawler is, what it accepts, cookies, validators."""

from __future__ import annotations

import re
from itertools import count

from crawl.config import Config, boolean, file, text
from crawl.errors import ConfigError
from crawl.interfaces.protocol import Headers, Request
from crawl.masking import masked_head
from crawl.plugins.protocol.shared.content_encoding import ACCEPT_ENCODING
from crawl.plugins.protocol.shared.host_rules import HostRules
from crawl.urls.rule_lines import rule_lines
from crawl.version import __version__

AGENT_NAME = text("http.agent.name", "", "Name of the crawler, told to every server; must be set.")
AGENT_VERSION = text(
    "http.agent.version", f"Nutria-{__version__}", "Version of the crawler, told after its name."
)
AGENT_DESCRIPTION = text("http.agent.description", "", "What the crawler is for, told in brackets.")
AGENT_URL = text("http.agent.url", "", "A page about the crawler, told in brackets.")
AGENT_ROTATE = boolean(
    "http.agent.rotate",
    False,
    "Tell the agents of http.agent.rotate.file in turn, one a request, instead of our own;"
    " robots.txt rules are still those for http.agent.name.",
)
AGENT_ROTATE_FILE = file("http.agent.rotate.file", "agents.txt", "User agents, one a line.")
AGENT_EMAIL = text(
    "http.agent.email", "", "Whom to write to; told in brackets and in the From header."
)
ACCEPT = text(
    "http.accept",
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "The Accept header; empty: none.",
)
ACCEPT_LANGUAGE = text(
    "http.accept.language",
    "en-us,en-gb,en;q=0.7,*;q=0.3",
    "The Accept-Language header; empty: none.",
)
CUSTOM_HEADERS = text(
    "http.custom.headers",
    "",
    "Further headers of every request, `Name: value`, one a line. Values that look like"
    " credentials are sent but not stored.",
)
CONDITIONAL = boolean(
    "http.enable.if.modified.since.header",
    True,
    "Ask for a known page only if it changed (If-Modified-Since, If-None-Match).",
)
COOKIES = boolean("http.enable.cookie.header", True, "Send cookies at all.")
COOKIE_FILE = file(
    "http.agent.host.cookie.file",
    "",
    "Cookies by host: lines of a host, *.domain or *, a tab and the cookie; empty: none.",
)

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]+")


class RequestHeaders:
    """Headers in the three forms that are needed; most requests share one object."""

    __slots__ = ("lines", "pairs", "rendered")
    rendered: bytes
    """As they are stored: secrets are masked."""

    def __init__(self, pairs: Headers) -> None:
        self.pairs = pairs
        # libcurl sends an empty header only where it is written so
        self.lines = [
            (f"{name}: {value}" if value else f"{name};").encode("latin-1", "replace")
            for name, value in pairs
        ]
        rows = [f"{name}: {value}\r\n" if value else f"{name}:\r\n" for name, value in pairs]
        self.rendered = masked_head("".join([*rows, "\r\n"]).encode("latin-1", "replace"))


class HeaderBuilder:
    """Builds the headers of requests from the configuration."""

    def __init__(self, config: Config) -> None:
        agents = [user_agent(config), *_rotated_agents(config)]
        fixed = [("User-Agent", agents[0])]
        fixed += [("From", config[AGENT_EMAIL])] if config[AGENT_EMAIL] else []
        fixed += [("Accept", config[ACCEPT])] if config[ACCEPT] else []
        fixed += [("Accept-Language", config[ACCEPT_LANGUAGE])] if config[ACCEPT_LANGUAGE] else []
        fixed += [("Accept-Encoding", ACCEPT_ENCODING)]
        custom = _custom_headers(config[CUSTOM_HEADERS])
        replaced = {name.lower() for name, _ in custom}
        usual = [(name, value) for name, value in fixed if name.lower() not in replaced]
        pairs = tuple((name, _clean(value)) for name, value in [*usual, *custom])
        self._fixed = RequestHeaders(pairs)
        self._rotated_agents = [
            RequestHeaders(tuple((n, agent if n == "User-Agent" else v) for n, v in pairs))
            for agent in agents[1:]
            if "user-agent" not in replaced
        ]
        self._requests = count()  # its next() is one step for all threads
        self._conditional = config[CONDITIONAL]
        self._cookies_on = config[COOKIES]
        self._cookies = (_cookies(config) if self._cookies_on else None) or None

    def headers(self, request: Request, host: str) -> RequestHeaders:
        """The headers of a request but for Host and Authorization; no value contains a line end."""
        fixed = self._fixed
        if self._rotated_agents:
            fixed = self._rotated_agents[next(self._requests) % len(self._rotated_agents)]
        cookies = self._cookies
        is_usual = cookies is None and not (request.etag or request.last_modified)
        if is_usual and not request.headers:
            return fixed
        extra = [(name, _clean(value)) for name, value in request.headers if _TOKEN.fullmatch(name)]
        if self._conditional and request.etag and not _means_any(request.etag):
            extra.append(("If-None-Match", _as_sent(_versions(request.etag))))
        if self._conditional and request.last_modified:
            extra.append(("If-Modified-Since", _as_sent(request.last_modified)))
        names = {name.lower() for name, _ in extra}
        cookie = None if cookies is None else cookies.get(host)
        if cookie and "cookie" not in names:
            extra.append(("Cookie", cookie))
        if not self._cookies_on:
            extra = [(name, value) for name, value in extra if name.lower() != "cookie"]
        usual = [pair for pair in fixed.pairs if pair[0].lower() not in names]
        return RequestHeaders((*usual, *extra))


_OF_AN_ENCODING = re.compile(r'((?:W/)?"[^"]+)-(?:gzip|br|zstd)"')


def _versions(etag: str) -> str:
    """The page's version as it was named; and without the name of the encoding that Apache puts
    behind it, because Apache compares what it is sent with the version of the plain file, and
    so never answered 304 where it compresses."""
    compressed = _OF_AN_ENCODING.fullmatch(etag)
    return f'{etag}, {compressed[1]}"' if compressed else etag


def _means_any(etag: str) -> bool:
    """Whether a version would be taken for the sign for any version: to that a server may answer
    304 whatever has become of the page."""
    return '"' not in etag and "*" in (part.strip() for part in etag.split(","))


def user_agent(config: Config) -> str:
    """The User-Agent: `name/version (description; url; email)`; ConfigError without a name."""
    name = config[AGENT_NAME].strip()
    if not name:
        raise ConfigError(
            "http.agent.name is not set: servers are told who asks;"
            " give it a name with -D http.agent.name=mybot"
        )
    if not _TOKEN.fullmatch(name.replace(" ", "")):
        raise ConfigError(f"http.agent.name: {name!r} cannot be sent; use letters, digits, - and _")
    version = config[AGENT_VERSION].strip()
    about = (config[each].strip() for each in (AGENT_DESCRIPTION, AGENT_URL, AGENT_EMAIL))
    remark = "; ".join(each for each in about if each)
    return _clean(name + (f"/{version}" if version else "") + (f" ({remark})" if remark else ""))


def _rotated_agents(config: Config) -> list[str]:
    """The user agents to send in turn; ConfigError where rotation is on and the file is empty."""
    if not config[AGENT_ROTATE]:
        return []
    agents = [_clean(line.text) for line in rule_lines(config, AGENT_ROTATE_FILE)]
    if not any(agents):
        raise ConfigError(
            f"{AGENT_ROTATE.name} is on, but {config[AGENT_ROTATE_FILE]} names no agent"
        )
    return [agent for agent in agents if agent]


def _custom_headers(lines: str) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    for number, line in enumerate(lines.split("\n"), start=1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not _TOKEN.fullmatch(name.strip()):  # not repeated: it may be a secret
            raise ConfigError(f"{CUSTOM_HEADERS.name}: line {number} is not `Name: value`")
        headers.append((name.strip(), value.strip()))
    return headers


def _cookies(config: Config) -> HostRules[str]:
    cookies: HostRules[str] = HostRules()
    for line in rule_lines(config, COOKIE_FILE) if config[COOKIE_FILE] else ():
        host, tab, cookie = line.text.strip().partition("\t")
        if not tab or not cookie.strip():
            raise line.wrong("expected a host, a tab and a cookie")
        cookies.add(line, host.strip(), _clean(cookie))
    return cookies


def _clean(value: str) -> str:
    """The value on one line, in characters that a header can carry (UTF-8 as Latin-1)."""
    value = _CONTROLS.sub(" ", value).strip()
    return value if value.isascii() else value.encode("utf-8", "replace").decode("latin-1")


def _as_sent(value: str) -> str:
    """A server's own words on one line, in the bytes in which they came: headers are read as
    Latin-1, and a version may have characters that are not ASCII."""
    value = _CONTROLS.sub(" ", value).strip()
    return value if value.isascii() or max(value) <= "\xff" else _clean(value)
