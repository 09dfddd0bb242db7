from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from crawl.errors import UsageError
from crawl.synthetic.web import PageKind, RobotsKind, Settings, SitemapStyle, Web
from tests.synthetic.web.sitemap_truth import sitemap_urls

WEB = Web(Settings(sites=28, pages=2800, port=8080))
BY_KIND: dict[PageKind, list[str]] = {kind: [] for kind in PageKind}
for _url in WEB.urls():
    _kind = WEB.expected(_url).kind
    assert _kind is not None
    BY_KIND[_kind].append(_url)

FINGERPRINT = """
import hashlib
from crawl.synthetic.web import Settings, Web
web = Web(Settings(sites=14, pages=300, seed=5, port=8080))
sums = hashlib.sha256()
for url in [*web.urls(), *(seed + "robots.txt" for seed in web.seeds())]:
    page = web.expected(url, 4000)
    sums.update(repr((url, page.code, page.digest, page.links, page.etag, page.target)).encode())
    sums.update(repr((web.allowed(url, "bot"), web.address(url.split("/")[2]))).encode())
print(sums.hexdigest())
"""


def fingerprint(hash_seed: str, script: str = FINGERPRINT) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout.strip()


def test_equal_seeds_are_equal_webs_in_every_process() -> None:
    assert fingerprint("1") == fingerprint("2")
    assert fingerprint("1") != fingerprint("1", FINGERPRINT.replace("seed=5", "seed=6"))


def test_there_is_every_kind() -> None:
    assert {kind for kind, urls in BY_KIND.items() if not urls} == {PageKind.TOUR}


def test_redirects_have_every_code_and_lead_to_pages() -> None:
    moved = [WEB.expected(url) for url in BY_KIND[PageKind.MOVED] + BY_KIND[PageKind.AWAY]]
    assert {page.code for page in moved} == {301, 302, 303, 307, 308}
    assert all(WEB.expected(page.target).code == 200 for page in moved)
    assert {page.location.startswith("http") for page in moved} == {True, False}
    hosts = {
        url.split("/")[2] == WEB.expected(url).target.split("/")[2]
        for url in BY_KIND[PageKind.AWAY]
    }
    assert False in hosts


def test_a_chain_ends_and_a_loop_does_not() -> None:
    def follow(url: str) -> list[str]:
        seen: list[str] = []
        while url and url not in seen:
            seen.append(url)
            url = WEB.expected(url).target
        return [*seen, url]

    for start in BY_KIND[PageKind.CHAIN]:
        hops = follow(start)
        assert len(hops) == 5
        assert hops[-1] == ""
        assert WEB.expected(hops[-2]).code == 200
    for start in BY_KIND[PageKind.LOOP]:
        assert follow(start) == [start, f"{start}/1", start]


def test_a_tour_leads_over_all_sites_to_a_page() -> None:
    web = Web(Settings.plain(4, 40, odd=1.0, kinds=(PageKind.TOUR,)))
    url = "http://site0.test/tour/p9"
    hosts = []
    while target := web.expected(url).target:
        hosts.append(url.split("/")[2])
        url = target
    assert hosts == [f"site{n}.test" for n in range(4)]
    assert web.expected(url).code == 200


def test_errors_have_every_code_and_ask_for_patience() -> None:
    errors = [WEB.expected(url) for url in BY_KIND[PageKind.ERROR]]
    assert {page.code for page in errors} == {404, 410, 403, 500, 503, 429}
    assert all((page.retry_after == 1) == (page.code in (503, 429)) for page in errors)


