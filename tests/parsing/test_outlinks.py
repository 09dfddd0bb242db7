from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.arrow import strings
from crawl.model.parse import Outlink
from crawl.parsing.outlinks import Exempts, OutlinkRules, keep_links
from crawl.urls.parse import host_of
from tests.examples import scaled

PAGE = "http://a.org/page"


def rules(**changes: Any) -> OutlinkRules:
    config = Config.of({"urlfilter.order": ["length"], "urlfilter.length.max": 100})
    usual = {
        "normalizers": NormalizerChain.from_config(config, Scope.OUTLINK),
        "filters": FilterChain.from_config(config),
    }
    return OutlinkRules(**{**usual, **changes})


def kept(
    links: Sequence[str | Outlink],
    given: OutlinkRules | None = None,
    exempts: Exempts = lambda source, target: False,
) -> tuple[list[str], dict[str, int]]:
    """The URLs kept of one page, and why others were not."""
    counters = Counters()
    outlinks = [Outlink(link) if isinstance(link, str) else link for link in links]
    found = keep_links([(PAGE, outlinks)], given or rules(), counters, exempts)
    assert found.hosts.to_pylist() == [host_of(url) or "" for url in strings(found.urls)]
    dropped = {
        name.removeprefix("outlinks_dropped."): count
        for name, count in counters.items()
        if name.startswith("outlinks_dropped.")
    }
    assert len(found.owner) + sum(dropped.values()) == len(links)
    return strings(found.urls), dropped


def test_links_are_normalised_and_filtered_in_their_order() -> None:
    long = "http://a.org/" + "x" * 100
    assert kept(["http://B.org/z#top", "http://a.org/b", long]) == (
        ["http://b.org/z", "http://a.org/b"],
        {"filtered": 1},
    )


def test_what_is_no_url_of_a_server_is_dropped() -> None:
    links = ["nonsense", "mailto:a@b.org", "javascript:x()", "http://[/", "\ud800", ""]
    assert kept(links) == ([], {"malformed": 6})
    assert kept(links, rules(normalizers=None, filters=None)) == ([], {"malformed": 6})
    assert kept(["file:///srv/a"]) == ([], {"local_file": 1})


def test_a_page_does_not_link_to_itself() -> None:
    assert kept([PAGE, PAGE + "#part", "http://A.org/page"]) == ([], {"self": 3})


def told(links: Sequence[Outlink], given: OutlinkRules | None = None) -> dict[str, Outlink]:
    """The link that is stored for each URL of a page."""
    found = keep_links([(PAGE, links)], given or rules(), Counters())
    places = found.position.tolist()
    return dict(zip(strings(found.urls), [links[place] for place in places], strict=True))


def test_a_target_counts_once_with_its_longest_anchor() -> None:
    counters = Counters()
    links = [
        Outlink("http://b.org/", "one"),
        Outlink("http://c.org/", "c"),
        Outlink("http://b.org/#x", "three"),
        Outlink("http://b.org/#y", "seven"),
        Outlink("http://b.org/", "two \t  \n"),
        Outlink("http://b.org/"),
    ]
    found = keep_links([(PAGE, links)], rules(), counters)
    assert strings(found.urls) == ["http://b.org/", "http://c.org/"], "in the order of the first"
    assert found.position.tolist() == [2, 1]
    assert counters == {"outlinks_dropped.duplicate": 4}


def test_a_logo_does_not_empty_the_anchor_of_the_home_page() -> None:
    logo, home = Outlink("http://b.org/", "", "", "a"), Outlink("http://b.org/", "Home", "", "a")
    assert told([logo, home]) == told([home, logo]) == {"http://b.org/": home}
    nofollow = Outlink("http://b.org/", "Not for us at all", "nofollow", "a")
    assert told([logo, nofollow]) == {"http://b.org/": logo}


def test_what_a_reader_can_follow_stands_for_what_only_a_browser_reads() -> None:
    canonical = Outlink("http://b.org/", "", "canonical", "link")
    link = Outlink("http://b.org/", "", "", "a")
    assert told([canonical, link]) == told([link, canonical]) == {"http://b.org/": link}
    assert told([canonical]) == {"http://b.org/": canonical}, "still a URL to fetch"


