"""spark-submit entry point of `crawl updatedb`: the same options.

spark-submit jobs/updatedb.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["updatedb", *sys.argv[1:]])
