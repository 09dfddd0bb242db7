"""A fetch and its parse on a store, with what a proxy before it has counted, and what the plan says
of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.interfaces.protocol import Request, Response
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.planning import capacity
from crawl.planning.demand import Demand
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.counted_store import CountedPhase, method_of
from tests.phases.made import NOW
from tests.planning.figures import COSTS
from tests.storage.faulty_proxy import FaultyProxy
from tests.storage.s3_server import S3Server

HOSTS = 300
"""On a list: a third are new, and a sixth answer that they are not to be asked for an hour."""
_PAGE = b"<html><title>A page</title><body>Some words, and <a href='/other'>a link</a>"


class ShortAnswers:
    """A web in which hosts whose names begin with `busy` are."""

    schemes = ("http", "https")

    def __init__(self, config: Config) -> None:
        pass

    def fetch(self, request: Request) -> Response:
        url = request.url
        if url.endswith("/robots.txt"):
            return Response(url, 200, (), b"User-agent: *\nDisallow: /private/\n", sent=1.0)
        if url.startswith("http://busy"):
            return Response(url, 503, (("Retry-After", "3600"),), b"", sent=1.0)
        return Response(url, 200, (("Content-Type", "text/html"),), _PAGE, sent=1.0)

    def close(self) -> None:
        pass


def count_fetch(
    s3: S3Server, proxy: FaultyProxy, place: Path, buckets: int, parts: int, chunks: int
) -> dict[str, CountedPhase]:
    """The second fetch of a crawl, which knows servers and most robots.txt by the first, and its
    parse. No lock is refreshed, no progress told and nothing noted on the way: that would depend
    on how long it takes."""
    config = Config.of(
        {
            "http.agent.name": "testbot",
            "plugin.protocol": ["tests.phases.counted_fetch:ShortAnswers"],
            "urlfilter.order": ["length"],
            "crawldb.buckets": buckets,
            "lock.heartbeat": 3600,
            "fetcher.server.delay": 0,
            "fetcher.threads.fetch": 1,
            "fetcher.checkpoint.records": HOSTS // chunks + 1,
            "fetcher.progress.interval": 3600,
            "fetcher.journal.seconds": -1,
        }
    )
    directory = CrawlDir(f"{s3.new_bucket()}/crawl")
    known = [f"http://h{number}.org/" for number in range(HOSTS * 2 // 3)]
    _fetch_list(directory, place, config, known, _busy("first"), parts)
    fetch.run(InProcess(), directory, config, FetchOptions(), SystemClock())
    new = [f"http://new{number}.org/" for number in range(HOSTS // 3 - HOSTS // 6)]
    again = [f"{url}again" for url in known]
    _fetch_list(directory, place, config, again, [*new, *_busy("second")], parts)
    demand = _demand(buckets, parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capacity, "PAGES_PER_CHUNK", HOSTS / chunks)
        patch.setattr(capacity, "PARSE_TASK_BYTES", 1)
        planned = {
            "fetch": capacity.fetch(demand, COSTS).requests,
            "parse": capacity.parse(demand, COSTS).requests,
        }
        patch.setattr(parse, "_MARK_EVERY_S", 3600)
        patch.setattr(parse, "_TASK_BYTES", 1)
        segment = directory.segments.generated()[-1].name
        before = len(proxy.requests)
        options = FetchOptions(segment)
        fetched = fetch.run(InProcess(), directory, config, options, SystemClock())
        asked = Counter(map(method_of, proxy.requests[before:]))
        before = len(proxy.requests)
        parsed = parse.run(InProcess(), directory, config, ParseOptions(segment), SystemClock())
        asked_by_parse = Counter(map(method_of, proxy.requests[before:]))
    return {
        "fetch": CountedPhase(asked, planned["fetch"], fetched.report),
        "parse": CountedPhase(asked_by_parse, planned["parse"], parsed.report),
    }


def _busy(name: str) -> list[str]:
    return [f"http://busy-{name}{number}.org/" for number in range(HOSTS // 6)]


def _fetch_list(
    directory: CrawlDir, place: Path, config: Config, known: list[str], new: list[str], parts: int
) -> None:
    """A segment of these URLs, which nobody has met so far."""
    seeds = place / "seeds"
    seeds.write_text("".join(f"{url}\n" for url in [*known, *new]))
    clock = ManualClock(NOW)
    inject.run(InProcess(), directory, config, InjectOptions((str(seeds),)), clock)
    options = GenerateOptions(num_fetchers=parts)
    done = generate.run(InProcess(), directory, config, options, clock, resolver=lambda host: None)
    assert done.report.counters["urls_generated"] == len(known) + len(new)


def _demand(buckets: int, parts: int) -> Demand:
    return Demand(
        urls=2 * HOSTS,
        hosts=HOSTS,
        pages_per_day=3 * HOSTS,
        page_bytes=1,
        rounds_per_day=3,
        buckets=buckets,
        parts=parts,
    )
