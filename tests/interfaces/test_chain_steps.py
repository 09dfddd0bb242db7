from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.interfaces.chain_steps import (
    FilterStep,
    NormalizerStep,
    filter_steps,
    normal_form,
    normalizer_steps,
)
from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, FilterChain, NormalizerChain
from crawl.interfaces.registry import resolve
from crawl.interfaces.urlfilter import URLFilter
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer

HERE = "tests.interfaces.test_chain_steps"


class Broken(URLFilter, URLNormalizer):
    def __init__(self, config: Config) -> None:
        pass

    def rejection(self, url: str) -> str | None:
        raise RuntimeError("no\nopinion")

    def normalize(self, url: str, scope: Scope) -> str | None:
        raise RuntimeError("no\nopinion")


def _filters(*names: str, **settings: object) -> FilterChain:
    config = Config.of({name.replace("_", "."): value for name, value in settings.items()})
    return FilterChain(resolve("urlfilter", names), config)


def test_filters_are_shown_up_to_the_one_that_decides() -> None:
    chain = _filters("length", "regex", "trap", urlfilter_regex_rules="-logo\n+.")
    assert filter_steps(chain, "http://a.org/") == (
        FilterStep("length"),
        FilterStep("regex"),
        FilterStep("trap"),
    )
    rejected = filter_steps(chain, "http://a.org/logo.png")
    assert [step.plugin for step in rejected] == ["length", "regex"]
    assert rejected[-1].reason == "urlfilter.regex.rules:1: -logo"


def test_a_filter_that_raises_is_shown_and_has_no_say() -> None:
    chain = _filters(f"{HERE}:Broken", "length", urlfilter_length_max=10)
    first, second = filter_steps(chain, "http://a.org/too-long")
    assert (first.reason, first.fault) == (None, "RuntimeError: no opinion")
    assert second.reason is not None
    assert chain.rejection("http://a.org/too-long") == ("length", second.reason)


def test_normalizers_are_shown_round_by_round() -> None:
    chain = NormalizerChain.from_config(Config())
    steps = normalizer_steps(chain, "HTTP://A.org/b/../c;jsessionid=0123456789#x", 3)
    assert [(step.round, step.plugin, step.changed) for step in steps] == [
        (1, "basic", True),
        (1, "regex", True),
        (2, "basic", False),
        (2, "regex", False),
    ]
    assert normal_form("", steps) == "http://a.org/c"


def test_a_text_that_is_no_url_ends_the_steps() -> None:
    chain = NormalizerChain.from_config(Config())
    assert normalizer_steps(chain, "mailto:a@b.org", 3) == (NormalizerStep(1, "basic", None, True),)
    assert normal_form("mailto:a@b.org", normalizer_steps(chain, "mailto:a@b.org", 3)) is None


def test_a_normalizer_that_raises_is_shown_and_changes_nothing() -> None:
    chain = NormalizerChain(
        resolve("urlnormalizer", [f"{HERE}:Broken", "basic"]), Config(), Scope.DEFAULT
    )
    steps = normalizer_steps(chain, "HTTP://a.org", 1)
    assert [step.fault for step in steps] == ["RuntimeError: no opinion", ""]
    assert normal_form("", steps) == "http://a.org/"


@pytest.mark.parametrize("rounds", [1, 3])
@given(text=st.text() | st.builds("http://{}/{}".format, st.text(), st.text()))
def test_steps_come_to_what_the_chains_say(rounds: int, text: str) -> None:
    config = Config.of({URLNORMALIZER_LOOP_COUNT.name: rounds})
    normalizers = NormalizerChain.from_config(config)
    assert normal_form(text, normalizer_steps(normalizers, text, rounds)) == (
        normalizers.normalize(text)
    )
    filters = FilterChain.from_config(config)
    last = filter_steps(filters, text)[-1]
    expected = None if last.reason is None else (last.plugin, last.reason)
    assert filters.rejection(text) == expected
