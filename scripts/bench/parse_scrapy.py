"""`parse_scrapy.py PLAN CONCURRENT PER_HOST OUT`: Scrapy over the same URLs, in an environment
of its own: title, text, meta description and links of each page, written as JSON lines. Set
up as in fetch_scrapy.py."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from fetch_scrapy import PLAN
from fetch_scrapy import settings as fetch_settings
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor

COUNTED = {"pages": 0, "links": 0}


class Spider(scrapy.Spider):
    name = "bench"
    links = LinkExtractor()

    async def start(self) -> AsyncIterator[Any]:
        for url in PLAN["urls"]:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        texts = response.xpath("//body//text()[not(ancestor::script or ancestor::style)]").getall()
        links = [(link.url, link.text) for link in self.links.extract_links(response)]
        COUNTED["pages"] += response.status == 200
        COUNTED["links"] += len(links)
        yield {
            "url": response.url,
            "title": response.css("title::text").get(),
            "description": response.css("meta[name=description]::attr(content)").get(),
            "text": " ".join(" ".join(texts).split()),
            "links": links,
        }


def main(concurrent: str, per_host: str, out: str) -> None:
    process = CrawlerProcess(
        {
            **fetch_settings(int(concurrent), int(per_host), 0.0),
            "FEEDS": {out: {"format": "jsonlines", "overwrite": True}},
        }
    )
    process.crawl(Spider)
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    process.start()
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    Path(out).unlink()
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    measured = {
        "seconds": ended - begun,
        "cpu_s": user + system,
        "processes_cpu_s": {"does it all": [user, system]},
        "peak_mib": after.ru_maxrss / 1024,
        **COUNTED,
    }
    print(json.dumps(measured))


if __name__ == "__main__":
    main(*sys.argv[2:])
