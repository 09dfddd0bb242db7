"""What the service fetched, to be searched within seconds: a folder of the embedded index beside
the crawl's own, which the phase `index` makes. Of a page that both have, the service's counts.

    finisher → feed.py → a process of its own: child.py, writing.py → SERVICE_FOLDER/search/
    searching.py reads it, and the crawl's own index

To make a document of a page takes as long as all else that the service does with it, so that is
another process's work, which the kernel lets wait where there is too much of it: answers do not.
"""

from crawl.service.live_search.searching import LiveSearch as LiveSearch
