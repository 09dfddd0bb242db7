"""spark-submit entry point of `crawl rebucket`: the same options.

spark-submit jobs/rebucket.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["rebucket", *sys.argv[1:]])
