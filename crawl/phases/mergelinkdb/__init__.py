"""mergelinkdb: the LinkDbs of other crawls are taken into a crawl's own."""
