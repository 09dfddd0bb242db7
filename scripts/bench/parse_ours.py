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
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from fetch_list import config_of
from fetch_ours import peak_mib

from crawl.clock import SystemClock
from crawl.parsing.process.parser_process import end_idle
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess


def main(address: str, settings: str, how: str) -> None:
    config = config_of(Path(settings))
    fetch.check(config)  # loads the plugins: a worker has done so before its first page
    parse.check(config)
    gc.collect()
    gc.freeze()
    directory, clock = CrawlDir(address), SystemClock()
    begun, before = time.monotonic(), _cpu()
    fetched = fetch.run(InProcess(os.cpu_count() or 1), directory, config, FetchOptions(), clock)
    middle, between = time.monotonic(), _cpu()
    counters = dict(fetched.report.counters)
    if how == "phases":
        parsed = parse.run(InProcess(os.cpu_count() or 1), directory, config, ParseOptions(), clock)
        counters |= parsed.report.counters
    ended = time.monotonic()
    end_idle()  # their time counts when they have ended
    after = _cpu()
    processes = {"fetches" if how == "phases" else "fetches and writes": between.own - before.own}
    if how == "phases":
        processes["reads and writes"] = after.own - between.own
    processes["parses"] = after.children - before.children
    told = {
        "seconds": ended - begun,
        "cpu_s": float(sum(each.sum() for each in processes.values())),
        "pages": counters["parse.success"],
        "fetch_seconds": middle - begun,
        "processes_cpu_s": {name: each.tolist() for name, each in processes.items()},
        "peak_mib": peak_mib(),
        "counters": counters,
    }
    print(json.dumps(told))


class _Cpu(NamedTuple):
    """Seconds in user's and in the system's code."""

    own: npt.NDArray[np.float64]
    children: npt.NDArray[np.float64]
    """Of those that have ended: they do the parsing."""


def _cpu() -> _Cpu:
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return _Cpu(*(np.array([each.ru_utime, each.ru_stime]) for each in used))


if __name__ == "__main__":
    main(*sys.argv[1:])
