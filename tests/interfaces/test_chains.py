from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import ConfigError, PluginError
from crawl.interfaces import chains
from crawl.interfaces.chains import (
    URLNORMALIZER_ORDER,
    FilterChain,
    NormalizerChain,
    describe,
)
from crawl.interfaces.urlfilter import URLFilter
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.testing.inputs.wicked_urls import storable, wicked_urls
from tests.urls.texts import encodable, texts

HERE = __name__
BASIC = "crawl.plugins.urlnormalizer.basic:BasicURLNormalizer"
REGEX = "crawl.plugins.urlnormalizer.regex:RegexURLNormalizer"
LENGTH_FILTER = "crawl.plugins.urlfilter.length:LengthURLFilter"
REGEX_FILTER = "crawl.plugins.urlfilter.regex:RegexURLFilter"
TRAP_FILTER = "crawl.plugins.urlfilter.trap:TrapURLFilter"
DEFAULTS = {
    "urlnormalizer.order": [BASIC, REGEX],
    "urlfilter.order": [LENGTH_FILTER, REGEX_FILTER, TRAP_FILTER],
}


@pytest.fixture(autouse=True)
def _all_are_asked_by_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns of tests are short ones, of which the rows would be asked one by one."""
    monkeypatch.setattr(chains, "_FEW", 0)


class Plugin:
    properties: tuple[Any, ...] = ()

    def __init__(self, config: Config) -> None:
        pass


class Marking(Plugin, URLNormalizer):
    """Adds the scope, once."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        return url if url.endswith(scope) else f"{url}|{scope}"


