"""The steps of `crawl sitemap`, in the order in which they are run:

hosts.py     the hosts of a bucket of the CrawlDb, to choose those that are asked
task.py      a share of the servers is asked for its sitemaps, through the fetch engine;
             session.py decides what is asked next, rows.py makes rows of what is listed
merge.py     the rows are merged into a bucket of the CrawlDb
"""
