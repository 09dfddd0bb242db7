from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import strategies as st

from crawl.config import Property, duration, integer, number, numbers, size
from crawl.config.quantities import DURATION_UNITS, SIZE_UNITS
from crawl.errors import ConfigError

COUNT = integer("a.count", 3, "A count.", minimum=1, maximum=10)
ANY = integer("an.integer", -1, "Any.")
SHARE = number("a.share", 0.5, "A share.", minimum=0, maximum=1)
SCORE = number("a.score", 1, "A score.")
QUANTILES = numbers("a.quantiles", (0.5,), "Quantiles.", minimum=0, maximum=1)
DELAY = duration("a.delay", 5, "A delay.", unit="s")
WAIT = duration("a.wait", 5, "A wait.", unit="ms")
OFF = duration("an.interval", -1, "Off at -1.", unit="s", minimum=-1)
SPAN = duration("a.span", 5, "A span.", unit="s", minimum=1, maximum=2**31 - 1)
SIZE = size("a.size", 1024, "A size.")
LIMIT = size("a.limit", -1, "No limit at -1.", minimum=-1)


@pytest.mark.parametrize(
    ("prop", "value", "wanted"),
    [
        (COUNT, 10, 10),
        (ANY, -5, -5),
        (SHARE, 1, 1.0),
        (SHARE, 0.25, 0.25),
        (QUANTILES, [0, 0.5, 1], (0.0, 0.5, 1.0)),
        (QUANTILES, ".1, .9", (0.1, 0.9)),
        (QUANTILES, [], ()),
        (DELAY, 5, 5.0),
        (DELAY, 0, 0.0),
        (DELAY, "500ms", 0.5),
        (OFF, -1, -1.0),
        (SIZE, 0, 0),
        (SIZE, "64KiB", 65536),
        (LIMIT, -1, -1),
    ],
)
def test_typed_values(prop: Property[Any], value: object, wanted: object) -> None:
    found = prop.parse(value, "site")
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("prop", "given", "wanted"),
    [
        (COUNT, " 7 ", 7),
        (ANY, "-1", -1),
        (ANY, "+1_000", 1000),
        (SCORE, "1e-3", 0.001),
        (SCORE, ".5", 0.5),
        (SCORE, "-2.", -2.0),
        (DELAY, "5", 5.0),
        (DELAY, "5s", 5.0),
        (DELAY, "0.5 min", 30.0),
        (DELAY, "10min", 600.0),
        (DELAY, "2h", 7200.0),
        (DELAY, "30d", 2592000.0),
        (WAIT, "5", 5.0),
        (WAIT, "7d", 604800000.0),
        (OFF, "-1", -1.0),
        (SIZE, "10", 10),
        (SIZE, "10B", 10),
        (SIZE, "10kB", 10_000),
        (SIZE, "10MB", 10_000_000),
        (SIZE, "1MiB", 1 << 20),
        (SIZE, "1.5 KiB", 1536),
        (SIZE, "2TiB", 2 << 40),
    ],
)
def test_texts(prop: Property[Any], given: str, wanted: object) -> None:
    found = prop.parse_text(given, "-D")
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize(
    ("prop", "given", "message"),
    [
        (DELAY, "5kg", 'a.delay: expected a duration in s (such as 5 or "500ms"), got "5kg"'),
        (DELAY, "-1", 'a.delay: expected a duration in s (such as 5 or "500ms"), got "-1"'),
        (DELAY, "5S", 'a.delay: expected a duration in s (such as 5 or "500ms"), got "5S"'),
        (WAIT, "soon", 'a.wait: expected a duration in ms (such as 5 or "2min"), got "soon"'),
        (
            OFF,
            "-2",
            'an.interval: expected a duration in s of at least -1 (such as 5 or "500ms"), got "-2"',
        ),
        (
            SPAN,
            "100000d",
            'a.span: expected a duration in s from 1 to 2147483647 (such as 5 or "500ms"),'
            ' got "100000d"',
        ),
        (SIZE, "1MX", 'a.size: expected a size in bytes (such as 65536 or "64KiB"), got "1MX"'),
        (SIZE, "0.3B", 'a.size: expected a size in bytes (such as 65536 or "64KiB"), got "0.3B"'),
        (SIZE, "1e999", 'a.size: expected a size in bytes (such as 65536 or "64KiB"), got "1e999"'),
        (COUNT, "0", 'a.count: expected an integer from 1 to 10, got "0"'),
        (COUNT, "5.0", 'a.count: expected an integer from 1 to 10, got "5.0"'),
        (ANY, "", 'an.integer: expected an integer, got ""'),
        (ANY, "٣", 'an.integer: expected an integer, got "٣"'),
        (SHARE, "1.01", 'a.share: expected a number from 0 to 1, got "1.01"'),
        (SHARE, "0.5s", 'a.share: expected a number from 0 to 1, got "0.5s"'),
        (SCORE, "nan", 'a.score: expected a number, got "nan"'),
        (SCORE, "inf", 'a.score: expected a number, got "inf"'),
        (SCORE, "1e999", 'a.score: expected a number, got "1e999"'),
        (
            QUANTILES,
            "0.5 2",
            'a.quantiles: expected a list of numbers from 0 to 1 (such as [0.5, 1] or "0.5 1"),'
            ' got "0.5 2"',
        ),
    ],
)
def test_wrong_texts_are_one_clear_line(prop: Property[Any], given: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        prop.parse_text(given, "-D")
    assert str(caught.value) == message + " (from -D)"


@pytest.mark.parametrize(
    ("prop", "value"),
    [
        (COUNT, True),
        (COUNT, "5"),
        (COUNT, 5.0),
        (ANY, 10**400),
        (SCORE, True),
        (SCORE, "5"),
        (SCORE, float("nan")),
        (SCORE, float("inf")),
        (DELAY, True),
        (DELAY, [5]),
        (SIZE, 1.0),
        (SIZE, -1),
        (QUANTILES, 0.5),
        (QUANTILES, ["0.5"]),
    ],
)
def test_wrong_typed_values(prop: Property[Any], value: object) -> None:
    with pytest.raises(ConfigError, match=f"^{prop.name}: expected .*from site"):
        prop.parse(value, "site")


def test_a_unit_of_time_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="'weeks' is no unit of time"):
        duration("a.b", 1, "A.", unit="weeks")


