"""`parse_ours.py CRAWL_DIR SETTINGS HOW`: our fetch and parse in a process of its own, as tasks
of the phases run them; prints what they took. HOW is `phases` for one phase after the other,
`inside` for a fetch that parses (fetcher.parse). The last line is JSON."""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

from fetch_list import config_of
from fetch_ours import peak_mib

from crawl.buckets.runner import InProcess
from crawl.clock import SystemClock
from crawl.parsing.parser_process import end_idle
from crawl.phases import fetch, parse
from crawl.phases.fetch import FetchOptions
from crawl.phases.parse import ParseOptions
from crawl.storage.crawl_dir import CrawlDir


def main(address: str, settings: str, how: str) -> None:
    config = config_of(Path(settings))
    fetch.check(config)  # loads the plugins: a worker has done so before its first page
    parse.check(config)
    gc.collect()
    gc.freeze()
    directory, clock = CrawlDir(address), SystemClock()
    begun, before = time.monotonic(), _cpu_s()
    fetched = fetch.run(InProcess(os.cpu_count() or 1), directory, config, FetchOptions(), clock)
    middle, between = time.monotonic(), _cpu_s()
    counters = dict(fetched.report.counters)
    if how == "phases":
        parsed = parse.run(InProcess(os.cpu_count() or 1), directory, config, ParseOptions(), clock)
        counters |= parsed.report.counters
    ended = time.monotonic()
    end_idle()  # their time counts when they have ended
    after = _cpu_s()
    steps = {"fetch": between - before, "parse": after - between}
    told = {
        "seconds": ended - begun,
        "cpu_s": after - before,
        "pages": counters["parse.success"],
        "fetch_seconds": middle - begun,
        "steps_cpu_s": steps,
        "peak_mib": peak_mib(),
        "counters": counters,
    }
    print(json.dumps(told))


def _cpu_s() -> float:
    """Of this process and of the children that have ended, which do the parsing."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


if __name__ == "__main__":
    main(*sys.argv[1:])
