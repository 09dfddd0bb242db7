"""Which text of an HTML page its readers see, and where its lines end."""

from __future__ import annotations

import numpy as np

from crawl.html.tokens import names_in

LINE = "\x1e"
"""Separates lines until the text is complete. str.split takes it for white space, so that a
title or an anchor can be cut out of the pieces before; in a page itself it is a line end."""

LINE_BREAKS: dict[str, str] = {
    **dict.fromkeys(("td", "th", "rt", "rp"), " "),
    **dict.fromkeys(
        names_in(
            "address article aside blockquote body br button caption center dd details dialog dir",
            "div dl dt fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header",
            "hgroup hr legend li listing main menu nav ol optgroup option p plaintext pre search",
            "section select summary table tbody textarea tfoot thead tr ul xmp",
        ),
        LINE,
    ),
}
"""Elements around which a line ends, or a blank is; all others leave the text as it is."""

HIDDEN_TAGS = names_in(
    "annotation audio canvas datalist desc iframe noembed noframes script style template title",
    "video",
)
"""Elements whose text is not shown in the page, or only by browsers that cannot show the
element itself. `noscript` is not one: a crawler is a reader without scripts."""


_BLANKS = "".join(
    char for char in map(chr, range(0x3001)) if char.isspace() and char not in (" ", LINE)
)
_ASCII_BLANKS = "".join(filter(str.isascii, _BLANKS))


def collapse_whitespace(text: str, limit: int) -> str:
    """The text on one line, with one blank between words, no longer than `limit`."""
    text = " ".join(text[: 4 * limit].split())
    return text if len(text) <= limit else text[:limit].rstrip()


def to_lines(text: str) -> str:
    """The lines that have words, with one blank between words."""
    for blank in _ASCII_BLANKS if text.isascii() else _BLANKS:
        if blank in text:
            text = text.replace(blank, " ")
    lines = [line for raw in text.split(LINE) if (line := raw.strip(" "))]
    text = "\n".join(lines)
    if not _has_wide_blank(text):
        return text
    return "\n".join(" ".join(line.split()) if "  " in line else line for line in lines)


def _has_wide_blank(text: str) -> bool:
    """Whether two blanks come in a row. By numpy, which looks at many characters at once:
    str's own search takes four times as long where every sixth character is a blank."""
    octets = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)  # one a character
    blanks = octets == ord(" ")
    return bool((blanks[1:] & blanks[:-1]).any())
