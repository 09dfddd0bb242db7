"""The rounds that kill tests run in a child process, over a small synthetic web."""

from __future__ import annotations

from crawl.clock import Clock, SystemClock
from crawl.rounds.results import LoopResult
from crawl.rounds.steps import UNBOUNDED, LoopOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web
from tests.phases.round_loops import run_rounds
from tests.phases.webs import web_config


class HoursLater(SystemClock):
    """So much later that a process that died is long gone, and its servers have had their pause."""

    def __init__(self, hours: int) -> None:
        self._ms = hours * 3_600_000

    def now_ms(self) -> int:
        return super().now_ms() + self._ms


def run_all_rounds(hours: int, address: str, seeds: str, settings: Settings) -> None:
    rounds_by(HoursLater(hours), address, seeds, settings)


def run_overlapped_rounds(hours: int, address: str, seeds: str, settings: Settings) -> None:
    rounds_by(HoursLater(hours), address, seeds, settings, overlap=True)


def run_following_rounds(
    hours: int, address: str, seeds: str, settings: Settings, links: bool, overlap: bool = False
) -> None:
    """Rounds whose fetches follow redirects; and links, of pages that they parse. `overlap`: one
    is closed while the next is fetched."""
    config = web_config(
        Web(settings),
        fetcher__server__delay=0,
        fetcher__checkpoint__records=6,
        fetcher__progress__interval=0.1,
        crawldb__buckets=2,
        http__redirect__max=3,
        fetcher__parse=links,
        fetcher__follow__outlinks__depth=2 if links else 0,
    )
    clock = HoursLater(hours)
    loop = LoopOptions(UNBOUNDED)
    run_rounds(
        CrawlDir(address),
        config,
        clock,
        loop,
        seeds=(seeds,),
        parts=2,
        top_n=12,
        overlap=overlap,
    )


def rounds_by(
    clock: Clock, address: str, seeds: str, settings: Settings, *, overlap: bool = False
) -> LoopResult:
    """Rounds of a few URLs until nothing is due."""
    directory = CrawlDir(address)
    config = web_config(
        Web(settings),
        fetcher__server__delay=0,
        fetcher__checkpoint__records=6,
        # answers are noted here too where that would not be worth a file
        fetcher__journal__seconds=0 if directory.folder.is_local() else 0.001,
        crawldb__buckets=2,
    )
    return run_rounds(
        directory,
        config,
        clock,
        LoopOptions(UNBOUNDED),
        seeds=(seeds,),
        parts=2,
        top_n=10,
        overlap=overlap,
    )
