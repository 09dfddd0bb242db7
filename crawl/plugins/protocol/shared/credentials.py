"""Credentials for servers that require them, by host, from a file."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from crawl.config import Config, file
from crawl.plugins.protocol.shared.host_rules import HostRules
from crawl.urls.rule_lines import RuleLine, rule_lines

AUTH_FILE = file(
    "http.auth.file",
    "",
    "Credentials: lines of a host or *.domain and `basic USER PASSWORD`, `digest USER PASSWORD`"
    " or `bearer TOKEN`; empty: none.",
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """An authentication scheme with its user and secret."""

    scheme: str
    """basic, digest or bearer."""
    user: str
    secret: str

    @property
    def header(self) -> str:
        """The Authorization header; empty for digest, which answers a challenge."""
        if self.scheme == "bearer":
            return f"Bearer {self.secret}"
        if self.scheme == "basic":
            pair = f"{self.user}:{self.secret}".encode()
            return f"Basic {base64.b64encode(pair).decode('ascii')}"
        return ""


def credentials(config: Config) -> HostRules[Credentials]:
    """The credentials of the file; ConfigError, which never repeats a secret, for a bad line."""
    rules: HostRules[Credentials] = HostRules()
    for line in rule_lines(config, AUTH_FILE) if config[AUTH_FILE] else ():
        host, *rest = line.text.split()
        rules.add(line, host, _credentials(line, rest))
    return rules


def _credentials(line: RuleLine, rest: list[str]) -> Credentials:
    match [rest[0].lower(), *rest[1:]] if rest else []:
        case ["bearer", token] if token.isascii():
            return Credentials("bearer", "", token)
        case ["basic" | "digest" as scheme, user, password] if ":" not in user:
            return Credentials(scheme, user, password)
    raise line.wrong("expected a host and basic USER PASSWORD, digest USER PASSWORD, bearer TOKEN")
