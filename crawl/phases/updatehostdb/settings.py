"""Properties of updatehostdb and readhostdb."""

from __future__ import annotations

from crawl.config import Property, boolean, numbers

HOSTDB_CONTENT_SIZES: Property[bool] = boolean(
    "hostdb.content.sizes",
    True,
    "updatehostdb counts the bytes of pages, for which it has to read all of them.",
)
HOSTDB_PERCENTILES: Property[tuple[float, ...]] = numbers(
    "hostdb.percentiles",
    (50, 75, 95, 99),
    "Percentiles of response times and sizes that readhostdb --host shows; columns of the HostDb"
    " are these four.",
    minimum=0,
    maximum=100,
)
