"""What an element says of itself by its tag, its role and its names (class, id): whether it is
the main content, something around it, or neither. The names are those that sites and themes
use, as trafilatura and readability list them."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache

from crawl.html.tokens import names_in


class Role(IntEnum):
    """What a container says it is."""

    NONE = 0
    MAIN = 1
    AROUND = 2
    """A menu, a teaser, a footer, an advertisement …"""
    HEADER = 3
    """May be a site's or an article's: what is in it decides."""
    COMMENTS = 4
    """What readers say of the main content, or the main content where there is no other."""
    LINKS = 5
    """A menu or the like by its name alone: it is one if it has links."""
    LEAD = 6
    """May announce another article, or begin this one: if it has links, another."""
    CAPTION = 7
    """What stands beside a picture or a table."""
    FORM = 8
    """To be filled in, unless much of the page is in it."""


_AROUND_TAGS = frozenset(("nav", "aside", "footer", "dialog", "search"))
_AROUND_ROLES = names_in(
    "alert alertdialog banner complementary contentinfo dialog menu menubar navigation search",
    "toolbar",
)
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:"
    r"side-?bar|side|rail"
    r"|footer|foot|copyright|cookies?|consent|gdpr|privacy|licen[cs]e-?info"
    r"|shar(?:e|ing)|social|sharedaddy|addthis|related|recommend(?:ed|ations?)?|recirc"
    r"|similar|also|promos?|promotion|sponsor(?:ed)?|outbrain|taboola"
    r"|ads?|adv|advert(?:s|isements?|ising)?|banner|newsletter|subscri(?:be|ption)|signup|sign-up"
    r"|log-?in|modal|popup|overlay|paywall|pagination|page-?numbers"
    r"|toolbar|widgets?|replies|reply|kommentare?|info-?box|fact-?box|teilen"
    r"|masthead|topbar|site-?header|editsection|breadcrumbs?|crumbs|pager|paging|skip|skip-?link"
    r"|tags|tag-?cloud|tag-?list|teasers"
    r"|about-?(?:the-?)?author|author-?(?:box|bio|info|card|desc|description|details|profile)"
    r"|by-?line|date-?line|(?:post|entry|article|content)-?meta|meta-?(?:info|data|line)"
    r"|post-?metadata|entry-?utility|post-?signature|read(?:ing)?-?time"
    r"|disclaimer|disclosure|contact-?box|link-?box|print-?button"
    r"|printfriendly|noprint|catlinks|navbox|infobar|rating|votes?"
    r")(?:$|[\s_-]|links?(?:$|[\s_-])|list(?:$|[\s_-])|box(?:$|[\s_-])|bar(?:$|[\s_-]))"
    r"|(?:^|\s)(?:(?:[\w-]+__)?(?:authors?|date|timestamp)(?=$|\s)|bottom(?=$|[\s_-]))",
    re.I,
)
_LINKS = re.compile(
    r"(?:^|[\s_-])(?:"
    r"nav|navheader|navfooter|navbar|navigation|navi|menus?|submenu|top-?nav"
    r"|toc|table-of-contents|categories"
    r")(?:$|[\s_-]|links?(?:$|[\s_-])|list(?:$|[\s_-])|box(?:$|[\s_-])|bar(?:$|[\s_-]))",
    re.I,
)
_LEAD = re.compile(r"(?:^|[\s_-])teaser(?:$|[\s_-]|text|list|box)", re.I)
_CAPTION = re.compile(
    r"(?:^|[\s_-])(?:captions?|(?:wp|image|photo|picture|img|foto)-?(?:captions?|credits?|copyright"
    r"|source|author|description)|credits?)(?:$|[\s_-])",
    re.I,
)
_MODIFIER = re.compile(r"--[\w-]*|(?:^|(?<=\s))(?:has|is|no|not|with|without|js|show|hide)[-_]\S+")
"""What names say of the layout around a container, or of its state: `page--no-sidebar`."""
_SECTION = re.compile(r"(?:^|\s)sect(?:ion|\d)(?:$|\s)")
"""Of a text, with its heading as its id: `<section id=author>`, as docutils and DocBook have it."""
_MAX_HYPHENS = 3
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAIN = re.compile(
    r"(?:^|[\s_-])(?:article[-_]*(?:body|content|text)|entry-?content|post-?content"
    r"|post-?body|main-?content|page-?content|story-?(?:body|text)|blog-?post|markdown-?body"
    r"|mw-parser-output)(?:$|[\s-]|_(?!_))",
    re.I,
)
_COMMENTS = re.compile(
    r"(?:^|\s)(?:user-?|reader-?|post-?|article-?|wp-?|the-?)?comment(?:s|list|area|body)?"
    r"(?=$|\s|[_-](?!open|closed|link|count|status|enabled|form\b)|\d|list|wrap|box|section|thread)"
    r"|(?:^|[\s_-])(?:disqus|fb-comments|livefyre)(?:$|[\s_-])",
    re.I,
)
_FORM = re.compile(
    r"(?:^|[\s_-])(?:respond|comment-?(?:form|respond|add|reply|notes)|reply-?form)(?:$|[\s_-])",
    re.I,
)
"""Where readers are to say something."""
_OTHER_ARTICLE = re.compile(
    r"(?:^|\s)(?!category-|tag-)(?:\w+-)?(?:modal|related|recommend\w*|promo)(?=$|[\s_-])", re.I
)
_BY_TAG = {"header": Role.HEADER, "form": Role.FORM}
_BY_NAME = (
    *((_MAIN, Role.MAIN), (_AROUND, Role.AROUND), (_LINKS, Role.LINKS)),
    *((_CAPTION, Role.CAPTION), (_LEAD, Role.LEAD)),
)
"""The first that fits decides."""
_HEADER = re.compile(r"(?:^|[\s_-])(?:header|head|hero)(?:$|[\s_-])", re.I)


@lru_cache(maxsize=16384)
def role_of_names(tag: str, names: str, identifier: str, role: str, inside_main: bool) -> Role:
    """The role of a container; the pages of a site repeat themselves, so that most are known."""
    if tag == "body":
        return Role.NONE
    if tag in _AROUND_TAGS or role.lower() in _AROUND_ROLES:
        return Role.AROUND
    if tag in ("figcaption", "figure"):
        return Role.CAPTION
    if tag == "section" or _SECTION.search(names) or identifier.count("-") > _MAX_HYPHENS:
        identifier = ""
    both = f"{_CAMEL.sub('-', _MODIFIER.sub('', names))} {identifier}".strip()
    if both and (_FORM.search(both) or (tag == "article" and _OTHER_ARTICLE.search(both))):
        return Role.AROUND
    if both and tag != "main" and _COMMENTS.search(both):
        return Role.COMMENTS
    if tag in ("main", "article") or role.lower() in ("main", "article"):
        return Role.MAIN
    if not both:
        return _BY_TAG.get(tag, Role.NONE)
    for pattern, named in _BY_NAME:
        if pattern.search(both):
            return named
    if not inside_main and _HEADER.search(both):
        return Role.HEADER
    return _BY_TAG.get(tag, Role.NONE)
