"""linkstats as an operation."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from crawl.errors import NoSnapshot
from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Part, Table, View
from crawl.operations.work import Work
from crawl.readers.webstats.names import picture_notes
from crawl.readers.webstats.options import LinkstatsOptions

_QUANTILES = (0.5, 0.9, 0.99)
_LINKS_PER_PAGE = 20
"""About so many: enough to tell whether the links are few."""


def run(work: Work, options: LinkstatsOptions) -> dict[str, Any]:
    from crawl.driver.prechecks import require_segments
    from crawl.readers.webstats import run as statistics
    from crawl.readers.webstats.pictures import check_picture, draw_degrees

    directory = work.directory
    check_picture(options.plot)
    directory.require_crawldb()
    require_segments(directory, options.segments)
    files = statistics.parse_files(statistics.parsed_segments(directory, options.segments))
    if not files:
        raise NoSnapshot(f"{directory.address} has no segment that is parsed")
    with work.runner(rows=_LINKS_PER_PAGE * sum(file.rows for file in files)) as runner:
        summary = statistics.count_links(runner, files, options.top)
    outlinks, inlinks = summary.outlinks, summary.inlinks
    if options.plot is not None:
        title = f"{outlinks.links:,} links of {outlinks.pages:,} pages"
        draw_degrees(options.plot, inlinks.degrees, outlinks.degrees, title)
    return {
        "segments": summary.segments,
        "pages": outlinks.pages,
        "links": outlinks.links,
        "internal": outlinks.internal,
        "external": outlinks.links - outlinks.internal,
        "linked_urls": inlinks.urls,
        "outdegrees": _distribution(outlinks.degrees),
        "indegrees": _distribution(inlinks.degrees),
        "top": [{"url": url, "inlinks": links} for links, url in summary.top],
    }


def _distribution(degrees: Mapping[int, int]) -> dict[str, int]:
    return {str(degree): degrees[degree] for degree in sorted(degrees)}


def render(counted: dict[str, Any], asked: Asked) -> View:
    names = ("segments", "pages", "links", "internal", "external", "linked_urls")
    counts = [[name.replace("_", " "), counted[name]] for name in names]
    columns = ["degree", "mean", *(f"{share:.0%}" for share in _QUANTILES), "most"]
    spreads = [
        ["links of a page", *_spread(counted["outdegrees"])],
        ["links to a URL", *_spread(counted["indegrees"])],
    ]
    view: list[Part] = [
        Table("links", ["what", "count"], counts),
        Table("degrees", columns, spreads),
    ]
    if counted["top"]:
        rows = [[each["inlinks"], each["url"]] for each in counted["top"]]
        view.append(Table("most linked", ["links", "url"], rows))
    return [*view, *picture_notes(asked)]


def _spread(degrees: Mapping[str, int]) -> list[object]:
    """The mean, some quantiles and the greatest of a distribution."""
    counts = sorted((int(degree), count) for degree, count in degrees.items())
    total = sum(count for _, count in counts)
    if not total:
        return [0.0, *(0 for _ in _QUANTILES), 0]
    below = list(accumulate(count for _, count in counts))
    quantiles = [counts[bisect_left(below, share * total)][0] for share in _QUANTILES]
    mean = sum(degree * count for degree, count in counts) / total
    return [round(mean, 2), *quantiles, counts[-1][0]]


OPERATION = Operation(
    name="linkstats",
    run=run,
    render=render,
    uses_spark=True,
    help="""
    Count the links of CRAWL_DIR's parsed pages: how many pages have how many links, how many URLs
    how many links to them, and which URLs are the most linked.

    A page counts as it was parsed last, and a link that it has twice counts once. Without a
    SEGMENT: all that are parsed.
    """,
    examples=(
        "crawl linkstats mycrawl",
        "crawl linkstats mycrawl 20261115093000 --top 100",
        "crawl linkstats mycrawl --plot links.svg",
    ),
    calls=('web.linkstats(top=5)["top"]',),
)
