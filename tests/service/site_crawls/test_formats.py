from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.service.intake.admission import Admission
from crawl.service.intake.intake import Submitted
from crawl.service.telling import views
from crawl.service.values import JobState, Page, Wish
from tests.service.site_crawls.site import HTML, Site, crawled_site, png

pytestmark = pytest.mark.slow(seconds=25)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with crawled_site(tmp_path, service__markdown__size=2000) as crawled:
        yield crawled


def known(site: Site, path: str) -> Page:
    (resolved,) = site.service.pages.resolve([site.url(path)])
    assert resolved is not None
    return resolved.page


def submitted(site: Site, path: str, **wish: object) -> Submitted:
    return site.service.intake.submit([Wish(url=site.url(path), **wish)])[0]  # type: ignore[arg-type]


def test_markdown_is_made_where_it_is_asked_for_and_kept(site: Site) -> None:
    site.page("/a", body="<h2>Part</h2><ul><li>one</li><li>two</li></ul><p>1. is <b>bold</b></p>")
    plain = site.fetch(site.url("/a"))
    assert plain.page is not None and plain.page.markdown is None
    assert "markdown" not in views.finished_view(plain)["page"]
    # what is known lacks it, so that it is fetched anew
    made = site.fetch(site.url("/a"), formats=("markdown",))
    assert site.asked() == {"/a": 2}
    text = views.finished_view(made)["page"]["markdown"]
    assert text.startswith("# /a\n\nSome words") and "## Part\n\n- one\n- two" in text
    assert "Menu" not in text and "**bold**" in text
    # and from then on it answers
    again = submitted(site, "/a", formats=("markdown",))
    assert again.state is JobState.ANSWERED
    assert views.submitted_view(again)["page"]["markdown"] == text
    assert "markdown" not in views.page_view(known(site, "/a"), "")
    assert views.page_view(known(site, "/a"), "", markdown=True)["markdown"] == text


def test_markdown_is_bounded_and_free_of_controls(site: Site) -> None:
    site.page("/long", body="".join(f"<p>Zeile {n} größer \x1b[2J&#8;</p>" for n in range(900)))
    page = site.fetch(site.url("/long"), formats=("markdown",)).page
    assert page is not None and page.markdown is not None
    assert 1900 < len(page.markdown.encode()) <= 2000
    assert page.markdown.endswith("]") or "Zeile" in page.markdown.splitlines()[-1]
    assert "\x1b" not in page.markdown and "\x08" not in page.markdown


def test_a_page_that_forbids_to_be_indexed_and_one_that_fails_have_none(site: Site) -> None:
    site.page("/closed", head='<meta name="robots" content="noindex">')
    closed = site.fetch(site.url("/closed"), formats=("markdown",))
    assert closed.page is not None and closed.page.markdown == ""
    assert submitted(site, "/closed", formats=("markdown",)).state is JobState.ANSWERED
    gone = site.fetch(site.url("/gone"), formats=("markdown",))
    assert gone.page is not None and gone.page.markdown is None
    assert submitted(site, "/gone", formats=("markdown",)).state is JobState.ANSWERED


def test_the_pages_of_a_crawl_have_it_where_it_was_begun_so(site: Site) -> None:
    site.page("/", "/a")
    site.page("/a")
    found = site.pages(site.crawl(formats=("metadata", "markdown")))
    for path, each in found.items():
        assert views.finished_view(each)["page"]["markdown"].startswith(f"# {path}\n\nSome words")
    assert site.service.counters["refused.filtered"] == 0


