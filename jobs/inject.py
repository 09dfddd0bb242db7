"""spark-submit entry point of `crawl inject`: the same options.

spark-submit jobs/inject.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["inject", *sys.argv[1:]])
