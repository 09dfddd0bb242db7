"""host-centrality: first come the pages of good hosts, and those to which good hosts link.

It estimates a page's rank from that of hosts alone, which a table tells (`scoring.host.ranks.file`;
any measure will do in which more is better: harmonic centrality or PageRank of the host
graph, the mean rank of a host's pages, what Common Crawl publishes). A page is worth
what its host is; a URL that is new starts with a part of its own host's worth, and each link to it
adds a share of the referrer's. So a crawl has an order of quality from the first round on, and
without a graph of its own; with one, `linkrank` is better.

Ranks are taken relative to the mean of the table. Hosts that it does not have are worth
`scoring.host.ranks.unknown`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config, Property, integer, number, text
from crawl.errors import ConfigError, StorageError
from crawl.model.parse import Parse
from crawl.plugins.scoring.link_shares import LinkSharesFilter
from crawl.storage.host_ranks import HostRanks, load_host_ranks
from crawl.urls.parse import host_of

FILE = text(
    "scoring.host.ranks.file",
    "",
    "For host-centrality: a file of hosts and their ranks, as path or URL that all machines can"
    " read: Parquet with columns host and rank, text of `host TAB rank`, or a ranks file of"
    " Common Crawl; .gz is unpacked. Write a new one under a new name.",
)
MOST = integer(
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

    properties: ClassVar[tuple[Property[Any], ...]] = (
        *LinkSharesFilter.properties,
        FILE,
        MOST,
        UNKNOWN,
    )

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._unknown = config[UNKNOWN]
        address = config[FILE]
        try:
            self._ranks = (
                load_host_ranks(address, config[MOST]) if address else HostRanks.of([], [])
            )
        except StorageError as error:
            raise ConfigError(f"{FILE.name}: {error}") from None

    def worth(self, parse: Parse) -> float:
        return self.worth_of_url(parse.url)

    def worth_of_hosts(self, hosts: pa.ChunkedArray[Any]) -> npt.NDArray[np.float64]:
        return self._ranks.of_hosts(hosts, self._unknown)

    def worth_of_url(self, url: str) -> float:
        return self._ranks.of_host(host_of(url) or "", self._unknown)
