"""spark-submit entry point of every command: the same words, the same options.

spark-submit … jobs/nutria.py COMMAND CRAWL_DIR …   (scripts/package tells the whole line)

The other jobs are names of before. They are no links to this file, as spark-submit follows links
and so forgets by which name a job was called.
"""

import sys

try:
    from crawl.cli.main import main
except ModuleNotFoundError as missing:
    sys.exit(f"crawl: this Python has no {missing.name}: scripts/package tells how to send it")

if __name__ == "__main__":
    main()
