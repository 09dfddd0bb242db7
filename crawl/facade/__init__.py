"""What `crawl.open` returns, by topic: phases, readers, tables, one page. See crawl/api.py."""
