"""Rules by host or `*.domain`: how a line names one, and which of several is for a host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from crawl.urls.parse import host_of
from crawl.urls.rule_lines import RuleLine

T = TypeVar("T")

_NOT_IN_A_HOST = frozenset("/?#@\\")


def rule_host(
    line: RuleLine, name: str, expected: str = "a host", *, may_have_colon: bool = False
) -> str:
    """A host, or `*.domain`, in the spelling that URLs have; ConfigError, with the line's place,
    where the name is none. A colon is of a port, which is dropped, or of an IPv6 address."""
    host = host_of(f"http://{name.removeprefix('*.')}/")
    if host is None or _NOT_IN_A_HOST & set(name) or (":" in name and not may_have_colon):
        raise line.wrong(f"{name!r} is not {expected}")
    return f"*.{host}" if name.startswith("*.") else host


def nearest(
    values: Mapping[str, T], host: str, *, wildcard_includes_domain: bool = False
) -> T | None:
    """The value of the host, or that of the longest `*.domain` above it. `*.domain` may be also
    for the domain itself."""
    value = values.get(host)
    rest = host if wildcard_includes_domain else host.partition(".")[2]
    while value is None and rest:
        value = values.get(f"*.{rest}")
        rest = rest.partition(".")[2]
    return value
