"""Nutria: a web crawler whose phases are Spark jobs and whose state is open Parquet.

A URL's life: a seed line is injected into the CrawlDb; generate selects it into a
segment's fetch list; fetch, parse and updatedb bring back what became of it.
The floors, lowest first: errors, clock, counters · model · config · interfaces ·
urls · rules · storage · buckets · plugins, testing · phases (the only place that
knows Spark) · cli. Imports only point down.
"""

__version__ = "0.1.0"