class Shortening(Plugin, URLNormalizer):
    """Takes one x from the end at a time, so that a loop shows."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        return url.removesuffix("x")

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return pc.invert(pc.ends_with(urls, "x"))


class Raising(Plugin, URLNormalizer):
    def normalize(self, url: str, scope: Scope) -> str | None:
        raise RuntimeError(url)


class RaisingByColumn(Shortening):
    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        raise RuntimeError("no columns today")


class Lying(Shortening):
    """Answers for one row, whatever the column."""

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        return pa.array([True])


class Odd(Plugin, URLNormalizer):
    """Gives what is no text, or none that has bytes."""

    def normalize(self, url: str, scope: Scope) -> str | None:
        return "\ud800" if url == "surrogate" else 7  # type: ignore[return-value]


class NoGifs(Plugin, URLFilter):
    def rejection(self, url: str) -> str | None:
        return "a picture" if url.endswith(".gif") else None


class NoSecrets(Plugin, URLFilter):
    """Sure of URLs without an s, by column."""

    def rejection(self, url: str) -> str | None:
        return "secret" if "secret" in url else None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        answer: pa.Array[Any] = pc.if_else(pc.match_substring(urls, "s"), None, True)
        return answer


class RaisingFilter(Plugin, URLFilter):
    def rejection(self, url: str) -> str | None:
        raise RuntimeError(url)


class RaisingFilterByColumn(NoGifs):
    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        raise RuntimeError("no columns today")


def here(plugin: type) -> str:
    return f"{HERE}:{plugin.__name__}"


def normalizers(*plugins: type, loops: int = 1, scope: Scope = Scope.DEFAULT) -> NormalizerChain:
    settings = {
        "urlnormalizer.order": [here(plugin) for plugin in plugins],
        "urlnormalizer.loop.count": loops,
    }
    return NormalizerChain.from_config(Config.of(settings), scope)


def filters(*plugins: type) -> FilterChain:
    return FilterChain.from_config(
        Config.of({"urlfilter.order": [here(plugin) for plugin in plugins]})
    )


def default_chains() -> tuple[NormalizerChain, FilterChain]:
    config = Config.of(DEFAULTS)
    return NormalizerChain.from_config(config), FilterChain.from_config(config)


NORMALIZE, FILTER = default_chains()


def test_each_normalizer_is_given_its_predecessors_word() -> None:
    chain = normalizers(Shortening, Marking, scope=Scope.INJECT)
    assert chain.normalize("ax") == "a|inject"
    counters = Counters()
    column = pa.array(["ax", None, "b"])
    assert chain.normalize_batch(column, counters).to_pylist() == ["a|inject", None, "b|inject"]
    assert not counters


def test_the_chain_loops_until_nothing_changes() -> None:
    column = pa.array(["axxx", "a", "ax"])
    for loops, expected in ((1, "axx"), (2, "ax"), (3, "a"), (9, "a")):
        chain = normalizers(Shortening, loops=loops)
        assert chain.normalize("axxx") == expected
        assert chain.normalize_batch(column, Counters()).to_pylist() == [expected, "a", "a"]


def test_what_is_no_url_is_none_and_null() -> None:
    counters = Counters()
    column = pa.array(["http://a.com/", "mailto:x", "HTTP://B.com", None])
    assert NORMALIZE.normalize("mailto:x") is None
    assert NORMALIZE.normalize_batch(column, counters).to_pylist() == [
        *("http://a.com/", None, "http://b.com/", None)
    ]


@pytest.mark.parametrize("plugin", [RaisingByColumn, Lying])
def test_a_quick_answer_that_fails_is_counted_and_the_rows_are_asked(plugin: type) -> None:
    counters = Counters()
    found = normalizers(plugin).normalize_batch(pa.array(["ax", "b"]), counters)
    assert found.to_pylist() == ["a", "b"]
    assert counters == {f"plugin_errors.urlnormalizer.{here(plugin)}": 1}


def test_a_normalizer_that_raises_has_no_opinion() -> None:
    counters = Counters()
    chain = normalizers(Raising, Shortening)
    assert chain.normalize("ax", counters) == "a"
    assert chain.normalize_batch(pa.array(["ax", "b", None]), counters).to_pylist() == [
        *("a", "b", None)
    ]
    assert counters == {f"plugin_errors.urlnormalizer.{here(Raising)}": 3}


def test_a_normalizer_that_gives_no_text_has_no_opinion() -> None:
    counters = Counters()
    found = normalizers(Odd).normalize_batch(pa.array(["surrogate", "number"]), counters)
    assert found.to_pylist() == ["surrogate", "number"]
    assert counters == {f"plugin_errors.urlnormalizer.{here(Odd)}": 2}


def test_the_first_filter_that_rejects_decides_and_is_counted() -> None:
    chain = filters(NoGifs, NoSecrets)
    assert chain.rejection("a") is None
    assert chain.rejection("secret.gif") == (here(NoGifs), "a picture")
    assert chain.rejection("secret") == (here(NoSecrets), "secret")
    counters = Counters()
    column = pa.array(["a", "secret.gif", "secret", None, "x.gif", "s"])
    assert chain.filter_batch(column, counters).to_pylist() == [
        *(True, False, False, False, False, True)
    ]
    assert counters == {
        f"url_filters_rejected.{here(NoGifs)}": 2,
        f"url_filters_rejected.{here(NoSecrets)}": 1,
    }


def test_a_filter_that_raises_keeps_the_url() -> None:
    counters = Counters()
    chain = filters(RaisingFilter, NoGifs)
    assert chain.rejection("a", counters) is None
    column = pa.array(["a", "b.gif"])
    assert chain.filter_batch(column, counters).to_pylist() == [True, False]
    assert counters[f"plugin_errors.urlfilter.{here(RaisingFilter)}"] == 3
    assert filters(RaisingFilterByColumn).filter_batch(column, counters).to_pylist() == [
        *(True, False)
    ]
    assert counters[f"plugin_errors.urlfilter.{here(RaisingFilterByColumn)}"] == 1


def test_empty_chains_and_empty_columns() -> None:
    empty = pa.array([], pa.string())
    column = pa.array(["x", None])
    assert normalizers().normalize_batch(column, Counters()).equals(column)
    assert filters().filter_batch(column, Counters()).to_pylist() == [True, False]
    assert NORMALIZE.normalize_batch(empty, Counters()).to_pylist() == []
    assert FILTER.filter_batch(empty, Counters()).to_pylist() == []
    assert FILTER.filter_batch(pa.nulls(2, pa.string()), Counters()).to_pylist() == [False, False]


def test_slices_and_large_strings() -> None:
    column = pa.array(["x", "HTTP://A.com/b.gif", "http://a.com/c", None, "y"]).slice(1, 3)
    for urls in (column, column.cast(pa.large_string())):
        normal = NORMALIZE.normalize_batch(urls, Counters())
        assert normal.to_pylist() == ["http://a.com/b.gif", "http://a.com/c", None]
        assert normal.type == urls.type
        assert FILTER.filter_batch(normal, Counters()).to_pylist() == [False, True, False]


def test_a_scope_may_have_an_order_of_its_own() -> None:
    config = Config.of(
        {"urlnormalizer.order": [here(Marking)], "urlnormalizer.order.inject": [here(Shortening)]}
    )
    assert NormalizerChain.from_config(config, Scope.INJECT).normalize("ax") == "a"
    assert NormalizerChain.from_config(config, Scope.FETCHER).normalize("ax") == "ax|fetcher"
    emptied = config.with_values({"urlnormalizer.order.inject": []})
    assert NormalizerChain.from_config(emptied, Scope.INJECT).normalize("ax") == "ax|inject"


def test_chains_travel_with_their_rule_files() -> None:
    config = Config.of(
        {**DEFAULTS, "urlfilter.order": [REGEX_FILTER]},
        files={"regex-urlfilter.txt": "-x\n+."},
    )
    normalize, accept = pickle.loads(
        pickle.dumps((NormalizerChain.from_config(config), FilterChain.from_config(config)))
    )
    assert normalize.normalize("HTTP://A.com?b#c") == "http://a.com/?b"
    assert accept.rejection("x") == (REGEX_FILTER, "regex-urlfilter.txt:1: -x")
    assert accept.rejection("a?b") is None


def test_a_bad_rule_or_plugin_is_reported_when_the_chain_is_made() -> None:
    bad = Config.of({"urlfilter.order": [REGEX_FILTER], "urlfilter.regex.rules": "x"})
    with pytest.raises(ConfigError, match="urlfilter.regex.rules:1"):
        FilterChain.from_config(bad)
    with pytest.raises(PluginError, match="nonesuch"):
        NormalizerChain.from_config(Config.of({"urlnormalizer.order": ["nonesuch"]}))


def test_describe_shows_order_and_origin() -> None:
    config = Config.of({**DEFAULTS, "urlnormalizer.order.linkdb": [BASIC]})
    found = [
        (
            *(each.plugin.interface, each.scope, each.position),
            *(each.plugin.name, each.property, each.origin),
        )
        for each in describe(config)
    ]
    assert found == [
        ("urlnormalizer", "", 1, BASIC, "urlnormalizer.order", "code"),
        ("urlnormalizer", "", 2, REGEX, "urlnormalizer.order", "code"),
        ("urlnormalizer", "linkdb", 1, BASIC, "urlnormalizer.order.linkdb", "code"),
        ("urlfilter", "", 1, LENGTH_FILTER, "urlfilter.order", "code"),
        ("urlfilter", "", 2, REGEX_FILTER, "urlfilter.order", "code"),
        ("urlfilter", "", 3, TRAP_FILTER, "urlfilter.order", "code"),
    ]
    assert Config.of()[URLNORMALIZER_ORDER] == ("basic", "regex")


def test_the_default_chains_agree_by_row_and_by_column_on_wicked_urls() -> None:
    urls = storable(wicked_urls(5000))
    check_agreement(urls)


@given(st.lists(encodable))
def test_the_default_chains_agree_by_row_and_by_column(urls: list[str]) -> None:
    check_agreement(urls)


def check_agreement(urls: list[str]) -> None:
    counters = Counters()
    normal = NORMALIZE.normalize_batch(pa.array(urls, pa.string()), counters)
    expected = [NORMALIZE.normalize(url) for url in urls]
    assert normal.to_pylist() == expected
    accepted = FILTER.filter_batch(normal, counters).to_pylist()
    assert accepted == [url is not None and FILTER.rejection(url) is None for url in expected]
    assert sum(counters.values()) == sum(
        url is not None and not kept for url, kept in zip(expected, accepted, strict=True)
    )


@given(texts)
@example("http://example.com/..;sid=1?&x")
@example("http://😀&&")
@example("http://sid=1/x")
def test_the_default_normalizers_are_idempotent_as_a_chain(text: str) -> None:
    once = NORMALIZE.normalize(text)
    if once is not None:
        assert NORMALIZE.normalize(once) == once


def test_few_are_asked_one_by_one_and_answered_as_many_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    normalizer = normalizers(RaisingByColumn)
    urls = ["ax", "", "b", None, "http://a.test/?sid=1", "ftp://a.test/", "http://a.test/a.gif"]
    column = pa.array(urls, pa.string())
    by_column, one_by_one = Counters(), Counters()
    normal = normalizer.normalize_batch(column, Counters())
    accepted = FILTER.filter_batch(column, by_column)
    monkeypatch.setattr(chains, "_FEW", len(urls))
    faults = Counters()
    assert normalizer.normalize_batch(column, faults).equals(normal)
    assert not faults, "the column was not to be asked"
    assert FILTER.filter_batch(column, one_by_one).equals(accepted)
    assert one_by_one == by_column
    assert len(FILTER.filter_batch(column.slice(0, 0), Counters())) == 0