def test_duplicates_are_exact_and_near_ones_nearly() -> None:
    bodies = Counter(WEB.expected(url).digest for url in BY_KIND[PageKind.PAGE])
    for url in BY_KIND[PageKind.DUPLICATE]:
        assert bodies[WEB.expected(url).digest] >= 1
    originals = {WEB.expected(url).title: WEB.expected(url).body for url in BY_KIND[PageKind.PAGE]}
    for url in BY_KIND[PageKind.NEAR]:
        near = WEB.expected(url)
        original = originals[near.title.partition(", again as")[0]]
        assert near.body != original
        assert near.charset is not None
        mark = near.title[near.title.index(", again") :].encode(near.charset.codec)
        # the mark makes it longer, and at most one paragraph less of text fits
        assert near.body.replace(mark, b"")[: len(original) // 2] == original[: len(original) // 2]


def test_pages_are_in_their_charsets_and_have_their_links() -> None:
    seen = set()
    for url in BY_KIND[PageKind.PAGE]:
        page = WEB.expected(url)
        assert page.charset is not None
        seen.add((page.charset.codec, page.charset.in_header, page.charset.in_meta))
        text = page.body.decode(page.charset.codec)
        assert f"<title>{page.title}</title>" in text
        assert text.count("<a href=") == len(page.links)
        assert ("charset=" in page.content_type) == page.charset.in_header
        assert ("<meta charset=" in text) == page.charset.in_meta
        assert all(
            f'href="{link}"' in text or link.split(":8080")[1] in text for link in page.links
        )
        assert 14_000 < len(page.body) < 52_000
    assert len(seen) == 9


def test_what_changes_changes_with_time_and_so_do_its_validators() -> None:
    for url in BY_KIND[PageKind.CHANGING]:
        first, same, later = (WEB.expected(url, time) for time in (0, 30, 700_000))
        assert first == same
        assert first.body != later.body
        assert (first.etag != later.etag) == bool(first.etag)
        assert (first.modified < later.modified) == bool(first.modified)


def test_what_is_flaky_gets_well() -> None:
    for url in BY_KIND[PageKind.FLAKY]:
        assert (WEB.expected(url, 3599).code, WEB.expected(url, 3600).code) == (503, 200)


def test_slow_pages_and_slow_sites() -> None:
    assert {WEB.expected(url).latency for url in BY_KIND[PageKind.SLOW]} == {0.5}
    far = Web(Settings(sites=10, pages=100, latency=2.0))
    waits = {far.expected(url).latency for url in far.seeds()}
    assert len(waits) == 10
    assert min(waits) >= 1.0
    assert max(waits) <= 3.0


def test_validators_of_every_sort() -> None:
    pages = [WEB.expected(url) for url in BY_KIND[PageKind.PAGE]]
    assert {(bool(page.etag), bool(page.modified)) for page in pages} == {
        *((False, False), (False, True), (True, False), (True, True))
    }
    assert {page.encoding for page in pages} == {"", "gzip", "deflate", "br", "zstd"}


def test_hosts_share_a_few_addresses() -> None:
    addresses = {WEB.address(host) for host in WEB.hosts()}
    assert 5 < len(addresses) <= 20
    assert len(addresses) < len(WEB.hosts())
    assert all(address.startswith("127.0.0.") for address in addresses)


def test_sitemaps_name_the_pages_and_large_ones_have_an_index() -> None:
    web = Web(Settings(sites=1, pages=2500, sitemaps=(SitemapStyle.PLAIN,)))
    listed = sitemap_urls(web, "site0.test")
    assert "http://site0.test/" in listed
    index = web.expected("http://site0.test/sitemap.xml").body.decode()
    assert index.count("<sitemap>") == 3
    parts = [web.expected(f"http://site0.test/sitemap-{n}.xml") for n in (1, 2, 3, 4)]
    assert [part.code for part in parts] == [200, 200, 200, 404]
    assert sum(part.body.count(b"<loc>") for part in parts) == len(listed)
    small = WEB.expected(WEB.seeds()[0] + "sitemap.xml")
    assert small.body.decode().count("<url>") == len(sitemap_urls(WEB, "site0.test"))


@pytest.mark.parametrize("style", SitemapStyle)
def test_every_style_of_sitemap_names_all_pages_that_are_listed(style: SitemapStyle) -> None:
    """As a reader finds them that is not ours to test with it."""
    web = Web(Settings(sites=1, pages=90, sitemaps=(style,)))
    waiting, seen, found = ["http://site0.test/sitemap.xml"], set[str](), set[str]()
    while waiting:
        url = waiting.pop()
        seen.add(url)
        answer = web.expected(url)
        waiting += [answer.target] if answer.target else []
        text = (gzip.decompress(answer.body) if url.endswith(".gz") else answer.body).decode()
        links = set(re.findall(r"http://site0\.test/[^<>\"\s]*", text))
        below = {link for link in links if re.search(r"\.xml(\.gz)?$", link)}
        waiting += below - seen
        found |= {link for link in links - below if not link.endswith((".png", ".mp4"))}
    assert found == set(sitemap_urls(web, "site0.test"))
    assert bool(found) == (style is not SitemapStyle.MISSING)


def test_what_is_not_of_the_web_is_a_fault() -> None:
    for url in ("http://example.test:8080/", "https://site1.test:8080/", "http://site1.test/"):
        with pytest.raises(UsageError):
            WEB.expected(url)


def test_robots_kinds_are_dealt_out_in_turn() -> None:
    assert [WEB.robots(host) for host in WEB.hosts()] == list(RobotsKind) * 2


def test_a_web_that_is_not_served_yet_has_urls_without_a_port() -> None:
    web = Web(Settings(sites=2, pages=20))
    assert web.seeds() == ["http://site0.test/", "http://site1.test/"]
    assert web.expected(web.seeds()[1]).code == 200
    assert web.at_port(8080).seeds()[1] == "http://site1.test:8080/"
