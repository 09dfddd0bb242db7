"""Properties of the link graph and its ranks."""

from __future__ import annotations

from crawl.config import Property, boolean, boolean_or_auto, integer, number

LINK_IGNORE_INTERNAL_HOST: Property[str] = boolean_or_auto(
    "link.ignore.internal.host",
    "webgraph: links within a host do not count. auto: unless all links of the crawl have to do"
    " with one host.",
)
LINK_IGNORE_INTERNAL_DOMAIN: Property[str] = boolean_or_auto(
    "link.ignore.internal.domain",
    "webgraph: links within a registered domain do not count. auto: unless all links of the crawl"
    " have to do with one domain.",
)
LINK_IGNORE_LIMIT_PAGE: Property[str] = boolean_or_auto(
    "link.ignore.limit.page",
    "webgraph: of a page's links to one page, whatever the query, the first counts; of the links"
    " to a page from one page, too. auto: unless all links of the crawl have to do with one"
    " domain.",
)
LINK_IGNORE_LIMIT_DOMAIN: Property[str] = boolean_or_auto(
    "link.ignore.limit.domain",
    "webgraph: of a page's links to one domain the first counts; of the links to a page from one"
    " domain, too. auto: unless all links of the crawl have to do with one domain.",
)
LINK_DELETE_GONE: Property[bool] = boolean(
    "link.delete.gone",
    False,
    "webgraph: pages that are gone, or redirect, lose the links that they had.",
)
LINK_ANALYZE_NUM_ITERATIONS: Property[int] = integer(
    "link.analyze.num.iterations", 10, "linkrank: how often scores are handed on.", minimum=1
)
LINK_ANALYZE_INITIAL_SCORE: Property[float] = number(
    "link.analyze.initial.score", 1.0, "linkrank: the score that every page begins with."
)
LINK_ANALYZE_DAMPING_FACTOR: Property[float] = number(
    "link.analyze.damping.factor",
    0.85,
    "linkrank: the share of a page's score that comes from the pages that link to it.",
    minimum=0,
    maximum=1,
)
LINK_ANALYZE_DOMAIN_DAMPING: Property[float] = number(
    "link.analyze.domain.damping.factor",
    0.7,
    "linkrank --by-domain: the share of a page's score that comes from the pages that link to it;"
    " less leaves less to spam that is linked to by mistake, and somewhat less to good pages far"
    " away.",
    minimum=0,
    maximum=1,
)
LINK_SCORE_UPDATER_CLEAR_SCORE: Property[float] = number(
    "link.score.updater.clear.score",
    0.0,
    "scoreupdater: the score of URLs that are not in the link graph.",
)

HOSTGRAPH_HYPERBALL_PRECISION: Property[int] = integer(
    "hostgraph.hyperball.precision",
    6,
    "hostgraph: HyperBall has two to the power of this bytes for each host; each more by two halves"
    " the error, which is 13% at 6.",
    minimum=4,
    maximum=16,
)
