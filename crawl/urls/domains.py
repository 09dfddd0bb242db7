"""Hosts seen as names: registered domain, public suffix, top-level domain.

`tldextract` knows the public suffix list's exceptions and wildcards; it is used offline
(its own snapshot of the list), with ICANN's suffixes only, as Nutch: `blog.github.io`
belongs to `github.io`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crawl.urls.parse import host_of

if TYPE_CHECKING:
    from tldextract import TLDExtract

__all__ = ["domain_of", "domains_of", "host_of", "public_suffix", "registered_domain", "tld"]

_CACHED_HOSTS = 1 << 17
_IPV4_CHARACTERS = frozenset("0123456789.")
_NOT_IN_A_NAME = re.compile(r"[\s/\\?#@:%\[\]]")
"""The library reads URLs too: a text that is more than a host name must not reach it."""


@cache
def _suffixes() -> TLDExtract:
    """Loaded when first asked: the library brings an HTTP client along, and most processes
    that import this ask for no domain."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=False)


def registered_domain(host: str) -> str:
    """The domain somebody registered: `www.example.co.uk` → `example.co.uk`.

    Lower-case and without a trailing dot. An IP address, a public suffix and a host
    without a known suffix are returned whole.
    """
    return _split(host)[0]


def public_suffix(host: str) -> str | None:
    """ICANN's suffix of the host (`co.uk`); None for an IP address or an unknown one."""
    return _split(host)[1]


def tld(host: str) -> str | None:
    """The last label of a known public suffix (`uk`); None where there is none."""
    suffix = public_suffix(host)
    return suffix.rpartition(".")[2] if suffix else None


def domain_of(url: str) -> str | None:
    """The registered domain of a URL's host; None where the URL has no host."""
    host = host_of(url)
    return registered_domain(host) if host else None


def domains_of(hosts: pa.Array[Any]) -> pa.Array[Any]:
    """`registered_domain` for a column of hosts, at the price of its distinct hosts."""
    distinct = hosts.dictionary_encode()
    names = pa.array(
        [
            None if host is None else registered_domain(host)
            for host in distinct.dictionary.to_pylist()
        ],
        pa.string(),
    )
    return names.take(distinct.indices)


@lru_cache(maxsize=_CACHED_HOSTS)
def _split(host: str) -> tuple[str, str | None]:
    """The registered domain (or the host) and the public suffix (or None)."""
    host = host.lower().rstrip(".") or host
    if _IPV4_CHARACTERS.issuperset(host) or _NOT_IN_A_NAME.search(host):
        return host, None
    parts = _suffixes().extract_str(host)
    if not parts.suffix:
        return host, None
    return parts.top_domain_under_public_suffix or host, parts.suffix
