"""The nouns: statuses, the CrawlDatum and the tables that store them. Pure values."""
