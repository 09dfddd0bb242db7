"""fetch: a segment's fetch list becomes crawl_fetch and content."""
