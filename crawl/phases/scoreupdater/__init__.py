"""scoreupdater: the scores of the link graph become those of the CrawlDb."""
