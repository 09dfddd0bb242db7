"""CrawlDbs whose files have very few rows, so that every bucket has several; and the tests of
other modules for use with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from crawl.config.properties import CRAWLDB_FILE_ROWS


@contextmanager
def small_files(rows: int) -> Iterator[None]:
    """Has every configuration that says nothing else allow so many rows of a file."""
    usual = CRAWLDB_FILE_ROWS.default
    object.__setattr__(CRAWLDB_FILE_ROWS, "default", rows)
    try:
        yield
    finally:
        object.__setattr__(CRAWLDB_FILE_ROWS, "default", usual)


def collected_from(*modules: ModuleType) -> dict[str, Any]:
    """The tests of these modules under names of their own, and the fixtures that they need."""
    found = {}
    for module in modules:
        of_module = module.__name__.rpartition(".")[2]
        for name, value in vars(module).items():
            if name.startswith("test_") and callable(value):
                found[f"{name}__{of_module}"] = value
            elif type(value).__name__ == "FixtureFunctionDefinition":
                found[name] = value
    return found
