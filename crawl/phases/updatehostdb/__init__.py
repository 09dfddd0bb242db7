"""updatehostdb: what each host is like, from the CrawlDb and from what segments brought."""
