"""spark-submit entry point of `crawl generate`: the same options.

spark-submit jobs/generate.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["generate", *sys.argv[1:]])
