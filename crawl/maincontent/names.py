"""What an element says of itself by its tag, its role and its names (class, id): whether it is
the main content, something around it, or neither. The names are those that sites and themes
use, as trafilatura and readability list them."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache


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


_AROUND_TAGS = frozenset(("nav", "aside", "footer", "dialog", "search"))
_AROUND_ROLES = frozenset(
    (
        *("alert", "alertdialog", "banner", "complementary", "contentinfo", "dialog", "menu"),
        *("menubar", "navigation", "search", "toolbar"),
    )
)
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:"
    r"nav|navheader|navfooter|navbar|navigation|navi|menus?|submenu|breadcrumbs?|crumbs|side-?bar|side|rail"
    r"|footer|foot|bottom|copyright|cookies?|consent|gdpr|privacy"
    r"|shar(?:e|ing)|social|sharedaddy|addthis|related|recommend(?:ed|ations?)?|recirc"
    r"|similar|also|teasers?|promos?|promotion|sponsor(?:ed)?|outbrain|taboola"
    r"|ads?|advert(?:s|isements?|ising)?|banner|newsletter|subscri(?:be|ption)|signup|sign-up"
    r"|log-?in|modal|popup|overlay|paywall|pagination|pager|paging|page-?numbers"
    r"|toc|table-of-contents|skip|skip-?link|toolbar|widgets?|respond|replies"
    r"|tags|tag-?cloud|tag-?list|categories|masthead|topbar|top-?nav|site-?header|editsection"
    r"|byline-social|printfriendly|noprint|catlinks|navbox|infobar|rating|votes?"
    r")(?:$|[\s_-]|links?(?:$|[\s_-])|list(?:$|[\s_-])|box(?:$|[\s_-])|bar(?:$|[\s_-]))",
    re.I,
)
_MAIN = re.compile(
    r"(?:^|[\s_-])(?:articleBody|article-?body|article-?content|entry-?content|post-?content"
    r"|post-?body|main-?content|page-?content|story-?body|blog-?post|markdown-?body|mw-parser-output)"
    r"(?:$|[\s_-])",
    re.I,
)
_COMMENTS = re.compile(
    r"(?:^|\s)(?:user-?|reader-?|post-?|article-?|wp-?|the-?)?comment(?:s|list|area|body)?"
    r"(?=$|\s|[_-](?!open|closed|link|count|status|enabled|form\b)|\d|list|wrap|box|section|thread)"
    r"|(?:^|[\s_-])(?:disqus|fb-comments|livefyre)(?:$|[\s_-])",
    re.I,
)
_HEADER = re.compile(r"(?:^|[\s_-])(?:header|head|hero)(?:$|[\s_-])", re.I)


@lru_cache(maxsize=16384)
def role_of_names(tag: str, names: str, identifier: str, role: str, inside_main: bool) -> Role:
    """The role of a container; the pages of a site repeat themselves, so that most are known."""
    if tag == "body":
        return Role.NONE
    if tag in _AROUND_TAGS or role.lower() in _AROUND_ROLES:
        return Role.AROUND
    both = f"{names} {identifier}".strip()
    if both and tag != "main" and _COMMENTS.search(both):
        return Role.COMMENTS
    if tag in ("main", "article") or role.lower() in ("main", "article"):
        return Role.MAIN
    if not both:
        return Role.HEADER if tag == "header" else Role.NONE
    if _MAIN.search(both):
        return Role.MAIN
    if _AROUND.search(both):
        return Role.AROUND
    if tag == "header" or (not inside_main and _HEADER.search(both)):
        return Role.HEADER
    return Role.NONE
