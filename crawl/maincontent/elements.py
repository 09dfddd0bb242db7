"""Which elements of HTML mean what for the outline of a page."""

from __future__ import annotations

from functools import lru_cache

from crawl.html.tokens import Attributes, names_in
from crawl.maincontent.blocks import BOLD, CODE, ITALIC, STRIKE

HIDDEN = names_in(
    "annotation annotation-xml audio button canvas datalist desc head iframe noembed noframes",
    "noscript object optgroup option rp rt script select style svg template textarea title video",
)
"""Elements whose text is no part of what people read."""
PICTURES = frozenset(("canvas", "iframe", "img", "noscript", "object", "svg", "video"))
"""What a caption may be of; `noscript` has the picture that a script is to load."""
CONTAINERS = names_in(
    "article aside body center details dialog div dl fieldset figcaption figure footer form header",
    "main menu nav ol search section table td th ul",
)
LISTS = frozenset(("ul", "ol", "menu"))
ENCLOSURES = LISTS | {"li", "blockquote"}
"""Elements that Markdown shows before every line of what is in them."""
BREAKS = names_in(
    "address caption dd dt hgroup html legend li option p summary tbody tfoot thead tr"
)
HEADINGS = {f"h{level}": level for level in range(1, 7)}
INLINE = {
    **dict.fromkeys(("b", "strong"), BOLD),
    **dict.fromkeys(("i", "em"), ITALIC),
    **dict.fromkeys(("code", "tt"), CODE),
    **dict.fromkeys(("del", "s", "strike"), STRIKE),
}
PHRASES = frozenset((*INLINE, "a", "sub", "sup"))
BLOCKS = CONTAINERS | BREAKS | frozenset((*HEADINGS, "pre", "blockquote"))


def is_hidden(attributes: Attributes) -> bool:
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return True
    style = attributes.get("style")
    return bool(style) and _hides(style or "")


@lru_cache(maxsize=1024)
def _hides(style: str) -> bool:
    plain = style[:500].replace(" ", "").lower()
    return "display:none" in plain or "visibility:hidden" in plain


def is_target(attributes: Attributes) -> bool:
    """Whether an `a` is a place to link to and no link: all behind an `<a id=x/>` lies in it, as
    HTML has no elements that end so."""
    return "href" not in attributes and ("id" in attributes or "name" in attributes)
