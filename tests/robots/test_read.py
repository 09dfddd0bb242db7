"""Files as they are found: groups and names, odd bytes, limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.robots.read import MAX_BYTES, MAX_SITEMAPS, product_token, read_rules
from crawl.robots.rules import Basis, RobotRules
from crawl.robots.waits import MAX_WAIT_S

SITE = "http://site.example"
PATHS = ("/", "/a", "/b", "/c", "/a/b", "/b?c", "/é")

RFC_EXAMPLE = b"""\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
"""


def read(text: str | bytes, *agents: str) -> RobotRules:
    body = text.encode() if isinstance(text, str) else text
    return read_rules(body, agents or ("nutria",))


def denied(text: str | bytes, *agents: str) -> str:
    """The paths among PATHS that are not allowed, in one line."""
    rules = read(text, *agents)
    return " ".join(path for path in PATHS if not rules.allows(SITE + path))


@pytest.mark.parametrize(
    ("agent", "allowed", "forbidden"),
    [
        ("other", ["/publications/", "/x"], ["/example/page.html", "/a.gif"]),
        ("foobot", ["/example/page.html", "/example/allowed.gif"], ["/", "/publications/"]),
        ("barbot", ["/", "/example/", "/a.gif"], ["/example/page.html"]),
        ("BazBot/2.0", ["/", "/example/", "/a.gif"], ["/example/page.html"]),
        ("quxbot", ["/", "/example/page.html", "/a.gif"], []),
    ],
)
def test_the_example_of_the_rfc(agent: str, allowed: list[str], forbidden: list[str]) -> None:
    rules = read(RFC_EXAMPLE, agent)
    assert [path for path in allowed if not rules.allows(SITE + path)] == []
    assert [path for path in forbidden if rules.allows(SITE + path)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # equal names are one group, wherever they stand (RFC 9309, 2.2.1)
        ("User-agent: nutria\nDisallow: /a\nUser-agent: x\nDisallow: /b\n"
         "User-agent: nutria\nDisallow: /c", "/a /c /a/b"),
        ("User-agent: *\nDisallow: /b\nUser-agent: *\nDisallow: /c", "/b /c /b?c"),
        # a name counts more than everyone, in any order, and even without rules
        ("User-agent: nutria\nDisallow: /c\nUser-agent: *\nDisallow: /", "/c"),
        ("User-agent: *\nDisallow: /\nUser-agent: nutria\nDisallow: /c", "/c"),
        ("User-agent: *\nDisallow: /\nUser-agent: nutria\n", ""),
        ("User-agent: *\nDisallow: /\nUser-agent: nutria\nDisallow:\n", ""),
        # several names before one rule, with blank lines, comments and other lines between
        ("User-agent: x\nUser-agent: nutria\nDisallow: /c", "/c"),
        ("User-agent: nutria\n\n# x\nUser-agent: x\n\nDisallow: /c", "/c"),
        ("User-agent: nutria\nSitemap: http://s/\nHost: s\nUser-agent: x\nDisallow: /c", "/c"),
        ("User-agent: nutria\nUser-agent: *\nDisallow: /c", "/c"),
        ("User-agent: *\nUser-agent: nutria\nDisallow: /c", "/c"),
        # rules of others, and of nobody
        ("User-agent: x\nDisallow: /c", ""),
        ("Disallow: /c", ""),
        ("Disallow: /a\nUser-agent: *\nDisallow: /c", "/c"),
        ("User-agent: *\nDisallow: /c\nUser-agent:\nDisallow: /b", "/c"),
        # a blank line ends no group
        ("User-agent: *\n\nDisallow: /c\n\nDisallow: /b", "/b /c /b?c"),
        ("", ""),
    ],
)  # fmt: skip
def test_groups(text: str, expected: str) -> None:
    assert denied(text) == expected


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("nutria", True),
        ("NUTRIA", True),
        ("nutria/1.0", True),
        ("nutria 1.0", True),
        ("nutria (+http://site.example)", True),
        ("  nutria\t", True),
        ("nutria*", True),
        ("nutr", False),
        ("nutria-news", False),
        ("nutria_news", False),
        ("nutria2", False),
        ("mynutria", False),
        ("Mozilla/5.0 (compatible; nutria/1.0)", False),
        ("nütria", False),
        ("*nutria", False),
    ],
)
def test_names_are_whole_product_tokens(name: str, is_ours: bool) -> None:
    assert denied(f"User-agent: {name}\nDisallow: /c") == ("/c" if is_ours else "")


@pytest.mark.parametrize("name", ["*", " * ", "* everyone", "*\t# all"])
def test_names_of_everyone(name: str) -> None:
    assert denied(f"User-agent: {name}\nDisallow: /c") == "/c"


@pytest.mark.parametrize(
    ("agents", "expected"),
    [
        (("nutria/0.1 (x; y)",), "/c"),
        (("Nutria", "beaver"), "/b /c /b?c"),
        (("", "nutria"), "/c"),
        (("*",), "/a /a/b"),
        (("",), "/a /a/b"),
        (("musk rat",), "/é"),
        (("é",), "/a /a/b"),
    ],
)
def test_own_names(agents: tuple[str, ...], expected: str) -> None:
    text = (
        "User-agent: *\nDisallow: /a\nUser-agent: nutria\nDisallow: /c\n"
        "User-agent: beaver\nDisallow: /b\nUser-agent: musk\nDisallow: /é\n"
    )
    assert denied(text, *agents) == expected


def test_product_token() -> None:
    assert product_token(" MJ12bot/v1.4 (http://site.example)") == "mj12bot"
    assert product_token("(x)") == ""


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /c",
        "disallow:/c",
        "DISALLOW : /c",
        "  \t Disallow:\t/c  ",
        "Disallow: /c # why",
        "Disallow: /c#why",
        "Disallow /c",
        "Dissallow: /c",
        "disalow: /c",
        "Diasllow: /c",
        "disallaw: /c",
        "Disallowed: /c",
        "Disallow:\0/c\0",
        "Disallow: /c\v",
        "\ufeffDisallow: /c",
    ],
)
def test_lines_are_forgiven_much(line: str) -> None:
    assert denied(f"User-agent: *\n{line}\n") == "/c"
    assert denied(f"useragent: *\n{line}") == "/c"
    assert denied(f"User Agent: *\n{line}") == "/c"


@pytest.mark.parametrize(
    "line",
    [
        "<p>Disallow: /c</p>",
        "Disallow everything /c",
        "Please Disallow: /c",
        "# Disallow: /c",
        "Noindex: /c",
        ": /c",
        "Disallow",
        "Disallow /c and /b",
    ],
)
def test_lines_that_are_none(line: str) -> None:
    assert denied(f"User-agent: *\n{line}\nDisallow: /b") == "/b /b?c"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\xef\xbb", b"\xef\xbb\xbf\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r", b"\n\r", b"\r\r\n"])
def test_byte_order_marks_and_line_ends(mark: bytes, end: bytes) -> None:
    lines = [b"User-agent: *", b"Disallow: /c", b"User-agent: x", b"Disallow: /b", b""]
    assert denied(mark + end.join(lines)) == "/c"
    two_files = mark + end.join(lines) + mark + end.join([b"User-agent: *", b"Disallow: /b"])
    assert denied(two_files) == "/b /c /b?c"


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_nothing_else_ends_a_line(separator: str) -> None:
    assert denied(f"User-agent: *\nDisallow: /c{separator}Disallow: /b") == ""


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf_16_is_read_where_it_says_so(charset: str) -> None:
    mark = "" if charset == "utf-16" else "\ufeff"
    assert denied((mark + "User-agent: *\r\nDisallow: /é\r\n").encode(charset)) == "/é"


def test_a_path_in_another_charset_is_other_octets() -> None:
    text = "User-agent: *\nDisallow: /é".encode("latin-1")
    assert read(text).allows(f"{SITE}/é")
    assert not read(text).allows(f"{SITE}/%e9")


class TestLimits:
    FILL = b"# " + b"x" * 97 + b"\n"

    def body(self, size: int) -> bytes:
        return (b"User-agent: *\n" + self.FILL * (size // 100 + 1))[:size]

    def test_what_comes_before_the_cut_counts(self) -> None:
        last = b"\nDisallow: /c\n"
        assert denied(self.body(MAX_BYTES - len(last)) + last) == "/c"
        assert denied(self.body(MAX_BYTES - len(last)) + last + b"Disallow: /b") == "/c"

    def test_no_half_line(self) -> None:
        last = b"\nDisallow: /c\nDisallow: /"
        assert denied(self.body(MAX_BYTES - len(last)) + last + b"a/b\n") == "/c"
        assert denied(self.body(MAX_BYTES - len(last)) + last) == denied("User-agent:*\nDisallow:/")

    def test_a_body_that_was_cut_before(self) -> None:
        cut = b"User-agent: *\nDisallow: /c\nDisallow: /"
        assert read_rules(cut, (), whole=False).rules == "Disallow: /c"
        assert read_rules(cut + b"\r", (), whole=False).rules == "Disallow: /c\nDisallow: /"
        assert read_rules(b"", (), whole=False).rules == ""

    def test_a_huge_line_is_a_line(self) -> None:
        line = b"Disallow: /" + b"x" * (MAX_BYTES - 100) + b"\n"
        assert denied(b"User-agent: *\n" + line + b"Disallow: /c") == "/c"

    def test_sitemaps(self) -> None:
        lines = "".join(f"Sitemap: http://s/{number}\n" for number in range(MAX_SITEMAPS + 10))
        assert len(read(lines).sitemaps) == MAX_SITEMAPS


def test_relative_sitemaps_count_from_where_the_file_lies() -> None:
    text = (
        "Sitemap: /1.xml\nSitemap: 2.xml?x=1\nsitemap: //other.example/3.xml\nSitemap:\n"
        "Sitemap: not yet there\nSitemap: https://a.example/4.xml\nSitemap: ftp://a.example/5\n"
        "Sitemap: file:///etc/passwd\nSitemap: http://\nSitemap: javascript:x\n"
    )
    found = read_rules(text.encode(), ["nutria"], url="https://site.example/robots.txt")
    assert found.sitemaps == (
        "https://site.example/1.xml",
        "https://site.example/2.xml?x=1",
        "https://other.example/3.xml",
        "https://a.example/4.xml",
    )
    assert read_rules(text.encode(), ["nutria"]).sitemaps == ("https://a.example/4.xml",)


def test_sitemaps_are_absolute_urls_of_the_whole_file() -> None:
    text = (
        "Sitemap: https://site.example/1.xml\n"
        "User-agent: x\nDisallow: /\n"
        "sitemap:http://SITE.example/ü.xml # two\n"
        "Site-map: https://site.example/1.xml\n"
        "Sitemap https://other.example/3.xml\n"
        "Sitemap: /4.xml\nSitemap: ftp://site.example/5.xml\nSitemap: http://\nSitemap:\n"
        "Sitemap: file:///etc/passwd\n"
    )
    assert read(text).sitemaps == (
        "https://site.example/1.xml",
        "http://site.example/%C3%BC.xml",
        "https://other.example/3.xml",
    )


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("User-agent: *\nCrawl-delay: 2.5", 2.5),
        ("User-agent: *\ncrawl delay: 2,5 # s", 2.5),
        ("User-agent: *\nCrawldelay 3", 3.0),
        ("User-agent: *\nCrawl-delay: 0", 0.0),
        ("User-agent: *\nCrawl-delay: -3", None),
        ("User-agent: *\nCrawl-delay: soon", None),
        ("User-agent: *\nCrawl-delay:", None),
        ("User-agent: *\nCrawl-delay: 1e9", None),
        ("User-agent: *\nCrawl-delay: 10000000000", MAX_WAIT_S),
        ("Crawl-delay: 3", None),
        ("User-agent: x\nCrawl-delay: 3", None),
        # the group of the name, and that one only
        ("User-agent: *\nCrawl-delay: 9\nDisallow:\nUser-agent: nutria\nDisallow: /c", None),
        ("User-agent: nutria\nCrawl-delay: 1\nDisallow:\nUser-agent: *\nCrawl-delay: 9", 1.0),
        # several: the most polite; nonsense beside sense says nothing
        ("User-agent: *\nCrawl-delay: 3\nCrawl-delay: 5\nCrawl-delay: 4\nCrawl-delay: x", 5.0),
        # who is named after it is not meant by it
        ("User-agent: x\nCrawl-delay: 3\nUser-agent: *\nDisallow: /c", None),
        ("User-agent: x\nCrawl-delay: 3\nUser-agent: *\nDisallow: /c\nCrawl-delay: 5", 5.0),
    ],
)
def test_crawl_delay(text: str, seconds: float | None) -> None:
    assert read(text).crawl_delay_s == seconds


@pytest.mark.parametrize(
    ("lines", "ours", "others"),
    [
        ("U nutria|C 1|U *|C 60", 1.0, 60.0),
        ("U *|C 60|U nutria|C 1", 1.0, 60.0),
        ("U nutria|C 1|U *|C 60|D /c", 1.0, 60.0),
        ("U nutria|C 1|U *|D /c|C 60", 1.0, 60.0),
        ("U nutria|D /c|C 1|U *|C 60", 1.0, 60.0),
        ("U nutria|U *|C 60", 60.0, 60.0),
        ("U nutria|U x|C 2|U *|C 60", 2.0, 60.0),
        ("U nutria|C 1|U *|C 60|U nutria|C 5", 5.0, 60.0),
        ("U nutria|C soon|U *|C 60", None, 60.0),
        ("U nutria|C 1|S http://s/1|U *|C 60", 1.0, 60.0),
        ("U nutria|S http://s/1|U *|C 60", 60.0, 60.0),
        ("U nutria|C 1|C 2|U *|C 60", 2.0, 60.0),
    ],
)
def test_a_crawl_delay_belongs_to_the_names_just_above_it(
    lines: str, ours: float | None, others: float | None
) -> None:
    fields = {"U": "User-agent", "C": "Crawl-delay", "D": "Disallow", "S": "Sitemap"}
    text = "\n".join(f"{fields[line[0]]}:{line[1:]}" for line in lines.split("|"))
    assert read(text).crawl_delay_s == ours
    assert read_rules(text.encode(), ["other"]).crawl_delay_s == others


def test_a_crawl_delay_ends_no_group_of_rules() -> None:
    text = b"User-agent: nutria\nCrawl-delay: 1\nUser-agent: *\nDisallow: /c\n"
    for agent in ("nutria", "other"):
        assert not read_rules(text, [agent]).allows(f"{SITE}/c")


def test_the_basis_is_named() -> None:
    assert read("").basis is Basis.FILE


LINES = st.lists(
    st.sampled_from(
        [
            "User-agent: *",
            "User-agent: nutria",
            "User-agent: x",
            "Disallow: /a",
            "Disallow: /",
            "Allow: /b",
            "Disallow:",
            "Crawl-delay: 3",
            "Sitemap: http://s/1",
            "Garbage",
        ]
    ),
    max_size=12,
)
NOISE = st.sampled_from(["", "   ", "# a comment", "\t# Disallow: /"])


@given(LINES, st.data())
def test_blank_lines_comments_and_line_ends_change_nothing(
    lines: list[str], data: st.DataObject
) -> None:
    expected = read("\n".join(lines))
    noisy: list[str] = []
    for line in lines:
        noisy += data.draw(st.lists(NOISE, max_size=2))
        noisy.append(line + data.draw(st.sampled_from(["", "  ", " # why", "#"])))
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    mark = data.draw(st.sampled_from(["", "\ufeff"]))
    assert read(mark + end.join(noisy) + data.draw(st.sampled_from(["", end]))) == expected


@given(st.binary(max_size=300), st.lists(st.text(max_size=10), max_size=3), st.booleans())
def test_any_bytes_can_be_read(body: bytes, agents: list[str], whole: bool) -> None:
    for text in (body, b"User-agent: *\nDisallow: /" + body, b"\xff\xfe" + body):
        rules = read_rules(text, agents, whole=whole)
        assert rules.allows(f"{SITE}/robots.txt")
        assert all(line.startswith(("Allow: ", "Disallow: ")) for line in rules.rules.splitlines())
