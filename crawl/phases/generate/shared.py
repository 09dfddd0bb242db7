"""What every step of one generate shares: options, settings, the transaction and the report."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.clock import Clock
from crawl.config import Config
from crawl.model.report import Report
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.tasks.selection import Selection
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.snapshot import Transaction
from crawl.tables.runner import Runner


@dataclass(frozen=True, slots=True)
class GenerateRun:
    """One run of generate."""

    runner: Runner
    crawl_dir: CrawlDir
    config: Config
    options: GenerateOptions
    clock: Clock
    transaction: Transaction
    report: Report
    selection: Selection
    not_again: tuple[str, ...] = ()
    """Names of segments whose URLs are not selected once more, however due they are."""

    @property
    def part_count(self) -> int:
        """How many parts a list has."""
        return self.options.num_fetchers or 1
