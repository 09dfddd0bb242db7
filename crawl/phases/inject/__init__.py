"""inject: seed files become records of the CrawlDb."""
