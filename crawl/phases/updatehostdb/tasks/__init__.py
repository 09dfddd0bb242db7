"""updatehostdb, task by task: send → settle.

send     a file of the CrawlDb, of a segment, of `robots`, `servers` or `sitemaps` → sums for each
         of its hosts, sent to the host's bucket
settle   a bucket → one row a host: what the CrawlDb says now, and what all fetches say together

A bucket of the CrawlDb may be several files, and a host may be in all of them: sums of each
meet where the bucket is settled.
"""
