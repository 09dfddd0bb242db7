"""spark-submit entry point of `crawl export`: the same options.

spark-submit … jobs/export.py CRAWL_DIR …   (scripts/package tells the whole line)
"""

import sys

try:
    from crawl.cli.main import main
except ModuleNotFoundError as missing:
    sys.exit(f"crawl: this Python has no {missing.name}: scripts/package tells how to send it")

if __name__ == "__main__":
    main(["export", *sys.argv[1:]])
