"""Which URLs rules allow: the examples of RFC 9309 and of Google's documentation."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawl.robots.read import read_rules
from crawl.robots.rules import Basis, RobotRules, allow_all, disallow_all
from tests.examples import scaled
from tests.robots import model

SITE = "http://site.example"


def rules_of(*lines: str) -> RobotRules:
    return read_rules("\n".join(("User-agent: *", *lines)).encode(), ["nutria"])


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        # Google's table of path matches
        ("/", ["/", "/fish", "/a?b"], []),
        ("/*", ["/", "/fish", "/a?b"], []),
        ("/$", ["/"], ["/fish", "/?a"]),
        (
            "/fish",
            ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.php?id=anything"],
            ["/Fish.asp", "/catfish", "/?id=fish", "/desert/fish"],
        ),
        (
            "/fish*",
            ["/fish", "/fish.html", "/fish/salmon.html", "/fishheads/yummy.html"],
            ["/Fish.asp", "/catfish", "/?id=fish"],
        ),
        (
            "/fish/",
            ["/fish/", "/fish/?id=anything", "/fish/salmon.htm"],
            ["/fish", "/fish.html", "/animals/fish/", "/Fish/Salmon.asp"],
        ),
        (
            "/*.php",
            ["/index.php", "/filename.php", "/folder/filename.php?parameters", "/any.php.file"],
            ["/", "/windows.PHP"],
        ),
        (
            "/*.php$",
            ["/filename.php", "/folder/filename.php", "/a.php.php"],
            ["/filename.php?parameters", "/filename.php/", "/filename.php5", "/windows.PHP"],
        ),
        (
            "/fish*.php",
            ["/fish.php", "/fishheads/catfish.php?parameters"],
            ["/Fish.PHP", "/fish", "/php"],
        ),
        # RFC 9309, 2.2.3
        ("/path/file-with-a-%2A.html", ["/path/file-with-a-*.html"], ["/path/file-with-a-x.html"]),
        ("/path/foo-%24", ["/path/foo-$", "/path/foo-$x"], ["/path/foo-"]),
        # the table of RFC 9309, 2.2.2
        ("/foo/bar?baz=quz", ["/foo/bar?baz=quz"], ["/foo/bar%3Fbaz=quz", "/foo/bar"]),
        (
            "/foo/bar?baz=https://foo.bar",
            ["/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"],
            ["/foo/bar?baz=https"],
        ),
        ("/foo/bar/ツ", ["/foo/bar/ツ", "/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84"], ["/foo/bar/"]),
        ("/foo/bar/%E3%83%84", ["/foo/bar/ツ", "/foo/bar/%E3%83%84"], ["/foo/bar/%E3%83"]),
        ("/foo/bar/%62%61%7A", ["/foo/bar/baz", "/foo/bar/%62az"], ["/foo/bar/b"]),
        # octets, not characters
        ("/%FF", ["/%FF", "/%ffx"], ["/%FE", "/\ufffd", "/ÿ"]),
        ("/a%2Fb", ["/a%2Fb", "/a%2fb"], ["/a/b"]),
        ("/a/b", ["/a/b"], ["/a%2Fb"]),
        # wildcards at odd places
        ("*", ["/", "/a"], []),
        ("*/b", ["/b", "/a/b"], ["/a"]),
        ("/a**b", ["/ab", "/axb"], ["/a"]),
        ("/a*b*$", ["/ab", "/axbx"], ["/a"]),
        ("*$", ["/", "/a"], []),
        ("/a$b", ["/a$b", "/a$bc"], ["/a", "/ab"]),
        ("/a$$", ["/a$"], ["/a", "/a$$"]),
        # not paths
        ("fish", [], ["/fish", "/"]),
        ("$", [], ["/"]),
        ("http://site.example/fish", [], ["/fish"]),
    ],
)
def test_what_a_pattern_matches(pattern: str, matching: list[str], other: list[str]) -> None:
    rules = rules_of(f"Disallow: {pattern}")
    assert [path for path in matching if rules.allows(SITE + path)] == []
    assert [path for path in other if not rules.allows(SITE + path)] == []


@pytest.mark.parametrize(
    ("allow", "disallow", "path", "allowed"),
    [
        # Google's table of precedence
        ("/p", "/", "/page", True),
        ("/folder", "/folder", "/folder/page", True),
        ("/page", "/*.htm", "/page.htm", False),
        ("/page", "/*.ph", "/page.php5", True),
        ("/$", "/", "/", True),
        ("/$", "/", "/page.htm", False),
        # RFC 9309, 5.2
        ("/example/page/", "/example/page/disallowed.gif", "/example/page/disallowed.gif", False),
        ("/example/page/", "/example/page/disallowed.gif", "/example/page/", True),
        # all octets count, and each counts one
        ("/p/", "/*?", "/p/?a", True),
        ("/a$", "/ab", "/a", True),
        ("/a$", "/a*", "/a", True),
        ("/a*", "/a$", "/a", True),
        ("/a", "/a$", "/a", False),
        ("/abc", "/ab*", "/abc", True),
        ("/ab*", "/abc", "/abc", True),
        ("/abc", "/ab*c", "/abc", False),
        ("/ab**", "/abc", "/abc", True),
        ("*abc", "/abc", "/abc", True),
        ("/é", "/%C3%A9", "/é", True),
        # Google: the page of a folder stands for the folder
        ("/index.html", "/", "/", True),
        ("/index.htm", "/", "/", True),
        ("/index.html", "/", "/index.html", True),
        ("/index.html", "/", "/index", False),
        ("/a/index.html", "/a/", "/a/", True),
        ("/a/index.html", "/a/", "/a/b", False),
    ],
)
def test_the_longest_match_decides_and_allow_among_equals(
    allow: str, disallow: str, path: str, allowed: bool
) -> None:
    for lines in (
        (f"Allow: {allow}", f"Disallow: {disallow}"),
        (f"Disallow: {disallow}", f"Allow: {allow}"),
    ):
        assert rules_of(*lines).allows(SITE + path) is allowed


@pytest.mark.parametrize("line", ["Disallow:", "Disallow:   ", "Disallow: # nothing", "Allow:"])
def test_an_empty_rule_says_nothing(line: str) -> None:
    assert rules_of(line).allows(f"{SITE}/page")
    assert not rules_of(line, "Disallow: /page").allows(f"{SITE}/page")


def test_the_robots_file_is_always_allowed() -> None:
    nothing = disallow_all(Basis.FILE)
    assert nothing.allows(f"{SITE}/robots.txt")
    assert nothing.allows(f"{SITE}:8080/robots.txt#top")
    assert not nothing.allows(f"{SITE}/robots.txt?page")
    assert not nothing.allows(f"{SITE}/robots.txt/")
    assert not nothing.allows(f"{SITE}/a/robots.txt")


def test_urls_are_read_as_they_will_be_asked_for() -> None:
    rules = rules_of("Disallow: /private", "Disallow: /?secret")
    assert not rules.allows(f"{SITE}/a/../private/page")
    assert not rules.allows(f"{SITE}/a/%2e%2e/private")
    assert not rules.allows(f"{SITE}?secret")
    assert not rules.allows("HTTP://user@SITE.example:8080/private")
    assert rules.allows(f"{SITE}/#/private")
    assert not rules.allows("private")


def test_rules_travel() -> None:
    rules = rules_of("Disallow: /a", "Crawl-delay: 2", "Sitemap: http://site.example/map.xml")
    assert not rules.allows(f"{SITE}/a")
    copy = pickle.loads(pickle.dumps(rules))
    assert copy == rules
    assert not copy.allows(f"{SITE}/a")
    assert len(pickle.dumps(rules)) < 300


def test_all_or_nothing() -> None:
    assert allow_all(Basis.ABSENT).allows(f"{SITE}/a")
    assert not disallow_all(Basis.FORBIDDEN).allows(f"{SITE}/a")


SHORT = st.text("/a*$", max_size=3).map(lambda text: f"/{text}")  # many matches and ties
PATTERNS = (
    SHORT
    | st.text("/ab*$?%2Ff:'é", max_size=8).map(lambda text: f"/{text}")
    | st.sampled_from(["*", "*a", "/", "/*", "/$", ""])
)
RULES = st.lists(st.tuples(st.sampled_from(["Allow", "Disallow"]), PATTERNS), max_size=6)
PATHS = SHORT | st.text("/ab$?%2Ff:é*", max_size=10).map(lambda text: f"/{text}")


@settings(max_examples=scaled(500), deadline=None)
@given(RULES, PATHS)
@example([("Disallow", "/*?"), ("Allow", "/a/")], "/a/?")
@example([("Disallow", "/%2F"), ("Allow", "/*2F")], "/%2F")
def test_the_same_as_the_plain_model(rules: list[tuple[str, str]], path: str) -> None:
    found = rules_of(*(f"{kind}: {pattern}" for kind, pattern in rules))
    assert found.allows(SITE + path) is model.allows(rules, path)


@given(RULES, st.text())
def test_any_url_gets_an_answer(rules: list[tuple[str, str]], text: str) -> None:
    found = rules_of(*(f"{kind}: {pattern}" for kind, pattern in rules))
    assert found.allows(text) in (True, False)
    assert found.allows(f"{SITE}/{text}") in (True, False)
