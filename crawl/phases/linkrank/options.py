"""What can be asked of linkrank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Positive, StealLock, option


@dataclass(frozen=True, slots=True)
class LinkRankOptions:
    """The options of linkrank; None where the configuration decides."""

    iterations: Annotated[
        Positive | None,
        option(
            "How often scores are handed on (default: link.analyze.num.iterations); with"
            " --pagerank: at most (default: 100)."
        ),
    ] = None
    pagerank: Annotated[
        bool,
        option(
            "PageRank instead of LinkRank, until it converges: all links count, and pages without"
            " links hand their rank to all. Scores add up to 1."
        ),
    ] = False
    tolerance: Annotated[
        float | None,
        option(
            "With --pagerank: converged when the ranks change by less in all.  [default: 1e-06]",
            metavar="X",
        ),
    ] = None
    by_domain: Annotated[
        bool,
        option(
            "With --pagerank: ranks for the order of a crawl. The surfer begins anew where the"
            " pages of a domain rank high, so that spam which links to itself gains little; the"
            " damping is link.analyze.domain.damping.factor."
        ),
    ] = False
    seeds: Annotated[
        str | None,
        option(
            "With --pagerank: personalised; the surfer begins anew at the pages of these URLs,"
            " hosts or domains, one a line.",
            metavar="FILE",
        ),
    ] = None
    deny: Annotated[
        str | None,
        option(
            "With --pagerank: spam, as URLs, hosts or domains, one a line. These pages, and those"
            " that link to little else, hand nothing on.",
            metavar="FILE",
        ),
    ] = None
    steal_lock: StealLock = False
