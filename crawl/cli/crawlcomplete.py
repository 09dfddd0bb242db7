"""crawl crawlcomplete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawl.cli.common.name_statistics import NameStatisticsView, name_statistics


@name_statistics(
    "crawlcomplete",
    ["host", "domain"],
    lambda web, by, **options: web.crawlcomplete(by, **options),
)
def command(found: Mapping[str, Any], by: str) -> NameStatisticsView:
    """Tell how much of each host or domain of CRAWL_DIR is done. UNFETCHED are URLs that wait to be
    fetched; redirects, duplicates and pages that are gone or could not be parsed are done, and
    counted by themselves. NOT_FETCHED is what Nutch calls UNFETCHED: all that is neither
    db_fetched nor db_notmodified.

    \b
    Examples:
      crawl crawlcomplete mycrawl
      crawl crawlcomplete mycrawl --by domain --json
      crawl crawlcomplete mycrawl --top 20 --plot complete.svg
    """
    return NameStatisticsView(
        [
            [f"{by}s", found["names"]],
            [f"{by}s with pages", found["begun"]],
            [f"{by}s none of whose URLs waits", found["complete"]],
            *([name.upper(), found[name]] for name in _COUNTS),
            ["NOT_FETCHED", found["not_fetched"]],
        ],
        [*(name.replace("_", " ") for name in _COUNTS), "done"],
        [
            [each["name"], *(each[name] for name in _COUNTS), f"{each['share']:.1%}"]
            for each in found["top"]
        ],
    )


_COUNTS = (
    *("fetched", "unfetched", "redirected", "duplicates"),
    *("gone", "parse_failed", "orphans"),
)
