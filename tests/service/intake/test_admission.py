from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.service.intake.admission import MAX_URL, Admission


def admission(**settings: object) -> Admission:
    return Admission.of(Config.of(settings), Counters())


ASKED = admission()


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("http://a.org/", ""),
        ("  HTTP://A.org:80/x#part ", ""),
        ("https://a.org/watch?v=1&t=2", ""),
        ("http://a.org/picture.jpg", "filtered.regex"),
        ("ftp://a.org/", "scheme"),
        ("file:///etc/passwd", "scheme"),
        ("mailto:x@a.org", "malformed"),
        ("no url", "malformed"),
        ("http://127.0.0.1/", "address"),
        ("http://[::1]/", "address"),
        ("http://a.org/" + "x" * MAX_URL, "too_long"),
    ],
)
def test_what_may_be_asked_for(text: str, refusal: str) -> None:
    assert ASKED.check(text).refusal == refusal


def test_normal_form_is_what_is_asked_for() -> None:
    assert ASKED.check("  HTTP://A.org:80/x#part ").url == "http://a.org/x"
    assert ASKED.check("http://a.org/x").host == "a.org"


def test_the_usual_rule_against_queries_can_be_had_back() -> None:
    assert admission(**{"service.queries": False}).check("http://a.org/?q=1").refusal == (
        "filtered.regex"
    )


def test_own_rules_hold_for_urls_with_queries_too() -> None:
    own = admission(**{"urlfilter.regex.rules": "-^https?://intern\n-[?*!@=]\n+."})
    assert own.check("http://intern/?q=1").refusal == "filtered.regex"
    assert own.check("http://a.org/?q=1").refusal == ""
