"""Answers that a crawl keeps: what they mean later, and until when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.interfaces.protocol import Failure, FailureKind, Response, Truncation
from crawl.robots.answer import Deferred, RobotsPolicy, rules_from_answer
from crawl.robots.read import MAX_BYTES
from crawl.robots.stored import (
    MAX_AGE_S,
    MAX_CLOCK_SKEW_MS,
    KeepTimes,
    StoredAnswer,
    seconds_left,
    stored_answer,
)

NOW = 1_800_000_000_000
POLICY = RobotsPolicy(("mybot",))
TIMES = KeepTimes(answer_s=3600.0, failure_s=300.0)
URL = "http://a.org/robots.txt"
BODIES = st.sampled_from(
    [
        b"",
        b"User-agent: *\nDisallow: /x\nCrawl-delay: 3\nSitemap: /s.xml\n",
        b"User-agent: other\nDisallow: /\n",
        b"\xff\xfe\x00<html>",
        b"User-agent: *\nAllow: /\n" * 30_000,
    ]
)
ANSWERS = st.one_of(
    st.builds(
        Response,
        st.just(URL),
        st.sampled_from([200, 204, 301, 403, 404, 410, 429, 500, 503, 999]),
        body=BODIES,
        truncated=st.sampled_from(Truncation),
        headers=st.sampled_from([(), (("Retry-After", "7200"),)]),
    ),
    st.builds(Failure, st.just(URL), st.sampled_from(FailureKind), st.text(max_size=5)),
)


def kept(answer: Response | Failure, policy: RobotsPolicy = POLICY) -> StoredAnswer:
    verdict = rules_from_answer(answer, policy, NOW)
    return stored_answer("http://a.org", answer, verdict, NOW, TIMES)


@given(ANSWERS, st.booleans(), st.booleans())
def test_a_kept_answer_means_what_it_meant(
    answer: Response | Failure, allow_403: bool, defer: bool
) -> None:
    stored = kept(answer)
    for policy in (POLICY, RobotsPolicy(("other",), allow_403, defer)):  # it may change meanwhile
        meant = rules_from_answer(answer, policy, NOW)
        means = rules_from_answer(stored.as_answer(), policy, NOW)
        if isinstance(meant, Deferred):
            assert isinstance(means, Deferred)
            assert means.reason is meant.reason
        else:
            assert means == meant
    assert len(stored.body) <= MAX_BYTES


@given(
    ANSWERS,
    st.integers(-2 * 86_400_000, 3 * 86_400_000),
    st.floats(0, 3 * MAX_AGE_S),
)
def test_no_answer_counts_for_longer_than_a_day_or_than_configured(
    answer: Response | Failure, later_ms: int, keep_s: float
) -> None:
    stored = kept(answer)
    left = seconds_left(stored, NOW + later_ms, keep_s)
    assert 0 <= left <= min(keep_s, MAX_AGE_S) + 0.001
    if left:
        assert NOW + later_ms + left * 1000 <= NOW + MAX_AGE_S * 1000 + MAX_CLOCK_SKEW_MS
        assert later_ms >= -MAX_CLOCK_SKEW_MS
    assert seconds_left(stored, stored.expires_ms, keep_s) == 0


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (Response(URL, 200), 3600),
        (Response(URL, 404), 3600),
        (Response(URL, 503), 300),
        (Response(URL, 503, (("Retry-After", "900"),)), 900),
        (Response(URL, 503, (("Retry-After", "9999999"),)), MAX_AGE_S),
        (Failure(URL, FailureKind.CONNECT_TIMEOUT), 300),
    ],
)
def test_failures_have_a_time_of_their_own(answer: Response | Failure, seconds: float) -> None:
    assert seconds_left(kept(answer), NOW) == seconds


def test_a_server_error_that_is_ignored_is_asked_for_again_as_soon() -> None:
    stored = kept(Response(URL, 503), RobotsPolicy(("mybot",), defer_on_5xx=False))
    assert seconds_left(stored, NOW) == 300


def test_only_what_is_read_is_kept() -> None:
    assert kept(Response(URL, 404, body=b"x" * 1000)).body == b""
    long = kept(Response(URL, 200, body=b"a" * (MAX_BYTES + 5)))
    assert (len(long.body), long.truncated) == (MAX_BYTES, "length")
    assert len(kept(Failure("u" * 9999, FailureKind.OTHER, "m" * 9999)).message) < 9999
