from __future__ import annotations

import pickle

import pytest

from crawl.config import Config, duration, integer, number, string_list
from crawl.errors import ConfigError

DELAY = duration("a.delay", 5, "A delay.", unit="s")
MIN = duration("a.least.delay", DELAY, "Same as the delay.", unit="s")


def test_a_default_is_typed() -> None:
    assert type(Config()[DELAY]) is float
    assert type(Config()[number("a.score", 1, "A score.")]) is float


def test_a_default_that_the_property_would_refuse_is_refused_at_once() -> None:
    with pytest.raises(ConfigError, match=r"at least 1, got 0 \(from its declaration\)"):
        integer("a.count", 0, "A count.", minimum=1)


def test_a_default_may_be_another_property() -> None:
    assert Config()[MIN] == 5.0
    assert Config.of({"a.delay": "1min"})[MIN] == 60.0
    assert Config.of({"a.delay": 1, "a.least.delay": 2})[MIN] == 2.0


def test_but_one_of_the_same_kind() -> None:
    with pytest.raises(ConfigError, match=r"^b: its default, a\.delay, is of another kind"):
        duration("b", DELAY, "In another unit.", unit="ms")


def test_a_long_value_is_not_repeated_at_length() -> None:
    with pytest.raises(ConfigError) as caught:
        DELAY.parse_text("x" * 100_000, "-D")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("value", ["a\nb", "\ud800", "\x1b[31m", {"a": 10**5000}])
def test_no_value_breaks_the_line(value: object) -> None:
    with pytest.raises(ConfigError) as caught:
        DELAY.parse(value, "site")
    assert str(caught.value).isprintable()


def test_unit_and_pickling() -> None:
    assert DELAY.unit == "s"
    assert integer("a.size", 1, "A.", unit="rows").unit == "rows"
    for prop in (DELAY, MIN, string_list("a.words", ("b",), "Words.")):
        assert pickle.loads(pickle.dumps(prop)) == prop
