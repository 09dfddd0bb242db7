"""Nutria: a web crawler whose phases are Spark jobs and whose state is open Parquet.

A URL's life: a seed line is injected into the CrawlDb; generate selects it into a
segment's fetch list; fetch, parse and updatedb bring back what became of it.
The floors, lowest first: errors, clock, counters, hints, nearest · model · config · telemetry ·
html · interfaces · urls · robots · rules · storage · parsing · fetcher · buckets · plugins,
testing · phases, spark (the only place that knows Spark) · rounds · cli. Imports only point
down.
"""

import sys

# an old Python of a cluster would fail with less to say
if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit(f"crawl: needs Python 3.11 or newer, this is {sys.version.split()[0]}")

__version__ = "0.1.0"
