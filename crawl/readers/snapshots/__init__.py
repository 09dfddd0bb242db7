"""The kept states of a CrawlDb."""
