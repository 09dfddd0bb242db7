"""What messages tell people to type: commands as they are called here, and extras to install."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

CALLED_AS = "CRAWL_CALLED_AS"
"""The variable by which a script that wraps the command says under which name it was called."""


def program() -> str:
    """The command as it was called: `crawl`, `./scripts/crawl`, `python -m crawl` …"""
    wrapped = os.environ.get(CALLED_AS)
    if wrapped:
        return shlex.quote(wrapped)
    called = Path(sys.argv[0] or "crawl")
    if called.name == "__main__.py" and called.parent.name == "crawl":
        return "python -m crawl"
    if called.name != "crawl":
        return "crawl"  # a job, a notebook, a test
    from shutil import which  # loads archives' modules, which nearly nobody needs

    return "crawl" if which("crawl") == str(called) else shlex.quote(str(called))


def command(name: str, *words: str) -> str:
    """A command line to type, such as `crawl fetch mycrawl`; of whoever runs a job with
    spark-submit, the job that does the same."""
    called = Path(sys.argv[0] or "crawl")
    if called.suffix == ".py" and called.parent.name == "jobs":
        called_as = f"spark-submit … {shlex.quote(str(called.with_name('nutria.py')))}"
    else:
        called_as = program()
    return " ".join([called_as, name, *words])


def index_anew(crawl_dir: str = "CRAWL_DIR") -> str:
    """What is to be done about an index that is not as it was written."""
    return f"`{command('index', crawl_dir, '--rebuild')}` makes it anew"


def install(extra: str) -> str:
    """How an extra is installed: in the folder of the sources, as there is no package of
    this name to be had elsewhere yet."""
    return f"pip install '.[{extra}]'"
