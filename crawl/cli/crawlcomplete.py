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
    """Tell how much of each host or domain of CRAWL_DIR is fetched. As in Nutch, what is not
    db_fetched or db_notmodified counts as unfetched.

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
            [f"{by}s all of whose URLs are fetched", found["complete"]],
            ["FETCHED", found["fetched"]],
            ["UNFETCHED", found["unfetched"]],
        ],
        ["fetched", "unfetched", "share"],
        [
            [each["name"], each["fetched"], each["unfetched"], f"{each['share']:.1%}"]
            for each in found["top"]
        ],
    )
