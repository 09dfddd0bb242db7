"""The CrawlDb: its statistics, its best URLs, one record, and dumps of it."""
