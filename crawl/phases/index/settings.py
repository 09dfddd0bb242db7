"""Properties of index and clean."""

from __future__ import annotations

from crawl.config import boolean, file, integer, string_list

INDEXINGFILTER_ORDER = string_list(
    "indexingfilter.order",
    ("basic", "anchor", "more", "language", "canonical", "fields"),
    "The indexing filters, in the order of application.",
)
INDEX_WRITERS = string_list(
    "index.writers",
    ("tantivy",),
    "The index writers that documents go to: names of plugins, or ids of index.writers.file.",
)
INDEX_WRITERS_FILE = file(
    "index.writers.file",
    "index-writers.toml",
    "Parameters, field mapping and routing of index writers.",
)
INDEX_SHARDS = integer(
    "index.shards",
    8,
    "Parts of a new index, each a task's work and a file or folder of each writer; the greatest"
    " number that divides both this and the CrawlDb's buckets is taken.",
    minimum=1,
    maximum=65536,
)
INDEX_MAX_INLINKS = integer(
    "index.max.inlinks",
    1000,
    "Links to a page that indexing filters are shown, at most.",
    unit="links",
    minimum=0,
)
INDEXER_DELETE = boolean(
    "indexer.delete",
    False,
    "index deletes documents of pages that are gone, redirected, orphaned or duplicates;"
    " --delete-gone sets it.",
)
INDEXER_DELETE_NOINDEX = boolean(
    "indexer.delete.robots.noindex",
    True,  # Nutch's false leaves the document of a page that has asked to be taken out
    "index deletes documents of pages that ask not to be indexed; they are never added.",
)
PARSER_DELETE_FAILED_PARSE = boolean(
    "parser.delete.failed.parse",
    False,
    "index deletes documents of pages that can no longer be parsed.",
)
INDEXER_DELETE_FILTERED = boolean(
    "indexer.delete.skipped.by.indexingfilter",
    False,
    "index deletes documents of pages that an indexing filter drops.",
)
INDEXER_SKIP_NOTMODIFIED = boolean(
    "indexer.skip.notmodified",
    False,
    "index passes over pages that the CrawlDb has as not modified.",
)