def test_the_longest_anchor_is_found_beyond_the_links_that_are_kept() -> None:
    others = [Outlink(f"http://b.org/{number}", "x", "", "a") for number in range(300)]
    icon = Outlink("http://b.org/1", "", "icon", "link")
    longest = Outlink("http://B.org/5#top", "the fifth", "", "a")
    dropped = Outlink("http://b.org/6", "the sixth", "nofollow", "a")
    plain = Outlink("http://b.org/1", "", "", "a")
    kept_links = told([icon, *others[2:], longest, dropped, plain], rules(max_per_page=10))
    assert list(kept_links) == ["http://b.org/1", *(f"http://b.org/{n}" for n in range(2, 11))]
    assert kept_links["http://b.org/5"] == longest
    assert kept_links["http://b.org/6"].anchor == "x"
    assert kept_links["http://b.org/1"] == plain


@settings(max_examples=scaled(200))
@given(
    st.lists(
        st.builds(
            Outlink,
            st.sampled_from([f"http://b.org/{n}" for n in range(4)] + ["http://B.org/1#x"]),
            st.text("ab ", max_size=5),
            st.sampled_from(["", "nofollow"]),
            st.sampled_from(["a", "link"]),
        ),
        max_size=300,
    ),
    st.integers(1, 4),
)
def test_no_link_to_a_kept_url_has_a_longer_text(links: list[Outlink], most: int) -> None:
    for url, stored in told(links, rules(max_per_page=most)).items():
        same = [
            link
            for link in links
            if link.url.lower().removesuffix("#x") == url and link.rel != "nofollow"
        ]
        texts = [" ".join(link.anchor.split()) for link in same if link.tag == "a"]
        assert stored.tag == ("a" if texts else "link")
        longest = max(map(len, texts or [" ".join(link.anchor.split()) for link in same]))
        assert len(" ".join(stored.anchor.split())) == longest


def test_links_that_ask_not_to_be_followed() -> None:
    links = [
        Outlink("http://b.org/1", rel="noopener nofollow"),
        Outlink("http://b.org/2", rel="ugc"),
        Outlink("http://b.org/3", rel="noopener"),
    ]
    assert kept(links) == (["http://b.org/2", "http://b.org/3"], {"rel_nofollow": 1})
    strict = rules(ignored_rel=frozenset(("nofollow", "ugc")))
    assert kept(links, strict) == (["http://b.org/3"], {"rel_nofollow": 1, "rel_ugc": 1})
    assert len(kept(links, rules(ignored_rel=frozenset()))[0]) == 3


def test_too_long_links_are_dropped_before_anything_is_done_to_them() -> None:
    assert kept(["http://b.org/" + "x" * 50], rules(max_length=40)) == ([], {"too_long": 1})


def test_the_limit_counts_good_links() -> None:
    links = ["mailto:x", "http://b.org/1", "http://b.org/1", "http://b.org/2", "http://b.org/3"]
    urls, dropped = kept(links, rules(max_per_page=2))
    assert urls == ["http://b.org/1", "http://b.org/2"]
    assert dropped == {"malformed": 1, "duplicate": 1, "limit": 1}
    assert kept(links, rules(max_per_page=0)) == ([], {"limit": 5})
    assert len(kept(links, rules(max_per_page=-1))[0]) == 3


def test_a_page_of_a_million_links_is_not_read_to_its_end() -> None:
    links = [f"http://b.org/{number}" for number in range(300_000)]
    urls, dropped = kept(links)
    assert urls == links[:100]
    assert dropped == {"limit": 299_900}
    bad_first = ["mailto:x"] * 5_000 + links
    assert kept(bad_first)[0] == links[:100]


LINKS = [
    "http://a.org/in",
    "http://www.a.org/near",
    "http://b.org/out",
    "http://b.org/exempt.css",
    "bad",
]


def test_external_links_by_host_and_by_domain() -> None:
    urls, dropped = kept(LINKS, rules(ignore_external=True))
    assert (urls, dropped) == (["http://a.org/in"], {"external": 3, "malformed": 1})
    urls, dropped = kept(LINKS, rules(ignore_external=True, by_domain=True))
    assert urls == ["http://a.org/in", "http://www.a.org/near"]


