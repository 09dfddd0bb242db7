"""rebucket: the same CrawlDb in more buckets."""
