"""spark-submit entry point of `crawl fetch`: the same options.

spark-submit jobs/fetch.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["fetch", *sys.argv[1:]])
