"""rollback: an older snapshot of the CrawlDb is the current one again."""
