"""Which of the things that a page describes by JSON-LD the page is about, and what is said of it.

Things are ranked by their type: articles, then what else pages are made for, then unknown types,
then the page itself; the site, its owner and its breadcrumbs are never what a page is about. Of
several of the best rank it is the one that names the page's own address. Where none does, the page
is a list of things and is about none of them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crawl.html.tokens import names_in

_MAX_THINGS = 200
_MAX_LISTED = 20
"""Of the values of one property."""

_ARTICLES = names_in(
    "AdvertiserContentArticle AnalysisNewsArticle Article AskPublicNewsArticle",
    "BackgroundNewsArticle BlogPosting DiscussionForumPosting LiveBlogPosting",
    "MedicalScholarlyArticle NewsArticle OpinionNewsArticle Report ReportageNewsArticle",
    "ReviewNewsArticle SatiricalArticle ScholarlyArticle SocialMediaPosting TechArticle",
)
_THINGS = names_in(
    "APIReference Book Course CreativeWorkSeries Dataset Episode Event FAQPage Game HowTo",
    "JobPosting LearningResource MedicalWebPage MobileApplication Movie MusicAlbum MusicEvent",
    "MusicRecording Photograph Play PodcastEpisode PodcastSeries Product ProductGroup QAPage",
    "Question Quiz Recipe SoftwareApplication SoftwareSourceCode SportsEvent Thesis TVEpisode",
    "TVSeries VideoGame VideoObject VisualArtwork WebApplication",
)
_PAGES = names_in(
    "AboutPage CheckoutPage CollectionPage ContactPage ItemPage ProfilePage SearchResultsPage",
    "RealEstateListing WebPage",
)
_NEVER = names_in(
    "AggregateOffer AggregateRating Answer AudioObject Brand BreadcrumbList Comment ContactPoint",
    "Corporation EducationalOrganization EntryPoint Offer GeoCoordinates ImageGallery",
    "ImageObject ItemList ListItem MediaObject NGO NewsMediaOrganization OpeningHoursSpecification",
    "Organization Person PostalAddress Rating Review SearchAction SiteNavigationElement",
    "SpeakableSpecification WPFooter WPHeader WPSideBar WebPageElement WebSite",
)
_NOT_SELECTED = names_in(
    "articleBody comment commentText hasPart isPartOf mainEntity mainEntityOfPage potentialAction",
    "review reviewBody text transcript",
)
"""Properties whose values are the page itself, what it is a part of, or what others say."""
_ADDRESS_PROPERTIES = names_in("url image thumbnailUrl contentUrl embedUrl logo sameAs")
ADDRESS_PROPERTIES = frozenset(
    (*_ADDRESS_PROPERTIES, *(f"{outer}.url" for outer in ("offers", "publisher", "author")))
)
"""Properties whose values are addresses."""
_INNER = names_in("offers aggregateRating publisher brand location duration nutrition")
_MARKUP = re.compile(r"<[^<>]{1,500}>")

Thing = Mapping[str, Any]


class MainThing:
    """What JSON-LD says of a page."""

    def __init__(self, items: Sequence[Thing], own_addresses: frozenset[str]) -> None:
        self._things = _flattened(items)
        self._by_id = {
            identifier: each
            for each in reversed(self._things)
            if isinstance(identifier := each.get("@id"), str) and len(each) > 1
        }
        self.thing: Thing = self._chosen(own_addresses)

    def _chosen(self, own: frozenset[str]) -> Thing:
        ranked: dict[int, list[Thing]] = {}
        for thing in self._things:
            rank = _rank(thing)
            if rank is not None:
                ranked.setdefault(rank, []).append(thing)
        if not ranked:
            return {}
        best = ranked[min(ranked)]
        if len(best) == 1:
            return best[0]
        for thing in best:
            if not own.isdisjoint(_addresses(thing)):
                return thing
        names = {_name(thing) for thing in best}
        return best[0] if len(names) == 1 else {}

    @property
    def type(self) -> str:
        return next(_types(self.thing), "")

    @property
    def types(self) -> Iterator[str]:
        """Of all things, without the address of their vocabulary."""
        return (kind for thing in self._things for kind in _types(thing))

    def texts(self, *names: str) -> Iterator[str]:
        """What is said of the page's thing by these properties, the first of them first."""
        for name in names:
            yield from self._texts(self.thing.get(name))

    def site_names(self) -> Iterator[str]:
        """The name of the site, then that of the publisher."""
        for thing in self._things:
            if "WebSite" in _types(thing):
                yield from self._texts(thing.get("name"))
        yield from self.texts("publisher")

    def values(self, name: str) -> Iterator[str | Thing]:
        """The values of a property of the page's thing: texts, and things, which may stand
        elsewhere in the page."""
        for value in _as_list(self.thing.get(name)):
            if isinstance(value, dict):
                yield self._found(value)
            elif isinstance(value, str):
                yield value

    def selection(self) -> Iterator[tuple[str, str]]:
        """Properties and texts of the page's thing, without those that are long."""
        for name, value in self.thing.items():
            if (
                not isinstance(name, str)
                or name in _NOT_SELECTED
                or name.startswith("@")
                or len(name) > 60
            ):
                continue
            if name in _INNER:
                for inner in _as_list(value)[:1]:
                    if isinstance(inner, dict):
                        for key, each in self._found(inner).items():
                            if isinstance(each, str | int | float) and not key.startswith("@"):
                                yield f"{name}.{key[:60]}", _text(each)
                        continue
                    yield from ((name, text) for text in self._texts(inner))
                continue
            for text in self._texts(value, addresses=name in ADDRESS_PROPERTIES):
                yield name, text

    def _found(self, value: Thing) -> Thing:
        """The thing that is meant where only its id is given."""
        identifier = value.get("@id")
        if isinstance(identifier, str) and not ({"name", "url"} & value.keys()):
            return self._by_id.get(identifier, value)
        return value

    def _texts(self, value: object, *, addresses: bool = False) -> Iterator[str]:
        for each in _as_list(value):
            if isinstance(each, dict):
                keys = ("url", "contentUrl", "@id") if addresses else ("name", "@value", "headline")
                found = self._found(each)
                each = next((found[key] for key in keys if isinstance(found.get(key), str)), None)
            if isinstance(each, str | int | float) and (text := _text(each)):
                yield text


