"""The representative image of an HTML page; the order of its sources is told in `html_card.py`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from crawl.html.tokens import Attributes
from crawl.parsing.card.bounds import Addresses, LeftOut, line, pixels
from crawl.parsing.card.card import MAX_NAME, MAX_TITLE, CardImage
from crawl.parsing.card.elements import PageElements
from crawl.parsing.card.main_thing import MainThing
from crawl.parsing.card.meta_tags import MetaTags
from crawl.parsing.html.links import may_lead_elsewhere, rel_of, srcset

_FIELD = "image"
_LEAST_WIDTH = 200
_LEAST_HEIGHT = 120
_WIDEST = 4.0
"""Width by height: what is wider is a banner."""
_MAX_CANDIDATES = 10
_PLACEHOLDER = re.compile(
    r"[/_-](?:1x1|blank|pixel|placeholder|spacer|transparent)\.(?:gif|jpe?g|png|svg|webp)(?:[?#]|\Z)",
    re.I,
)
_LAZY = ("src", "data-src", "data-original", "data-lazy-src", "data-srcset", "srcset")
"""Where the address of an image is that is loaded when it is seen; `src` is a placeholder then."""


@dataclass(slots=True)
class _Stated:
    """An image while its properties are read."""

    url: str = ""
    secure_url: str = ""
    width: str = ""
    height: str = ""
    alt: str = ""
    type: str = ""


def image_of(
    metas: MetaTags,
    main: MainThing,
    elements: PageElements,
    addresses: Addresses,
    left_out: LeftOut,
) -> CardImage | None:
    """The first image that has a web address and is no placeholder."""
    for stated in _candidates(metas, main, elements):
        url = addresses(stated.secure_url, _FIELD) or addresses(stated.url, _FIELD)
        if url and (_PLACEHOLDER.search(url) or stated.width.strip() in ("1", "2")):
            left_out.count("image.placeholder")
        elif url:
            kind = stated.type.strip().lower()
            return CardImage(
                url,
                pixels(stated.width),
                pixels(stated.height),
                line(stated.alt, MAX_TITLE),
                line(kind, MAX_NAME) if kind.startswith("image/") else "",
            )
    return _picture(elements, addresses)


def _candidates(metas: MetaTags, main: MainThing, elements: PageElements) -> Iterator[_Stated]:
    yield from _open_graph(metas)
    yield from _twitter(metas)
    yield from _json_ld(main)
    for content in metas.first("image", "thumbnailurl"):
        yield _Stated(content)
    for attributes in elements.links:
        if "image_src" in rel_of(attributes).split():
            yield _Stated(attributes.get("href") or "")
            break


def _open_graph(metas: MetaTags) -> Iterator[_Stated]:
    """Properties belong to the image before them; those that stand before all, to the first."""
    images = [_Stated()]
    for name, content in metas.pairs(("og:image",)):
        current = images[-1]
        if name in ("og:image", "og:image:url"):
            if current.url and current.url != content:
                if len(images) >= _MAX_CANDIDATES:
                    break
                current = _Stated()
                images.append(current)
            current.url = content
        else:
            _describe(current, name.removeprefix("og:image:"), content)
    return (each for each in images if each.url or each.secure_url)


def _twitter(metas: MetaTags) -> Iterator[_Stated]:
    image = _Stated()
    for name, content in metas.pairs(("twitter:image",)):
        if name in ("twitter:image", "twitter:image:src"):
            image.url = image.url or content
        else:
            _describe(image, name.removeprefix("twitter:image:"), content)
    return iter((image,) if image.url else ())


def _describe(image: _Stated, name: str, content: str) -> None:
    if name in ("secure_url", "width", "height", "alt", "type") and not getattr(image, name):
        setattr(image, name, content)


def _json_ld(main: MainThing) -> Iterator[_Stated]:
    for name in ("image", "primaryImageOfPage", "thumbnail", "thumbnailUrl"):
        for number, value in enumerate(main.values(name)):
            if number >= _MAX_CANDIDATES:
                break
            if isinstance(value, str):
                yield _Stated(value)
                continue
            url = next(
                (
                    each
                    for key in ("url", "contentUrl", "@id")
                    if isinstance(each := value.get(key), str)
                ),
                "",
            )
            width, height = pixels(value.get("width")), pixels(value.get("height"))
            alt = value.get("caption")
            yield _Stated(
                url,
                width=str(width or ""),
                height=str(height or ""),
                alt=alt if isinstance(alt, str) else "",
            )


def _picture(elements: PageElements, addresses: Addresses) -> CardImage | None:
    """The first large picture of the main content, by the size that its element states; where no
    element is marked as the main content, the first that is not around it."""
    other: CardImage | None = None
    for attributes, is_main in elements.pictures():
        if other is not None and not is_main:
            continue
        width, height = pixels(attributes.get("width")), pixels(attributes.get("height"))
        if (
            width is None
            or height is None
            or width < _LEAST_WIDTH
            or height < _LEAST_HEIGHT
            or width > _WIDEST * height
        ):
            continue
        url = next((url for each in _sources(attributes) if (url := addresses(each, _FIELD))), "")
        if url and not _PLACEHOLDER.search(url):
            image = CardImage(url, width, height, line(attributes.get("alt"), MAX_TITLE))
            if is_main:
                return image
            other = image
    return other


def _sources(attributes: Attributes) -> Iterator[str]:
    """The addresses of an image, without placeholders that are in the page itself."""
    for name in _LAZY:
        value = attributes.get(name)
        if value and name.endswith("srcset"):
            yield from list(filter(may_lead_elsewhere, srcset(value)))[:1]
        elif value and may_lead_elsewhere(value):
            yield value
