from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.plugins.urlfilter.trap import TrapURLFilter
from crawl.testing.urlfilter_contract import URLFilterContract
from tests.plugins.columns import accepted_by_column
from tests.urls.texts import encodable

TRAP = TrapURLFilter(Config.of())
TIGHT_LIMITS = {
    "urlfilter.trap.max.repeats": 1,
    "urlfilter.trap.max.depth": 4,
    "urlfilter.trap.max.parameters": 2,
    "urlfilter.trap.max.dates": 1,
    "urlfilter.trap.min.year": 2000,
    "urlfilter.trap.max.year": 2020,
}
TIGHT = TrapURLFilter(Config.of(TIGHT_LIMITS))
OFF = {
    f"urlfilter.trap.{limit}": 0
    for limit in (
        *("max.repeats", "max.depth", "max.parameters"),
        *("max.dates", "min.year", "max.year"),
    )
}

HARMLESS = [
    "http://a.com/",
    "http://a.com/x/y/x/y/z",
    "http://a.com/1/1/1/1/1",
    "http://a.com/a/b/c/?u=a/a/a/a",
    "http://a.com/2024/05/17/title.html",
    "http://a.com/3021/05/",
    "http://a.com/artikel/12041/05/",
    "http://a.com/?from=2024-01-01&to=2024-02-01",
    "http://a.com/?id=2099",
    "http://a.com/?" + "&".join("abcdefghijklmnopqrst"),
    "http://a.com/" + "/".join("abcdefghijklmnopqrst"),
]
TRAPS = {
    "http://a.com/x/y/x/y/x": "path segment 'x' more than 2 times",
    "http://a.com/x/x/x?q": "path segment 'x' more than 2 times",
    "http://a.com/a/x/b/x/c/x#f": "path segment 'x' more than 2 times",
    "http://a.com/" + "/".join("abcdefghijklmnopqrstu"): "more than 20 path segments",
    "http://a.com/?" + "&".join("abcdefghijklmnopqrstu"): "more than 20 parameters",
    "http://a.com/2024/01/2024-02/2024/03/04/x/2024/05": "more than 3 dates",
    "http://a.com/cal/2041/01/": "a calendar's year 2041",
    "http://a.com/cal/1799-12-31": "a calendar's year 1799",
    "http://a.com/?view=week&startDate=20991231": "a calendar's year 2099",
    "http://a.com/events?month=7&YEAR=2300": "a calendar's year 2300",
}


class TestContract(URLFilterContract):
    plugin_class = TrapURLFilter

    def samples(self) -> list[str]:
        return [*HARMLESS, *TRAPS]


class TestTightContract(TestContract):
    def config(self) -> Config:
        return Config.of(TIGHT_LIMITS)


class TestOffContract(TestContract):
    def config(self) -> Config:
        return Config.of(OFF)


@pytest.mark.parametrize("url", HARMLESS)
def test_harmless(url: str) -> None:
    assert TRAP.rejection(url) is None


@pytest.mark.parametrize(("url", "reason"), TRAPS.items())
def test_each_limit_names_itself(url: str, reason: str) -> None:
    assert TRAP.rejection(url) == reason
    assert TrapURLFilter(Config.of(OFF)).rejection(url) is None


def test_the_column_settles_plain_urls_and_asks_for_dubious_ones() -> None:
    urls = ["http://a.com/", "http://a.com/x/y/z.html", "http://b.com/2024/05/17/t?a=1&b=2", *TRAPS]
    verdict = accepted_by_column(TRAP, urls)
    assert verdict == [True, True, True] + [None] * len(TRAPS)


def test_a_long_column_is_asked_in_parts() -> None:
    urls = ["http://a.com/b/c/d.html"] * 40_000
    urls[0] = urls[16_384] = urls[39_999] = "http://a.com/x/y/x/y/x/y"
    verdict = accepted_by_column(TRAP, urls)
    assert [row for row, fine in enumerate(verdict) if not fine] == [0, 16_384, 39_999]


segments = st.sampled_from(["a", "b", "ab", "aa", "1", "22", "ü", "", "2024", "01", "x.html"])
walks = st.builds(
    lambda path, query: "http://h.com/" + "/".join(path) + query,
    st.lists(segments, max_size=12),
    st.sampled_from(["", "?a", "?a/a/a", "#a", "?x&y&z", "?date=2050", "?"]),
)


@given(st.lists(st.one_of(walks, encodable)), st.sampled_from([TRAP, TIGHT]))
def test_the_column_agrees_with_the_row(urls: list[str], plugin: TrapURLFilter) -> None:
    verdict = accepted_by_column(plugin, urls)
    for url, accepted in zip(urls, verdict, strict=True):
        assert accepted is None or accepted == (plugin.rejection(url) is None)
