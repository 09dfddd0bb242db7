"""What is public: the names, and what they promise."""

from __future__ import annotations

import inspect

import pytest

import crawl
from crawl.api import Crawl

METHOD_OF = {
    "demo": None,  # a tour for people
    "run": "run",
    "inject": "inject",
    "generate": "generate",
    "fetch": "fetch",
    "parse": "parse",
    "updatedb": "updatedb",
    "simulate": "simulate",
    "plan": "crawl.plan",
    "status": "status",
    "readdb": "stats lookup top crawldb",
    "snapshots": "snapshots",
    "rollback": "rollback",
    "gc": "gc",
    "rebucket": "rebucket",
    "check": "check",
    "explain": "explain",
    "filterchecker": "crawl.check_url",
    "normalizerchecker": "crawl.check_url",
    "parsechecker": "crawl.fetch_page crawl.parse_page",
    "robotsparser": "crawl.robots_rules",
    "plugin": "crawl.plugins",
    "testweb": None,  # a server to try settings against
    "showproperties": "crawl.properties",
}
"""By command the methods of a crawl, or functions of the package, that do the same."""


def test_the_public_names() -> None:
    assert sorted(crawl.__all__) == [
        "Crawl",
        "CrawlError",
        "__version__",
        "fetch_page",
        "open",
        "parse_page",
    ]
    assert all(getattr(crawl, name) is not None for name in crawl.__all__)
    assert set(crawl.__all__) <= set(dir(crawl))
    with pytest.raises(AttributeError):
        _ = crawl.nothing  # type: ignore[attr-defined]


def test_the_methods_of_a_crawl_have_types_and_an_example() -> None:
    public = {
        name: method
        for name, method in inspect.getmembers(Crawl, inspect.isfunction)
        if not name.startswith("_")
    }
    assert sorted(public) == [
        *("close", "crawldb", "dataframe", "explain", "fetch", "gc", "generate", "inject"),
        *("lookup", "pages", "parse", "rebucket", "rollback", "run", "segment", "segments"),
        *("simulate", "snapshots", "stats", "status", "top", "updatedb"),
    ]
    for name, method in public.items():
        signature = inspect.signature(method)
        assert signature.return_annotation is not inspect.Signature.empty, name
        assert method.__doc__, name
        if name not in ("close", "segments"):
            assert ">>> web." in method.__doc__, name
