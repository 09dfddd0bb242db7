"""What becomes of a page when it is indexed: one table, asked from above, the first line that
holds decides.

It is the order of Nutch's IndexerMapReduce, with its quirks mended: a page that is known to be
gone, redirected or a duplicate is never added, also where nothing is to be deleted; a `noindex`
page is never added, where Nutch adds an empty document; what the CrawlDb says counts before an
older fetch in a segment, as soon as it has taken that segment in.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from crawl.model.status import Status


class Action(IntEnum):
    """What an index writer does with a document."""

    SKIP = 0
    ADD = 1
    DELETE = 2


@dataclass(frozen=True, slots=True)
class IndexRules:
    """What options and configuration say."""

    delete_gone: bool = False
    delete_noindex: bool = True
    delete_parse_failed: bool = False
    skip_not_modified: bool = False
    uses_crawldb: bool = True


BY_STATE = frozenset({"gone", "redirect", "orphan", "duplicate"})
"""The lines by which a page is left out though its parse is good, and that may cease to hold
without a new one."""
BY_PARSE = frozenset({"noindex", "parse_failed"})
"""Those that say that no older parse counts any more."""

FILTERED = "filtered"
"""The reason of the last step, which is no line of the table: filters see one page at a time."""

STALE = (
    Status.DB_GONE,
    Status.DB_REDIR_TEMP,
    Status.DB_REDIR_PERM,
    Status.DB_DUPLICATE,
    Status.DB_ORPHAN,
)
"""The statuses whose documents `clean` removes; and those of URLs that the CrawlDb no longer
has."""
