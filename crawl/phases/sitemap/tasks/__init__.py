"""The steps of `crawl sitemap`, in the order in which they are run:

deal.py      what is asked for goes to the task that asks its server: in the first wave hosts
             of the CrawlDb (hosts.py), in later ones what other tasks have found
task.py      a share of the servers is asked for its sitemaps, through the fetch engine;
             session.py decides what is asked next, rows.py makes rows of what is listed,
             scratch_files.py keeps what later steps have to know
proof.py     URLs of other hosts and folders: which of them their sitemaps may list
merge.py     the rows are merged into a bucket of the CrawlDb

What became of each host's sitemaps goes at last to its bucket of the dataset `sitemaps`.
What tasks have learnt of servers is in files of the job's scratch folder, and not on its way in
an exchange: that would ask the servers again when it loses some.
"""