def test_the_image_of_a_page_is_fetched_for_its_size_and_type(site: Site) -> None:
    address = site.url("/i/cover.png?v=2", "images.test")
    site.page("/a", head=f'<meta property="og:image" content="{address}">')
    site.server.page("/i/cover.png?v=2", png(640, 480), "Content-Type: application/octet-stream")
    without = site.fetch(site.url("/a"))
    assert without.page is not None and without.page.image is None
    made = site.fetch(site.url("/a"), image=True)
    image = views.finished_view(made)["page"]["image"]
    assert image["url"] == address
    fetched = image["fetched"]
    assert (fetched["type"], fetched["width"], fetched["height"]) == ("image/png", 640, 480)
    assert fetched["bytes"] == len(png(640, 480)) and fetched["status"] == "fetch_success"
    assert made.url == site.url("/a") and not made.hops and made.state is JobState.FINISHED
    assert made.page is not None and known(site, "/a").image == made.page.image
    # it is known by now: neither this page nor another one asks for it again
    assert submitted(site, "/a", image=True).state is JobState.ANSWERED
    site.page("/b", head=f'<meta property="og:image" content="{address}">')
    other = site.fetch(site.url("/b"), image=True)
    assert other.page is not None and other.page.image is not None and other.page.image.width == 640
    assert site.asked()["/i/cover.png?v=2"] == 1


def test_an_image_that_fails_is_told_with_its_reason(site: Site) -> None:
    def with_image(path: str, address: str) -> dict[str, object]:
        site.page(path, head=f'<meta property="og:image" content="{address}">')
        finished = site.fetch(site.url(path), image=True)
        assert finished.page is not None and finished.page.is_page
        view: dict[str, object] = views.finished_view(finished)["page"]["image"]["fetched"]
        return view

    assert with_image("/1", site.url("/none.png"))["status"] == "fetch_gone"
    site.server.page("/text.png", b"<html>no image", HTML)
    assert with_image("/2", site.url("/text.png"))["reason"] == "no_image"
    site.server.page("/robots.txt", b"User-agent: *\nDisallow: /closed/\n")
    denied = with_image("/3", site.url("/closed/x.png", "other.test"))
    assert denied["status"] == "fetch_gone" and "/closed/x.png" not in site.asked()
    site.server.page("/r.png", b"", "Location: /r2.png", code=302)
    site.server.page("/r2.png", b"", "Location: /r.png", code=302)
    assert with_image("/4", site.url("/r.png"))["reason"] in ("redirect.too_many", "redirect.loop")


def test_an_image_behind_a_redirect_is_found(site: Site) -> None:
    site.page("/a", head='<meta property="og:image" content="/old.png">')
    site.server.page("/old.png", b"", "Location: /new.png", code=301)
    site.server.page("/new.png", png(30, 20), "Content-Type: image/png")
    page = site.fetch(site.url("/a"), image=True).page
    assert page is not None and page.image is not None
    assert (page.image.url, page.image.width) == (site.url("/old.png"), 30)


def test_filters_of_hosts_and_folders_hold_for_images(tmp_path: Path) -> None:
    config = Config.of(
        {"urlfilter.order": ["regex"], "urlfilter.regex.file": "rules.txt"},
        {"rules.txt": "-^http://closed[.]test/\n-/ads/\n-[.]png$\n-[?]\n+.\n"},
    )
    admission = Admission.of(config, Counters())

    def refusal(url: str) -> str:
        return admission.check_image(url).refusal

    assert admission.check("http://a.test/x.png").refusal == "filtered.regex"
    assert not refusal("http://a.test/x.png") and not refusal("http://a.test/i/x.png?w=2")
    assert refusal("http://closed.test/x.png") == "filtered.regex"
    assert refusal("http://a.test/ads/x.png") == "filtered.regex"
    assert refusal("http://127.0.0.1/x.png") == "address"
    assert refusal("file:///etc/x.png") == "scheme"


def test_the_service_may_fetch_images_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    with crawled_site(tmp_path, service__related__images=True) as site:
        site.page("/a", head='<meta property="og:image" content="/i.png">')
        site.server.page("/i.png", png(3, 2), "Content-Type: image/png")
        page = site.fetch(site.url("/a")).page
        assert page is not None and page.image is not None and page.image.height == 2
        site.page("/b", head='<meta property="og:image" content="/j.png">')
        page = site.fetch(site.url("/b"), image=False).page
        assert page is not None and page.is_page and page.image is None
        assert "/j.png" not in site.asked()
