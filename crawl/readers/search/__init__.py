"""Search in a crawl's embedded index."""
