"""check: what is damaged in a crawl, and the repair of it."""
