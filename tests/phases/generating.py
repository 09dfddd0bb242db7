"""generate over a CrawlDb in a temporary folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crawl.config import Config
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.run import GenerateResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW


def run(
    directory: CrawlDir,
    settings: Mapping[str, object] | None = None,
    resolver: Any = None,
    clock: ManualClock | None = None,
    **options: Any,
) -> GenerateResult:
    return generate.run(
        InProcess(),
        directory,
        Config.of({"urlfilter.order": "regex", **(settings or {})}),
        GenerateOptions(**options),
        clock or ManualClock(NOW),
        resolver=resolver or (lambda host: None),
    )
