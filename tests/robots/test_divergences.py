"""Where this reads a robots.txt otherwise than RFC 9309 or Google's parser, each with its
reason. What is not in this list is meant to be the same."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from crawl.robots.read import MAX_WILDCARD_OCTETS, read_rules


class Divergence(NamedTuple):
    name: str
    source: str
    """Whose answer is the other one."""
    reason: str
    body: bytes
    agent: str
    path: str
    allowed: bool
    """Here; there it is the other way round."""


ALL = b"User-agent: *\n"

DIVERGENCES = [
    Divergence(
        "digits belong to a name", "RFC 9309 2.2.1, Google",
        "real names have them (MJ12bot, 360Spider); cut off, `bot2` would obey `bot3`'s rules",
        b"User-agent: bot3\nDisallow: /a", "bot2", "/a", True,
    ),
    Divergence(
        "a misspelt or colonless field counts", "RFC 9309 2.2",
        "Google does the same; the owner's will is plain",
        ALL + b"Dissallow /a", "nutria", "/a", False,
    ),
    Divergence(
        "Allow of an index page allows its folder", "RFC 9309 2.2.2",
        "Google does the same; the page is what the folder is served with",
        ALL + b"Disallow: /\nAllow: /index.html", "nutria", "/", True,
    ),
    Divergence(
        "a rule is never cut", "Google (lines end at 16,664 bytes)",
        "a cut Disallow forbids more, a cut Allow permits more than was written",
        ALL + b"Disallow: /" + b"a" * 20_000, "nutria", "/" + "a" * 18_000, True,
    ),
    Divergence(
        "escapes of plain letters are undone", "Google (compares as written)",
        "RFC 9309 2.2.2 asks for it",
        ALL + b"Disallow: /%61", "nutria", "/a", False,
    ),
    Divergence(
        "`:/?@` in a query equal their escapes", "Google (compares as written)",
        "the table of RFC 9309 2.2.2 has them as the same",
        ALL + b"Disallow: /a?u=http://b", "nutria", "/a?u=http%3A%2F%2Fb", False,
    ),
    Divergence(
        "an escape before any `?` is a path's, even if a wildcard leads into the query",
        "RFC 9309 2.2.2, Google",
        "whether a wildcard spans the `?` is known only when matching; nobody writes this",
        ALL + b"Disallow: /*%2Fx", "nutria", "/a?b=%2Fx", True,
    ),
    Divergence(
        "`'` equals its escape", "RFC 9309 2.2.2 (reserved), Google",
        "URL parsers escape it in queries and not in paths, so that rules could never match",
        ALL + b"Disallow: /a%27", "nutria", "/a'", False,
    ),
    Divergence(
        "a URL's own `$` equals `%24`", "Google (compares as written)",
        "RFC 9309 2.2.3 has it so",
        ALL + b"Disallow: /a%24", "nutria", "/a$", False,
    ),
    Divergence(
        "/robots.txt is allowed against the rules", "Google's parser",
        "RFC 9309 2.2.2",
        ALL + b"Disallow: /", "nutria", "/robots.txt", True,
    ),
    Divergence(
        "UTF-16 is read where a byte order mark says so", "RFC 9309 2.2 (UTF-8 only), Google",
        "the owner's will is plain, and to miss it would be rude",
        "User-agent: *\nDisallow: /a".encode("utf-16"), "nutria", "/a", False,
    ),
    Divergence(
        "wildcards without measure forbid everything", "RFC 9309, Google",
        "each is searched in each URL: a file made for it would stop all threads for seconds",
        ALL + b"".join(b"Allow: /*%06d\n" % n for n in range(MAX_WILDCARD_OCTETS // 14)),
        "nutria", "/a", False,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", DIVERGENCES, ids=lambda case: case.name)
def test_divergence(case: Divergence) -> None:
    rules = read_rules(case.body, [case.agent])
    assert rules.allows("http://site.example" + case.path) is case.allowed
    assert case.source
    assert case.reason
