"""spark-submit entry point of every command: the same words, the same options.

spark-submit … jobs/nutria.py COMMAND CRAWL_DIR …   (scripts/package tells the whole line)

The other names in this folder are this file's, too: of the one by which it is called it takes the
command, as jobs/run.py CRAWL_DIR … did before there was one file for all.
"""

import sys
from pathlib import Path

try:
    from crawl.cli.main import main
except ModuleNotFoundError as missing:
    sys.exit(f"crawl: this Python has no {missing.name}: scripts/package tells how to send it")

if __name__ == "__main__":
    name = Path(sys.argv[0]).stem
    main([*([] if name == "nutria" else [name]), *sys.argv[1:]])
