"""Lists of URLs, hosts and domains that a user wrote, for what a phase does to their pages.

A line is a URL, a host or a registered domain; blank lines and lines that begin with # are
comments, and so is what follows a tab, so that seed files will do. Files may be gzipped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crawl.config import Config
from crawl.config.properties import SEED_MAX_LINE
from crawl.counters import Counters
from crawl.errors import UsageError
from crawl.interfaces.chains import NormalizerChain
from crawl.model.arrow import fill_null
from crawl.phases.webgraph.tasks.marks import ANY_BUCKET, NAMES
from crawl.printable import printable
from crawl.storage.layout import buckets_of
from crawl.storage.seeds import plan_seeds, read_lines
from crawl.urls.domains import registered_domain
from crawl.urls.hosts import hosts_of
from crawl.urls.parse import host_of

MAX_NAMES = 1_000_000
"""A list is in the memory of every task that looks for its names."""
_MAX_SHOWN = 80


@dataclass(frozen=True)
class NameList:
    """The names in a file."""

    address: str
    urls: tuple[str, ...]
    """As they are written, and in the form that is normal today."""
    hosts: tuple[str, ...]
    """Of these, registered domains stand for all of their hosts."""
    lines: int

    def table(self, buckets: int) -> pa.Table:
        """The names, each with the bucket that has its pages."""
        urls, hosts = pa.array(self.urls, pa.string()), pa.array(self.hosts, pa.string())
        is_domain = np.array([registered_domain(host) == host for host in self.hosts], np.bool_)
        by_host = np.where(is_domain, ANY_BUCKET, buckets_of(hosts, buckets))
        by_url = buckets_of(fill_null(hosts_of(urls), ""), buckets)
        return pa.table(
            [
                pa.concat_arrays([urls, hosts]),
                np.repeat([True, False], [len(urls), len(hosts)]),
                np.concatenate([by_url, by_host]).astype(np.int32),
            ],
            schema=NAMES,
        )


def read_names(address: str, config: Config) -> NameList:
    """The names in a file; one line where it cannot be meant."""
    urls: dict[str, None] = {}
    hosts: dict[str, None] = {}
    count = number = 0
    for piece in plan_seeds([address]).pieces:
        for line in read_lines(piece, config[SEED_MAX_LINE]):
            number += 1
            text = "" if line.raw is None else line.raw.decode("utf-8", "replace")
            name = text.removeprefix("\ufeff").split("\t")[0].strip()
            if line.raw is not None and (not name or name.startswith("#")):
                continue
            host = _host(name)
            if host is None:
                raise UsageError(
                    f"{address}: line {number} is no URL, host or domain:"
                    f" {printable(name[:_MAX_SHOWN])!r}"
                )
            count += 1
            if count > MAX_NAMES:
                raise UsageError(f"{address} has more than {MAX_NAMES:,} names")
            if "://" in name:
                urls[name] = None
            else:
                hosts[host] = None
    if not count:
        raise UsageError(f"{address} has no URL, host or domain in it")
    return NameList(address, _with_normal_forms(tuple(urls), config), tuple(hosts), count)


def _host(name: str) -> str | None:
    """The host of a URL, or a name that is one itself, as URLs spell it."""
    if "://" in name:
        return host_of(name) or None
    if any(character in name for character in "/\\?#@:%") or any(map(str.isspace, name)):
        return None
    return (host_of(f"http://{name}/") or "").rstrip(".") or None


def _with_normal_forms(urls: tuple[str, ...], config: Config) -> tuple[str, ...]:
    if not urls:
        return ()
    normal = NormalizerChain.from_config(config).normalize_batch(
        pa.array(urls, pa.string()), Counters()
    )
    return tuple(dict.fromkeys([*urls, *(url for url in normal.to_pylist() if url)]))
