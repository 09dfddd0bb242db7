"""`fetch_scrapy.py PLAN CONCURRENT PER_HOST DELAY`: Scrapy over the same URLs, in an
environment of its own. robots.txt is obeyed, as ours is; whatever the comparison does not
need is off, and pages are counted and dropped, which ours writes to disk."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.resolver import CachingThreadedResolver
from twisted.internet import defer

PLAN = json.loads(Path(sys.argv[1]).read_text())
COUNTED = {"pages": 0, "bytes": 0}


class LoopbackResolver(CachingThreadedResolver):
    """Finds the web's hosts, as our hosts file does."""

    def getHostByName(self, name: str, timeout: Any = None) -> Any:  # noqa: N802, Twisted's
        return defer.succeed(PLAN["hosts"][name])


class Spider(scrapy.Spider):
    name = "bench"

    async def start(self) -> AsyncIterator[Any]:
        for url in PLAN["urls"]:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Response, **_: Any) -> None:
        COUNTED["pages"] += response.status == 200
        COUNTED["bytes"] += len(response.body)


def settings(concurrent: int, per_host: int, delay: float) -> dict[str, Any]:
    """Everything off that the comparison does not need."""
    return {
        "USER_AGENT": PLAN["agent"],
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": concurrent,
        "CONCURRENT_REQUESTS_PER_DOMAIN": per_host,
        "DOWNLOAD_DELAY": delay,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "DNS_RESOLVER": LoopbackResolver,
        "LOG_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "RETRY_ENABLED": False,
        "REDIRECT_ENABLED": False,
        "EXTENSIONS": {
            "scrapy.extensions.corestats.CoreStats": None,
            "scrapy.extensions.logstats.LogStats": None,
            "scrapy.extensions.memusage.MemoryUsage": None,
        },
        "SPIDER_MIDDLEWARES": {
            "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
            "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
            "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
        },
        "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
    }


def main(concurrent: str, per_host: str, delay: str) -> None:
    process = CrawlerProcess(settings(int(concurrent), int(per_host), float(delay)))
    process.crawl(Spider)
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    process.start()
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    measured = {
        "seconds": ended - begun,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_mib": _peak_mib(),
        **COUNTED,
    }
    print(json.dumps(measured))


def _peak_mib() -> float:
    """Of this process: getrusage's begins with what the parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main(*sys.argv[2:])
