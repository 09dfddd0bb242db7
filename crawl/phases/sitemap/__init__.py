"""sitemap: the URLs that sites list in their sitemaps become records of the CrawlDb."""
