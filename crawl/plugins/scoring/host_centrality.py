"""host-centrality: first come the pages of good hosts, and those to which good hosts link.

It estimates a page's rank from that of hosts alone, which a table tells (`scoring.host.ranks.file`:
the graph that `crawl hostgraph` makes, or a file in which more is better: harmonic centrality or
PageRank of hosts, the mean rank of a host's pages, what Common Crawl publishes). A page is worth
what its host is; a URL that is new starts with a part of its own host's worth, and each link to it
adds a share of the referrer's. So a crawl has an order of quality from the first round on, and
without a graph of its own; with one, `linkrank` is better.

Ranks are taken relative to the mean of the table. Hosts that it does not have are worth
`scoring.host.ranks.unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config, integer, number, text
from crawl.errors import ConfigError, StorageError
from crawl.model.parse import Parse
from crawl.plugins.scoring.link_shares import LinkSharesFilter
from crawl.storage.host_ranks import HostRanks, load_host_ranks, pinned_address
from crawl.urls.parse import host_of

FILE = text(
    "scoring.host.ranks.file",
    "",
    "For host-centrality: hosts and their ranks, as path or URL that all machines can read: the"
    " hostgraph or domaingraph folder of a crawl (`crawl hostgraph`), as it is when a phase begins;"
    " or a file, Parquet with columns host and rank, text of `host TAB rank`, or a ranks file of"
    " Common Crawl; .gz is unpacked. Write a new file under a new name.",
)
MAX_HOSTS = integer(
    "scoring.host.ranks.max",
    2_000_000,
    "Hosts of scoring.host.ranks.file that a process keeps, the highest ranks first; each takes"
    " 12 bytes.",
    unit="hosts",
    minimum=1,
)
UNKNOWN = number(
    "scoring.host.ranks.unknown",
    0.5,
    "What hosts that scoring.host.ranks.file does not have are worth; the mean of the others is 1.",
    minimum=0,
)


class HostCentralityScoring(LinkSharesFilter):
    """A page is worth what its host is."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._unknown = config[UNKNOWN]
        self._address = config[FILE]
        self._ranks = HostRanks.of([], [])
        try:
            if self._address:
                self._address = pinned_address(self._address)
                self._ranks = load_host_ranks(self._address, config[MAX_HOSTS])
        except StorageError as error:
            raise ConfigError(f"{FILE.name}: {error}") from None

    def pinned_settings(self) -> Mapping[str, str]:
        return {FILE.name: self._address} if self._address else {}

    def worth(self, parse: Parse) -> float:
        return self.worth_of_url(parse.url)

    def worth_of_hosts(self, hosts: pa.ChunkedArray[Any]) -> npt.NDArray[np.float64]:
        return self._ranks.of_hosts(hosts, self._unknown)

    def worth_of_url(self, url: str) -> float:
        return self._ranks.of_host(host_of(url) or "", self._unknown)