@examples(st.integers(0, 10**6), st.sampled_from(list(DURATION_UNITS)))
def test_a_duration_means_the_same_in_every_unit(amount: int, unit: str) -> None:
    in_ms = WAIT.parse_text(f"{amount}{unit}", "-D")
    assert in_ms == amount * DURATION_UNITS[unit]
    assert DELAY.parse_text(f"{amount}{unit}", "-D") == pytest.approx(in_ms / 1000)


@examples(st.integers(0, 4096), st.sampled_from(list(SIZE_UNITS)))
def test_a_size_in_every_unit(amount: int, unit: str) -> None:
    assert SIZE.parse_text(f"{amount}{unit}", "-D") == amount * SIZE_UNITS[unit]


@examples(
    st.text() | st.from_regex(r"[-+.0-9eE_]{0,8} ?[a-zA-Z]{0,3}"),
    st.sampled_from([COUNT, ANY, SHARE, SCORE, QUANTILES, DELAY, WAIT, OFF, SPAN, SIZE, LIMIT]),
)
def test_any_text_is_read_or_refused_in_one_line(given: str, prop: Property[Any]) -> None:
    try:
        first = prop.parse_text(given, "-D")
    except ConfigError as error:
        assert str(error).isprintable()
        assert str(error).startswith(f"{prop.name}: expected ")
    else:
        assert prop.parse(first, "site") == first