def test_exemptions_are_asked_in_both_modes() -> None:
    def exempts(source: str, target: str) -> bool:
        assert source == PAGE
        return target.endswith(".css")

    for by_domain in (False, True):
        strict = rules(ignore_external=True, by_domain=by_domain)
        assert "http://b.org/exempt.css" in kept(LINKS, strict, exempts)[0]


def test_internal_links_by_host_and_by_domain() -> None:
    urls, dropped = kept(LINKS, rules(ignore_internal=True))
    assert urls == ["http://www.a.org/near", "http://b.org/out", "http://b.org/exempt.css"]
    assert dropped == {"internal": 1, "malformed": 1}
    urls, _ = kept(LINKS, rules(ignore_internal=True, by_domain=True))
    assert urls == ["http://b.org/out", "http://b.org/exempt.css"]


def test_nothing_in_nothing_out() -> None:
    none: list[Outlink] = []
    for urls in ((), (PAGE,), (PAGE, "http://b.org/")):
        pages = [(url, none) for url in urls]
        found = keep_links(pages, rules(), Counters())
        assert len(found.owner) == len(found.urls) == len(found.hosts) == 0


_urls = st.sampled_from(
    [
        *(f"http://{host}.org/{path}" for host in "abc" for path in ("", "x", "y#z", "page")),
        "mailto:x",
        "",
        "http://a.org/" + "l" * 120,
        "HTTP://A.ORG/page",
        "\udfff",
        "file:///x",
    ]
)
_links = st.builds(Outlink, _urls, rel=st.sampled_from(["", "nofollow", "ugc nofollow", "me"]))


@settings(max_examples=scaled(60))
@given(
    st.lists(st.tuples(_urls.filter(lambda url: url.startswith("http:")), st.lists(_links))),
    st.integers(-1, 5),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_many_pages_at_once_are_as_one_after_the_other(
    pages: list[tuple[str, list[Outlink]]],
    limit: int,
    internal: bool,
    external: bool,
    by_domain: bool,
) -> None:
    chosen = rules(
        max_per_page=limit, ignore_internal=internal, ignore_external=external, by_domain=by_domain
    )
    together, apart = Counters(), Counters()
    found = keep_links(pages, chosen, together)
    expected = []
    for number, page in enumerate(pages):
        one = keep_links([page], chosen, apart)
        assert limit < 0 or len(one.owner) <= limit
        expected += [
            (number, position, url)
            for position, url in zip(one.position.tolist(), one.urls.to_pylist(), strict=True)
        ]
    rows = zip(found.owner.tolist(), found.position.tolist(), found.urls.to_pylist(), strict=True)
    assert list(rows) == expected
    assert together == apart
    assert len(found.owner) + sum(together.values()) == sum(len(links) for _, links in pages)


def test_no_page_of_the_web_links_to_files() -> None:
    links = [Outlink("file:///etc/passwd"), Outlink("file://h/x"), Outlink("http://b.org/")]
    for page, there in (("http://a.org/", ["http://b.org/"]), ("file:///a", None)):
        counters = Counters()
        found = keep_links([(page, links)], rules(), counters)
        assert found.urls.to_pylist() == (there or [link.url for link in links])
        assert counters["outlinks_dropped.local_file"] == (2 if there else 0)


def test_files_are_internal_to_files() -> None:
    links = [Outlink("file:///b"), Outlink("http://b.org/"), Outlink("mailto:x")]
    counters = Counters()
    given = rules(ignore_external=True)
    assert keep_links([("file:///a", links)], given, counters).urls.to_pylist() == ["file:///b"]
    assert counters == {"outlinks_dropped.external": 1, "outlinks_dropped.malformed": 1}


def test_lists_of_links_have_no_limit_here() -> None:
    many = [Outlink(f"http://b.org/{number}") for number in range(500)]
    counters = Counters()
    pages = [("http://a.org/1", many), ("http://a.org/2", many), ("http://a.org/3", many)]
    found = keep_links(pages, rules(max_per_page=10), counters, link_lists=[1])
    assert np.bincount(found.owner).tolist() == [10, 500, 10]
    assert counters == {"outlinks_dropped.limit": 980}
    found = keep_links(pages, rules(max_per_page=0), counters, link_lists=[1])
    assert np.bincount(found.owner).tolist() == [0, 500]
