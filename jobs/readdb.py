"""spark-submit entry point of `crawl readdb`: the same options.

spark-submit jobs/readdb.py CRAWL_DIR …
"""

import sys

from crawl.cli.main import main

if __name__ == "__main__":
    main(["readdb", *sys.argv[1:]])
