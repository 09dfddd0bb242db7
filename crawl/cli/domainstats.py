"""crawl domainstats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawl.cli.common.name_statistics import NameStatisticsView, name_statistics


@name_statistics(
    "domainstats",
    ["host", "domain", "suffix", "tld"],
    lambda web, by, **options: web.domainstats(by, **options),
)
def command(found: Mapping[str, Any], by: str) -> NameStatisticsView:
    """Count the fetched pages of CRAWL_DIR by host, registered domain, public suffix or TLD.

    \b
    Examples:
      crawl domainstats mycrawl
      crawl domainstats mycrawl --by tld --json
      crawl domainstats mycrawl --by domain --top 100 --plot domains.svg
    """
    return NameStatisticsView(
        [
            [f"{by}s", found["names"]],
            [f"{by}s with pages", found["names_fetched"]],
            ["FETCHED", found["fetched"]],
            ["NOT_FETCHED", found["not_fetched"]],
        ],
        ["fetched", "URLs"],
        [list(each.values()) for each in found["top"]],
    )
