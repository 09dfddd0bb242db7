"""`fetch_ours.py CRAWL_DIR SETTINGS`: our fetcher in a process of its own, as a task of the
fetch phase runs it; prints what it took. The last line is JSON."""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from pathlib import Path

from fetch_list import config_of

from crawl.clock import SystemClock
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess


def main(address: str, settings: str) -> None:
    config = config_of(Path(settings))
    fetch.check(config)  # loads the plugins: a worker has done so before its first page
    gc.collect()
    gc.freeze()  # as workers do, crawl/spark/tasks.py
    directory = CrawlDir(address)
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    done = fetch.run(InProcess(), directory, config, FetchOptions(), SystemClock())
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    counters = done.report.counters
    told = {
        "seconds": ended - begun,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "pages": counters["fetch_success"],
        "bytes": counters["bytes"],
        "peak_mib": peak_mib(),
        "counters": dict(counters),
        "latency_ms": done.report.details["latency_ms"],
    }
    print(json.dumps(told))


def peak_mib() -> float:
    """Of this process: getrusage's begins with what the parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
