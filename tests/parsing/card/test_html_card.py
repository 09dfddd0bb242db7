"""Which source of each field comes before which."""

from __future__ import annotations

import pytest

from crawl.parsing.card.card import Card, CardFeed, CardIcon, CardImage, CardOEmbed
from crawl.parsing.card.read import read_card
from tests.parsing.card.card_pages import URL, card, json_ld, meta, page_of, parsed

ARTICLE = {
    "@context": "https://schema.org",
    "@type": "NewsArticle",
    "headline": "J",
    "description": "JD",
    "author": [{"@type": "Person", "name": "Ann"}, {"name": "Bob"}],
    "publisher": {"@type": "Organization", "name": "JP"},
    "image": {"@type": "ImageObject", "url": "/j.png", "width": "1200px", "height": 630},
    "datePublished": "2026-01-02T03:04:05Z",
    "dateModified": "2026-01-03",
    "inLanguage": "de-AT",
    "articleBody": "long " * 100,
}
LD = json_ld(ARTICLE)
LARGE = "<img src=/a.png width=400 height=300>"

# each page says less than the one before: what is asked next must be told then
TITLES = (
    (meta(og__title="O"), "O"),
    (meta(twitter__title="W"), "W"),
    (LD, "J"),
    ("<title> T\n t </title>", "T t"),
    ("<h1>H <b>h</b></h1>", "H h"),
)
DESCRIPTIONS = (
    (meta(og__description="O"), "O"),
    (meta(twitter__description="W"), "W"),
    (meta(description="D"), "D"),
    (LD, "JD"),
    ('<meta name="DC.Description" content="C">', "C"),
)
IMAGES = (
    (meta(og__image="/o.png"), "o.png"),
    (meta(twitter__image="/w.png"), "w.png"),
    (LD, "j.png"),
    ('<meta itemprop="image" content="/i.png">', "i.png"),
    ("<link rel=image_src href=/s.png>", "s.png"),
    ("<img src=/first.png width=640 height=480>", "first.png"),
)
TYPES = (
    (meta(og__type="article"), "article"),
    (LD, "NewsArticle"),
    ("<div itemscope itemtype='http://schema.org/Recipe'><b itemprop=name>R</b></div>", "Recipe"),
    (meta(twitter__card="summary"), "summary"),
)
SITES = (
    (meta(og__site_name="O"), "O"),
    (json_ld({"@graph": [{"@type": "WebSite", "name": "S"}, ARTICLE]}), "S"),
    (LD, "JP"),
    ('<meta name="application-name" content="A">', "A"),
)
AUTHORS = (
    (LD, ("Ann", "Bob")),
    (meta(citation_author="C") + meta(citation_author="D"), ("C", "D")),
    (meta(author="Eve"), ("Eve",)),
    (meta(article__author="Fay"), ("Fay",)),
    (meta(twitter__creator="@gil"), ("@gil",)),
)
CANONICALS = (
    ("<link rel=canonical href=/c>", "https://www.example.org/c"),
    (meta(og__url="/o"), "https://www.example.org/o"),
)


@pytest.mark.parametrize(
    ("field", "sources"),
    [
        ("title", TITLES),
        ("description", DESCRIPTIONS),
        ("type", TYPES),
        ("site_name", SITES),
        ("authors", AUTHORS),
        ("canonical", CANONICALS),
    ],
)
def test_the_first_source_counts(field: str, sources: tuple[tuple[str, object], ...]) -> None:
    for number, (_, expected) in enumerate(sources):
        # the best stands last in the page: its place in the order is what counts
        markup = "".join(source for source, _ in reversed(sources[number:]))
        assert getattr(card(markup), field) == expected, (field, number)
    assert not getattr(card("<p>nothing"), field)


def test_the_first_image_counts() -> None:
    for number, (_, name) in enumerate(IMAGES):
        image = card("".join(source for source, _ in reversed(IMAGES[number:]))).image
        assert image is not None and image.url == f"https://www.example.org/{name}", number
    assert card("<p>nothing").image is None


def test_an_image_of_open_graph_with_all_that_is_said_of_it() -> None:
    markup = (
        meta(og__image="http://a.test/1.png", og__image__secure_url="https://a.test/1.png")
        + meta(og__image__width="1200", og__image__height="630px", og__image__alt=" The  sea ")
        + meta(og__image__type="image/png")
        + meta(og__image="http://a.test/2.png", og__image__width="10")
    )
    assert card(markup).image == CardImage(
        "https://a.test/1.png", 1200, 630, "The sea", "image/png"
    )


