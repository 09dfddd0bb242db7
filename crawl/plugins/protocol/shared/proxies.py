"""Which proxy, if any, a URL is fetched through: one for all, or by scheme and host from
a file, in turn where several are named.

A proxy looks hosts up itself: behind one, literal addresses are judged here, and names that
mean the same everywhere (localhost, a cloud's metadata, private domains).
"""

from __future__ import annotations

from itertools import cycle
from urllib.parse import quote

from crawl.config import Config, choice, file, integer, string_list, text
from crawl.errors import ConfigError
from crawl.plugins.protocol.shared.host_rules import HostRules
from crawl.urls.parse import parse
from crawl.urls.rule_lines import RuleLine, rule_lines
from crawl.urls.servers import Server

PROXY_HOST = text("http.proxy.host", "", "Proxy of all requests; empty: none.")
PROXY_PORT = integer("http.proxy.port", 8080, "Its port.", minimum=1, maximum=65535)
PROXY_TYPE = choice("http.proxy.type", "HTTP", ("HTTP", "SOCKS"), "What the proxy speaks.")
PROXY_USERNAME = text("http.proxy.username", "", "User of the proxy; empty: none.")
PROXY_PASSWORD = text(
    "http.proxy.password",
    "",
    "Password of that user. Better in crawl-site.toml than by -D, which others can see in the list"
    " of processes.",
)
PROXY_EXCEPTIONS = string_list(
    "http.proxy.exception.list", (), "Hosts and *.domains that are asked without a proxy."
)
PROXY_FILE = file(
    "http.proxy.file",
    "",
    "Proxies by rule: lines of `http:`, `https:`, a host, *.domain or *, and one or more proxy"
    " URLs to use in turn, or `direct`; empty: none.",
)

_SCHEMES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")


class _ProxyRotation:
    """The proxies of one rule, used in turn; none means a direct connection."""

    def __init__(self, *urls: str) -> None:
        self.urls = urls
        self._turns = cycle(urls or ("",))

    def next(self) -> str:
        return next(self._turns)  # one step for all threads


class ProxyRules:
    """Chooses the proxy: host rules before scheme rules, these before `*` and http.proxy.host."""

    def __init__(self, config: Config) -> None:
        self._hosts: HostRules[_ProxyRotation] = HostRules()
        self._schemes: dict[str, _ProxyRotation] = {}
        self._default = _ProxyRotation(*_single_proxy(config))
        for line in rule_lines(config, PROXY_FILE) if config[PROXY_FILE] else ():
            self._add(line)
        for entry in config[PROXY_EXCEPTIONS]:
            self._hosts.add(RuleLine(PROXY_EXCEPTIONS.name, 1, entry), entry, _ProxyRotation())

    def __bool__(self) -> bool:
        return bool(self._hosts or self._schemes or self._default.urls)

    @property
    def uses_socks(self) -> bool:
        """Whether any of the proxies is a SOCKS proxy."""
        rules = (*self._hosts.values(), *self._schemes.values(), self._default)
        return any(url.startswith("socks") for rule in rules for url in rule.urls)

    def proxy_for(self, server: Server) -> str:
        """The URL of the proxy to use; empty for none."""
        rule = self._hosts.get(server.host) or self._schemes.get(server.scheme, self._default)
        return rule.next()

    def _add(self, line: RuleLine) -> None:
        pattern, *urls = line.text.split()
        if not urls:
            raise line.wrong("expected a host and the URL of a proxy, or `direct`")
        checked = () if urls == ["direct"] else (_checked_url(line, url) for url in urls)
        rule = _ProxyRotation(*checked)
        if pattern in ("http:", "https:"):
            self._schemes[pattern.removesuffix(":")] = rule
        elif pattern == "*":
            self._default = rule
        else:
            self._hosts.add(line, pattern, rule)


def _checked_url(line: RuleLine, text: str) -> str:
    parsed = parse(text)
    if parsed is None or parsed.scheme not in _SCHEMES or not parsed.host:
        raise line.wrong("a proxy is given as http://host:port or socks5://host:port")
    return text.removesuffix("/")


def _single_proxy(config: Config) -> tuple[str, ...]:
    """The proxy of all requests, where there is one."""
    if not config[PROXY_HOST]:
        return ()
    user = quote(config[PROXY_USERNAME], safe="")
    password = quote(config[PROXY_PASSWORD], safe="")
    userinfo = f"{user}:{password}@" if user else ""
    scheme = "socks5h" if config[PROXY_TYPE] == "SOCKS" else "http"
    proxy = f"{scheme}://{userinfo}{config[PROXY_HOST]}:{config[PROXY_PORT]}"
    if parse(proxy) is None:
        raise ConfigError(f"{PROXY_HOST.name}: {config[PROXY_HOST]!r} is not a host")
    return (proxy,)
