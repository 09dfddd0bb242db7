"""Section 3 of the reference, line by line."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.rules.inject import Seed, parse_line, updated, why_no_url
from tests.examples import scaled


@pytest.mark.parametrize("line", ["", "  ", "\t", "\tkey=value", "# seed", "  # seed", "#\ta=b"])
def test_blank_lines_and_comments(line: str) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize(
    ("line", "seed"),
    [
        ("http://a/", Seed("http://a/")),
        ("  http://a/  ", Seed("http://a/")),
        ("\ufeffhttp://a/", Seed("http://a/")),
        ("http://a/ b", Seed("http://a/ b")),
        ("http://a/#top", Seed("http://a/#top")),
        ("http://a/\t", Seed("http://a/")),
        ("http://a/\tnutch.score=2.5", Seed("http://a/", score=2.5)),
        ("http://a/\tnutch.score=-1e3", Seed("http://a/", score=-1000.0)),
        ("http://a/\tnutch.score= 2 ", Seed("http://a/", score=2.0)),
        ("http://a/\tnutch.fetchInterval=86400", Seed("http://a/", fetch_interval=86400)),
        ("http://a/\tnutch.fetchInterval=0", Seed("http://a/", fetch_interval=0)),
        ("http://a/\tnutch.fetchInterval=0060", Seed("http://a/", fetch_interval=60)),
        ("http://a/\tnutch.fetchInterval=2147483647", Seed("http://a/", None, 2147483647)),
        (
            "http://a/\tnutch.fetchInterval.fixed=60",
            Seed("http://a/", None, 60, {"fixedInterval": "60"}),
        ),
        (
            "http://a/\tlang=de\tempty=\tmath=a=b\t spaced = x y ",
            Seed("http://a/", metadata={"lang": "de", "empty": "", "math": "a=b", "spaced": "x y"}),
        ),
        ("http://a/\ta=1\ta=2", Seed("http://a/", metadata={"a": "2"})),
        ("http://a/\tNutch.Score=2", Seed("http://a/", metadata={"Nutch.Score": "2"})),
        ("http://a/\t\t\tlang=de", Seed("http://a/", metadata={"lang": "de"})),
    ],
)
def test_what_a_line_says(line: str, seed: Seed) -> None:
    assert parse_line(line) == seed


@pytest.mark.parametrize(
    "tokens",
    [
        "nutch.fetchInterval=10\tnutch.fetchInterval.fixed=60",
        "nutch.fetchInterval.fixed=60\tnutch.fetchInterval=10",
        "nutch.fetchInterval.fixed=60\tfixedInterval=10",
    ],
)
def test_a_fixed_interval_rules_wherever_it_stands(tokens: str) -> None:
    seed = parse_line(f"http://a/\t{tokens}")
    assert seed is not None
    assert seed.fetch_interval == 60
    assert seed.metadata == {"fixedInterval": "60"}


@pytest.mark.parametrize(
    "token",
    [
        "no equals sign",
        "=value",
        " = ",
        "nutch.score=high",
        "nutch.score=",
        "nutch.score=nan",
        "nutch.score=inf",
        "nutch.score=-Infinity",
        "nutch.score=1e39",
        "nutch.fetchInterval=",
        "nutch.fetchInterval=soon",
        "nutch.fetchInterval=-1",
        "nutch.fetchInterval=1.5",
        "nutch.fetchInterval=2147483648",
        "nutch.fetchInterval=٣",
        "nutch.fetchInterval=" + "9" * 5000,
        "nutch.fetchInterval.fixed=-1",
        "nutch.fetchInterval.fixed=x",
    ],
)
def test_a_token_that_cannot_be_read_is_named_and_the_url_kept(token: str) -> None:
    assert parse_line(f"http://a/\t{token}\tlang=de") == Seed(
        "http://a/", metadata={"lang": "de"}, ignored=(token,)
    )


@given(
    st.text()
    | st.lists(
        st.sampled_from(
            ["http://a/", "\t", "=", "#", "nutch.score", "nutch.fetchInterval", ".fixed", "1", "-"]
        ),
        max_size=12,
    ).map("".join)
)
@settings(max_examples=scaled(300))
def test_no_line_raises(line: str) -> None:
    seed = parse_line(line)
    why_no_url(line)
    if seed is None:
        return
    assert seed.url == seed.url.strip()
    assert seed.url
    assert not seed.url.startswith("#")
    assert seed.score is None or math.isfinite(seed.score)
    assert seed.fetch_interval is None or 0 <= seed.fetch_interval < 2**31


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("example.com", "no_scheme"),
        ("//example.com/", "no_scheme"),
        ("/path", "no_scheme"),
        ("example.com:8080/x", "no_scheme"),
        ("localhost:80", "no_scheme"),
        ("javascript:alert(1)", "scheme_not_crawled"),
        ("mailto:a@b", "scheme_not_crawled"),
        ("HTTP://[::1", "not_a_url"),
        ("https://", "not_a_url"),
        ("http://a\x00/", "control_characters"),
        ("\x7fELF", "control_characters"),
    ],
)
def test_why_a_text_is_no_url(text: str, reason: str) -> None:
    assert why_no_url(text) == reason


OLD = CrawlDatum(
    Status.DB_FETCHED,
    fetch_time=50,
    modified_time=40,
    fetch_interval=30,
    retries=2,
    score=7.0,
    signature=b"s",
    metadata={"kept": "1", "both": "old"},
)


def update(**seed: object) -> CrawlDatum:
    injected = CrawlDatum(
        Status.DB_UNFETCHED,
        fetch_time=100,
        **{"fetch_interval": 2592000, "score": 1.0, **seed},  # type: ignore[arg-type]
    )
    return updated(OLD, injected, default_score=1.0, default_interval=2592000)


def test_an_update_that_names_nothing_changes_nothing() -> None:
    assert update() == OLD


def test_an_update_adds_metadata_and_what_differs_from_the_defaults() -> None:
    assert update(metadata={"both": "new", "more": "2"}).metadata == {
        "kept": "1",
        "both": "new",
        "more": "2",
    }
    assert update(score=3.0).score == 3.0
    assert update(score=3.0).fetch_interval == 30
    assert update(fetch_interval=60).fetch_interval == 60
    assert update(fetch_interval=60).score == 7.0


def test_an_update_leaves_the_pages_history_alone() -> None:
    new = update(score=3.0, fetch_interval=60, metadata={"a": "b"}, retries=9, signature=b"x")
    assert (new.status, new.fetch_time, new.modified_time) == (Status.DB_FETCHED, 50, 40)
    assert (new.retries, new.signature) == (2, b"s")
    assert OLD.metadata == {"kept": "1", "both": "old"}
