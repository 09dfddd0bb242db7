"""Files made to hang a crawler or to fill its memory. A case that is not bounded does not
end within the limit of the test run; what can be counted is counted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.robots.match import is_allowed
from crawl.robots.read import MAX_BYTES, MAX_WILDCARD_OCTETS, read_rules
from crawl.robots.rules import Basis
from tests.examples import scaled

LONG_URL = "http://site.example/" + "a" * 4000
EVERYONE = b"User-agent: *\n"

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        (EVERYONE + b"Disallow: /*a*a*a*a*a*a*a*a*b$", True),
        (EVERYONE + b"Disallow: /" + b"*a" * 30_000 + b"b$", True),
        (EVERYONE + b"Disallow: /" + b"*" * 60_000, False),
        (EVERYONE + b"Disallow: /" + b"a*" * 2_000 + b"$", False),
        (EVERYONE + b"".join(b"Allow:/*aaaa%xaaaa\n" % n for n in range(2_500)), True),
        (EVERYONE + b"".join(b"Allow:/%x\n" % n for n in range(40_000)), True),
        (b"User-agent: x\n" * 36_000 + EVERYONE + b"Disallow: /", False),
        (b"User-agent:*\nUser-agent:nutria\nDisallow:/a\n" * 11_000, False),
        (EVERYONE + b"Disallow: /" + b"%61" * 100_000, True),
        (EVERYONE + b"Crawl-delay: " + b"9" * 500_000, True),
        (b"user-agent" + b" " * 500_000 + b"x y", True),
        (b"dis" * 170_000, True),
        (b"\0" * MAX_BYTES, True),
        (b"\r" * MAX_BYTES, True),
        (b"\xff" * (10 * MAX_BYTES), True),
    ],
)  # fmt: skip
def test_it_ends(body: bytes, allowed: bool) -> None:
    rules = read_rules(body, ["nutria"])
    assert rules.basis is Basis.FILE
    assert rules.allows(LONG_URL) is allowed


def test_more_wildcards_than_can_be_searched_forbid_everything() -> None:
    rule = b"Allow: /*aaaa%daaaa\n"
    most = MAX_WILDCARD_OCTETS // 18
    body = EVERYONE + b"Crawl-delay: 3\nSitemap: http://s/1\n"
    few = read_rules(body + b"".join(rule % n for n in range(1000, 1000 + most // 2)), ["nutria"])
    assert few.basis is Basis.FILE
    many = read_rules(body + b"".join(rule % n for n in range(1000, 1000 + most * 2)), ["nutria"])
    assert many.basis is Basis.TOO_COMPLEX
    assert not many.allows("http://site.example/")
    assert many.allows("http://site.example/robots.txt")
    assert (many.crawl_delay_s, many.sitemaps) == (3.0, ("http://s/1",))
    others = read_rules(
        b"User-agent: x\n" + b"".join(rule % n for n in range(most * 2)) + b"User-agent: nutria",
        ["nutria"],
    )
    assert others.basis is Basis.FILE


def test_rules_are_no_larger_than_what_was_read() -> None:
    body = EVERYONE + b"".join(b"Disallow:/%x\n" % n for n in range(40_000))
    assert len(read_rules(body, []).rules) <= 1.2 * len(body)
    assert read_rules(EVERYONE + b"Disallow: /a\n" * 30_000, []).rules == "Disallow: /a"


def test_files_of_any_size_are_matched() -> None:
    for count in (1, 50, 500, 5_000, 20_000):
        body = EVERYONE + b"".join(b"Disallow:/%x-\n" % n for n in range(count))
        rules = read_rules(body, [])
        assert not rules.allows(f"http://site.example/{count - 1:x}-")
        assert rules.allows(f"http://site.example/{count:x}-")


@settings(max_examples=scaled(300), deadline=None)
@given(st.text("a*b$", max_size=60), st.integers(0, 3000))
def test_no_pattern_hangs(pattern: str, length: int) -> None:
    path = "/" + "a" * length
    assert is_allowed(f"Allow: /{pattern.replace('$', '')}", path)
    denied = not is_allowed(f"Disallow: /{pattern.replace('$', '')}", path)
    assert denied == ("b" not in pattern and pattern.count("a") <= length)
