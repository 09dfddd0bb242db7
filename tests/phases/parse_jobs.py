"""The parse that kill tests run in a child process, over pages in the line language."""

from __future__ import annotations

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.parse.run import ParseResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.parsing.small_parsers import settings
from tests.phases.fetched import NAME


def parse_once(address: str, limit: int) -> None:
    parse_with(address, limit)


def parse_again(address: str, limit: int) -> None:
    parse_with(address, limit, reparse=True)


def parse_with(address: str, limit: int, *, reparse: bool = False) -> ParseResult:
    """`limit` links a page are kept: two parses of one segment can be told apart by it."""
    config = Config.of(settings(db__max__outlinks__per__page=limit))
    options = ParseOptions(NAME, reparse)
    return parse.run(InProcess(), CrawlDir(address), config, options, SystemClock())