def test_a_size_belongs_to_the_image_before_it() -> None:
    markup = meta(og__image="/1.png") + meta(og__image="/2.png", og__image__width="10")
    assert card(markup).image == CardImage("https://www.example.org/1.png")


@pytest.mark.parametrize(
    ("written", "width"),
    [
        *(("1200", 1200), ("1200px", 1200), (" 640.5 ", 640), ("100%", None), ("0", None)),
        *(("-5", None), ("9999999", None), ("wide", None), ("١٢", None), ("1e5", None)),
    ],
)
def test_ways_to_state_a_width(written: str, width: int | None) -> None:
    image = card(meta(og__image="/1.png", og__image__width=written)).image
    assert image == CardImage("https://www.example.org/1.png", width)


def test_an_image_of_json_ld_may_stand_elsewhere_in_the_page() -> None:
    graph = [
        {"@type": "Article", "image": {"@id": "#pic"}, "author": {"@id": "#ann"}},
        {
            "@type": "ImageObject",
            "@id": "#pic",
            "contentUrl": "/p.jpg",
            "width": 800,
            "height": 600,
        },
        {"@type": "Person", "@id": "#ann", "name": "Ann"},
    ]
    found = card(json_ld({"@graph": graph}))
    assert found.image == CardImage("https://www.example.org/p.jpg", 800, 600)
    assert found.authors == ("Ann",)


@pytest.mark.parametrize(
    ("markup", "name"),
    [
        ("<img src=/a.png width=100 height=100><img src=/b.png width=400 height=300>", "b.png"),
        ("<img src=/a.png width=1200 height=90><img src=/b.png width=400 height=300>", "b.png"),
        (f"<nav>{LARGE}</nav><img src=/b.png width=400 height=300>", "b.png"),
        (f"{LARGE}<main><img src=/b.png width=400 height=300></main>", "b.png"),
        ("<header><img src=/a.png width=400 height=300></header>", None),
        ("<article><header><img src=/a.png width=400 height=300></header></article>", "a.png"),
        ("<img src='data:image/gif;base64,R0' data-src=/a.png width=400 height=300>", "a.png"),
        ("<img srcset='/a.png 1x, /b.png 2x' width=400 height=300>", "a.png"),
        ("<img src=/blank.gif width=400 height=300>", None),
        ("<img src=/a.png>", None),
    ],
)
def test_the_first_large_picture_of_the_main_content(markup: str, name: str | None) -> None:
    image = card(markup).image
    assert (image and image.url) == (f"https://www.example.org/{name}" if name else None)


def test_placeholders_are_no_images() -> None:
    found = card(meta(og__image="https://s0.wp.test/i/blank.jpg", twitter__image="/w.png"))
    assert found.image == CardImage("https://www.example.org/w.png")
    assert found.left_out == {"image.placeholder": 1}


def test_addresses_are_absolute_by_the_base_of_the_page() -> None:
    links = (
        "<base href=/deep/er/><link rel=canonical href=c><link rel='shortcut icon' href=../i.ico>"
        "<link rel=icon sizes=32x32 type=image/png href=//cdn.test/i.png>"
        "<link rel=alternate type=application/rss+xml title='All  news' href=feed>"
        "<link rel=alternate type='application/atom+xml; charset=utf-8' href=atom>"
        "<link rel=alternate hreflang=de href=de>"
        "<link rel=alternate type=application/json+oembed href='/oembed?a=1&amp;b=2'>"
        "<link rel=alternate type=text/xml+oembed href='/oembed?x'>"
    )
    found = card(links + meta(og__image="p.png"))
    site = "https://www.example.org/"
    assert found.canonical == f"{site}deep/er/c"
    assert found.image == CardImage(f"{site}deep/er/p.png")
    assert found.icons == (
        CardIcon(f"{site}deep/i.ico", "icon"),
        CardIcon("https://cdn.test/i.png", "icon", "32x32", "image/png"),
    )
    assert found.feeds == (
        CardFeed(f"{site}deep/er/feed", "All news", "application/rss+xml"),
        CardFeed(f"{site}deep/er/atom", "", "application/atom+xml"),
    )
    assert found.oembed == (
        CardOEmbed(f"{site}oembed?a=1&b=2", "json"),
        CardOEmbed(f"{site}oembed?x", "xml"),
    )
    assert found.open_graph == {"og:image": (f"{site}deep/er/p.png",)}