def _flattened(items: Sequence[Thing]) -> list[Thing]:
    """The things of a page, those of a graph and those that a page is mainly about among them."""
    things: list[Thing] = list(items[:_MAX_THINGS])
    for thing in things:  # grows
        for key in ("@graph", "mainEntity"):
            inner = [each for each in _as_list(thing.get(key)) if isinstance(each, dict)]
            things.extend(inner[: max(0, _MAX_THINGS - len(things))])
    return things


def _as_list(value: object) -> Sequence[Any]:
    if isinstance(value, list):
        return value[:_MAX_THINGS]
    return () if value is None else (value,)


def _text(value: str | int | float) -> str:
    """A text of JSON-LD without the markup that writers forget there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)[:4_000] if isinstance(value, str | float) or abs(value) < 1 << 64 else ""
    if "&" in text:
        text = html.unescape(text)
    if "<" in text:
        text = _MARKUP.sub(" ", text)
    return text.strip()


def _types(thing: Thing) -> Iterator[str]:
    for kind in _as_list(thing.get("@type"))[:_MAX_LISTED]:
        if isinstance(kind, str):
            short = kind[:300].strip().rstrip("/").rpartition("/")[2].rpartition(":")[2]
            if short.isascii() and short.isidentifier():
                yield short


def may_be_subject(kind: str) -> bool:
    """Whether a page may be about a thing of that type."""
    return _RANKS.get(kind, _UNKNOWN) is not None


def _rank(thing: Thing) -> int | None:
    ranks = [rank for kind in _types(thing) if (rank := _RANKS.get(kind, _UNKNOWN)) is not None]
    return min(ranks, default=None)


_UNKNOWN = 2
_RANKS: dict[str, int | None] = {
    **dict.fromkeys(_ARTICLES, 0),
    **dict.fromkeys(_THINGS, 1),
    **dict.fromkeys(_PAGES, 3),
    **dict.fromkeys(_NEVER, None),
}


def _addresses(thing: Thing) -> Iterator[str]:
    for name in ("url", "@id", "mainEntityOfPage"):
        value = thing.get(name)
        if isinstance(value, dict):
            value = value.get("@id", value.get("url"))
        if isinstance(value, str):
            yield without_fragment(value)


def _name(thing: Thing) -> str:
    name = thing.get("headline", thing.get("name"))
    return name if isinstance(name, str) else ""


def without_fragment(url: str) -> str:
    """An address by which two spellings of one page are compared."""
    return url.strip().partition("#")[0].rstrip("/")
