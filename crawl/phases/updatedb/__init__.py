"""updatedb: what segments brought becomes the CrawlDb's next state."""
