"""All that a crawl knows of one URL, and what would become of it next."""
