"""spark-submit entry point of `crawl parse`: the same options.

spark-submit jobs/parse.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["parse", *sys.argv[1:]])
