"""Which URLs may be in the crawl."""