def test_vocabularies_are_kept_by_name_with_all_values() -> None:
    markup = (
        meta(og__title="T", og__image="/1.png")
        + meta(og__image="/2.png", article__tag="a")
        + meta(article__tag="b", twitter__card="summary", twitter__site="@x", fb__app="1")
    )
    found = card(markup)
    assert found.open_graph == {
        "og:title": ("T",),
        "og:image": ("https://www.example.org/1.png", "https://www.example.org/2.png"),
        "article:tag": ("a", "b"),
    }
    assert found.twitter == {"twitter:card": ("summary",), "twitter:site": ("@x",)}


def test_what_json_ld_says_of_the_page() -> None:
    product = {
        "@type": ["Product"],
        "name": "Chair &amp; <b>table</b>",
        "offers": {"@type": "Offer", "price": 12.5, "priceCurrency": "EUR", "url": "/buy"},
        "review": [{"reviewBody": "Good"}],
        "sku": 7,
    }
    organization = {"@type": "Organization", "name": "Us", "description": "We sell"}
    found = card(json_ld([organization, product]))
    assert found.json_ld_types == ("Organization", "Product")
    assert found.json_ld == {
        "name": ("Chair & table",),
        "offers.price": ("12.5",),
        "offers.priceCurrency": ("EUR",),
        "offers.url": ("https://www.example.org/buy",),
        "sku": ("7",),
    }
    assert found.title == "Chair & table" and not found.description


def test_a_list_of_articles_is_about_none_of_them_unless_it_names_the_page() -> None:
    others = [
        {"@type": "Article", "headline": "One", "url": "https://www.example.org/1"},
        {"@type": "Article", "headline": "Two", "mainEntityOfPage": {"@id": "/2"}},
    ]
    assert card(json_ld(others) + "<title>All</title>").title == "All"
    named = [*others, {"@type": "Article", "headline": "This", "url": f"{URL}#top"}]
    assert card(json_ld(named) + "<title>All</title>").title == "This"


def test_dates_are_written_one_way() -> None:
    found = card(LD)
    assert (found.published, found.modified) == ("2026-01-02T03:04:05+00:00", "2026-01-03")
    found = card("<time class='published' datetime='January 2, 2026'>", url="http://a.test/x")
    assert (found.published, found.modified) == ("2026-01-02", "")
    assert card("", url="http://a.test/2026/01/02/x").published == "2026-01-02"
    assert card(meta(article__published_time="2999-01-01")).published == ""


def test_language_and_charset() -> None:
    assert card("<html lang=pt-BR>" + LD).language == "pt"
    assert card(meta(og__locale="it_IT") + LD).language == "it"
    assert card(LD).language == "de"
    found = card("<title>Gr\u00fc\u00dfe</title>".encode("cp1252"), charset="windows-1252")
    assert (found.title, found.charset, found.mime_type) == (
        "Grüße",
        "windows-1252",
        "text/html",
    )


def test_tags_that_are_escaped_twice_are_read_twice() -> None:
    found = card(
        meta(og__title="Tom &amp;amp; Ann&amp;#8217;s", description="&amp;quot;x&amp;quot;")
    )
    assert (found.title, found.description) == ("Tom & Ann’s", '"x"')
    assert card("<title>What &amp;amp; means</title>").title == "What &amp; means"


def test_addresses_of_profiles_are_no_names() -> None:
    assert card(meta(article__author="https://social.test/ann", author="admin")).authors == ()


def test_a_page_that_has_no_tree_has_a_card_all_the_same() -> None:
    page = page_of(
        f"<title>T</title>{meta(og__description='D')}{LD}<link rel=icon href=/i>"
        "<time pubdate>January 4, 2026</time><h1>H</h1>" + "<div>" * 30_000
    )
    assert page.tree is None
    found = read_card(page, parsed(page))
    assert (found.title, found.description, len(found.icons)) == ("J", "D", 1)
    without = page_of(
        "<base href=/b/><h1>H <i>h</i></h1><main><img src=a.png width=300 height=300></main>"
        "<time pubdate>January 4, 2026</time>" + "<div>" * 30_000
    )
    found = read_card(without, parsed(without))
    assert (found.title, found.published) == ("H h", "2026-01-04")
    assert found.image == CardImage("https://www.example.org/b/a.png", 300, 300)


def test_an_empty_page_has_an_empty_card() -> None:
    assert card("") == Card(charset="utf-8", mime_type="text/html")
