from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.fetcher.values.politeness import Politeness, ServerPace

FILE = "host-delays.txt"


def polite(text: str = "", **values: object) -> Politeness:
    properties = {name.replace("_", "."): value for name, value in values.items()}
    return Politeness.of(Config.of(properties, files={FILE: text}))


def test_what_is_configured_is_what_is_kept() -> None:
    found = polite(
        fetcher_server_delay=3.0,
        fetcher_server_ip_delay="500ms",
        fetcher_max_crawl_delay=60,
        fetcher_max_exceptions_per_queue=-1,
    )
    assert found.usual == ServerPace(3.0, 1)
    assert found.ip_delay_s == 0.5
    assert found.max_crawl_delay_s == 60
    assert found.max_exceptions == -1
    assert found.min_crawl_delay_s == found.back_off_s == 3.0, "as long as the server's delay"


def test_several_requests_at_once_have_a_delay_of_their_own() -> None:
    found = polite(
        fetcher_server_delay=3.0, fetcher_server_min_delay=0.25, fetcher_threads_per_queue=4
    )
    assert found.usual == ServerPace(0.25, 4)


LINES = """
# a comment
www.example.org 0.5
INTRANET.example.org  0.1  4   # four at once
*.example.net 30
*.deep.example.net 40
slow.example.net 2

"""


@pytest.mark.parametrize(
    ("host", "pace"),
    [
        ("www.example.org", ServerPace(0.5)),
        ("intranet.example.org", ServerPace(0.1, 4)),
        ("example.org", ServerPace(5.0)),
        ("a.www.example.org", ServerPace(5.0)),  # a host's line is for that host
        ("example.net", ServerPace(5.0)),  # and a domain's for all below it
        ("a.example.net", ServerPace(30.0)),
        ("a.b.example.net", ServerPace(30.0)),
        ("a.deep.example.net", ServerPace(40.0)),
        ("deep.example.net", ServerPace(30.0)),
        ("slow.example.net", ServerPace(2.0)),
        ("anexample.net", ServerPace(5.0)),
        ("192.0.2.1", ServerPace(5.0)),
        ("[::1]", ServerPace(5.0)),
    ],
)
def test_the_nearest_line_of_the_file_counts(host: str, pace: ServerPace) -> None:
    assert polite(LINES, fetcher_server_delay=5.0).pace_of(host) == pace


def test_without_lines_everybody_has_the_usual_pace() -> None:
    assert polite("# nobody\n").pace_of("www.example.org") == ServerPace(5.0)


@pytest.mark.parametrize(
    "line",
    [
        "example.org",
        "example.org soon",
        "example.org -1",
        "example.org nan",
        "example.org inf",
        "example.org 1 0",
        "example.org 1 -2",
        "example.org 1 2.5",
        "example.org 1 2 3",
        "example.org 1e99",
    ],
)
def test_a_wrong_line_is_an_error_that_names_its_place(line: str) -> None:
    with pytest.raises(ConfigError) as raised:
        polite(f"good.org 1\n{line}\n")
    assert f"{FILE}:2: expected `host seconds" in str(raised.value)
    assert line in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("asked_for", "kept"),
    [(0.0, 5.0), (4.0, 5.0), (9.0, 9.0), (30.0, 30.0), (30.5, None), (1e9, None)],
)
def test_a_crawl_delay_is_kept_up_to_a_bound_and_never_hastens(
    asked_for: float, kept: float | None
) -> None:
    politeness = Politeness(ServerPace(5.0), min_crawl_delay_s=2.0, max_crawl_delay_s=30.0)
    found = politeness.with_crawl_delay(politeness.usual, asked_for)
    assert found == (None if kept is None else ServerPace(kept))


def test_without_a_bound_any_crawl_delay_is_kept_and_one_at_a_time() -> None:
    politeness = Politeness(ServerPace(0.1, 8), min_crawl_delay_s=2.0, max_crawl_delay_s=-1)
    assert politeness.with_crawl_delay(politeness.usual, 1e6) == ServerPace(1e6, 1)
    assert politeness.with_crawl_delay(politeness.usual, 0.5) == ServerPace(2.0, 1)


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 1e6))
def test_a_back_off_is_bounded(exceptions: int, chance: float, base: float) -> None:
    found = Politeness(ServerPace(1.0), back_off_s=base).back_off(exceptions, chance)
    assert 0 <= found <= 86_400 * 1.25


def test_a_back_off_doubles_with_a_quarter_left_to_chance() -> None:
    politeness = Politeness(ServerPace(1.0), back_off_s=3.0)
    assert [politeness.back_off(n, 0.0) for n in (1, 2, 3, 4)] == [3.0, 6.0, 12.0, 24.0]
    assert politeness.back_off(2, 0.5) == pytest.approx(6.0 * 1.125)
    pauses = [politeness.back_off(n, 0.0) for n in range(1, 60)]
    assert all(one <= two for one, two in itertools.pairwise(pauses))
    assert pauses[-1] == 86_400.0


def test_files_of_this_machine_need_no_pause() -> None:
    assert polite("*.org 9", fetcher_server_delay=3.0).pace_of("") == ServerPace(0.0, 1)
