"""linkrank: first come the pages of the highest rank in the graph of what is known so far.

`linkrank` and `scoreupdater` give every URL of the CrawlDb its rank, those included that nobody has
fetched yet; between two of them a URL that is new, or is newly linked, gets its referrers' shares
by the same formula. The more often ranks are computed, the better the order (`crawl linkrank
--pagerank --by-domain` after every other round is enough, see scripts/bench/README.md); unlike
`link`, which only uses them, a crawl goes on sensibly in between.

The graph has to have the links within hosts: `link.ignore.internal.host`,
`link.ignore.internal.domain` and the limits `link.ignore.limit.*` should be false, or a site's
inner pages all have the same rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.config import Config
from crawl.interfaces.scoring import SCORE_KEY
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.plugins.scoring.link import NORMALIZE
from crawl.plugins.scoring.link_shares import LinkSharesFilter
from crawl.plugins.scoring.link_sums import storable
from crawl.plugins.scoring.metadata_numbers import finite_number


class LinkRankScoring(LinkSharesFilter):
    """A page is worth its score."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._normalize = config[NORMALIZE]

    def worth(self, parse: Parse) -> float:
        return finite_number(parse.metadata, SCORE_KEY, 1.0)

    def worth_of_hosts(self, hosts: pa.ChunkedArray[Any]) -> npt.NDArray[np.float64]:
        return np.ones(len(hosts))

    def worth_of_url(self, url: str) -> float:
        return 1.0

    def indexer_score(self, url: str, datum: CrawlDatum, parse: Parse, value: float) -> float:
        return storable(datum.score * self._normalize * value)
