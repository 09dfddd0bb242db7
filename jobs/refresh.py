"""spark-submit entry point of `crawl refresh`: the same options.

spark-submit … jobs/refresh.py CRAWL_DIR …   (scripts/package tells the whole line)
"""

import sys

try:
    from crawl.cli.main import main
except ModuleNotFoundError as missing:
    sys.exit(f"crawl: this Python has no {missing.name}: scripts/package tells how to send it")

if __name__ == "__main__":
    main(["refresh", *sys.argv[1:]])
