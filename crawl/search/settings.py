"""Properties of search, and of what the embedded index keeps for it."""

from __future__ import annotations

from crawl.config import duration, integer, number

SEARCH_WEIGHT_TITLE = number(
    "search.weight.title", 3.0, "How much a query's word in the title counts.", minimum=0
)
SEARCH_WEIGHT_ANCHOR = number(
    "search.weight.anchor",
    2.0,
    "How much a query's word in the text of links to the page counts.",
    minimum=0,
)
SEARCH_WEIGHT_URL = number(
    "search.weight.url", 1.5, "How much a query's word in the URL counts.", minimum=0
)
SEARCH_WEIGHT_TEXT = number(
    "search.weight.text", 1.0, "How much a query's word in the text counts.", minimum=0
)
SEARCH_WEIGHT_REST = number(
    "search.weight.rest",
    0.3,
    "How much a query's word in the rest of the page (menus, footers) counts.",
    minimum=0,
)
SEARCH_WEIGHT_OTHER_FIELDS = number(
    "search.weight.other.fields",
    0.3,
    "The share that a word's other fields add to the one where it counts most.",
    minimum=0,
    maximum=1,
)
SEARCH_WEIGHT_PHRASE = number(
    "search.weight.phrase",
    0.5,
    "How much it adds that a query's words stand beside each other.",
    minimum=0,
)
SEARCH_WEIGHT_LINK = number(
    "search.weight.link",
    1.0,
    "How much the page's score, which links give it, lifts it; 0: not at all.",
    minimum=0,
)
SEARCH_WEIGHT_FRESHNESS = number(
    "search.weight.freshness",
    0.2,
    "By which share a page of today is lifted above one that is very old.",
    minimum=0,
)
SEARCH_FRESHNESS_HALF_LIFE = duration(
    "search.freshness.half.life",
    365,
    "The age at which a page has lost half of what its freshness adds.",
    unit="d",
    minimum=0.01,
)
SEARCH_RESULTS_PER_HOST = integer(
    "search.results.per.host",
    2,
    "Results of one host at most, unless the query names it; 0: any number.",
    minimum=0,
)
SEARCH_SNIPPET_LENGTH = integer(
    "search.snippet.length",
    240,
    "Characters of a page's text that a result shows.",
    minimum=20,
    maximum=2_000,
)
STORED_CHARACTERS = 20_000
SEARCH_STORED_CHARACTERS = integer(
    "search.stored.characters",
    STORED_CHARACTERS,
    "Characters of a page's text that the embedded index keeps for snippets.",
    minimum=0,
)
