"""crawl linkstats."""

from __future__ import annotations

from collections.abc import Mapping

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    with_config,
    with_segments,
    with_spark,
)
from crawl.cli.common.output import print_json, print_table
from crawl.cli.common.picture_option import plot_option, tell_picture, top_option
from crawl.config import Config
from crawl.spark.runners import SparkOptions

_QUANTILES = (0.5, 0.9, 0.99)


@click.command("linkstats")
@crawl_dir_argument
@with_segments
@top_option(20, "of the most linked URLs")
@plot_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    segments: tuple[str, ...],
    top: int,
    plot: str | None,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Count the links of CRAWL_DIR's parsed pages: how many a page has, how many lead to a URL.

    A page counts as it was parsed last, and a link that it has twice counts once. Without a
    SEGMENT: all that are parsed.

    \b
    Examples:
      crawl linkstats mycrawl
      crawl linkstats mycrawl 20261115093000 --top 100
      crawl linkstats mycrawl --plot links.svg
    """
    with open_crawl(crawl_dir, config, spark, command="linkstats") as web:
        found = web.linkstats(segments, top=top, plot=plot)
    if as_json:
        print_json(found)
        return 0
    names = ("segments", "pages", "links", "internal", "external", "linked_urls")
    rows: list[list[object]] = [[name.replace("_", " "), found[name]] for name in names]
    print_table("links", ["what", "count"], rows)
    columns = ["degree", "mean", *(f"{share:.0%}" for share in _QUANTILES), "most"]
    spreads = [
        ["links of a page", *_spread(found["outdegrees"])],
        ["links to a URL", *_spread(found["indegrees"])],
    ]
    print_table("degrees", columns, spreads, first=False)
    if found["top"]:
        most = [[each["inlinks"], each["url"]] for each in found["top"]]
        print_table("most linked", ["links", "url"], most, first=False)
    tell_picture("linkstats", plot)
    return 0


def _spread(degrees: Mapping[str, int]) -> list[object]:
    """The mean, some quantiles and the greatest of a distribution."""
    counts = sorted((int(degree), count) for degree, count in degrees.items())
    total = sum(count for _, count in counts)
    if not total:
        return [0.0, *(0 for _ in _QUANTILES), 0]
    quantiles: list[object] = []
    for share in _QUANTILES:
        below = 0
        for degree, count in counts:
            below += count
            if below >= share * total:
                quantiles.append(degree)
                break
    mean = sum(degree * count for degree, count in counts) / total
    return [round(mean, 2), *quantiles, counts[-1][0]]
