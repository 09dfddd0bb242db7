"""spark-submit entry point of `crawl run`: the same options.

spark-submit jobs/run.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["run", *sys.argv[1:]])
