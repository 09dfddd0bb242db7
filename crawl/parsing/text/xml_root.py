"""The root element of an XML text, found without parsing it: behind the XML declaration,
comments and the DOCTYPE. It tells feeds, sitemaps and pages apart."""

from __future__ import annotations

import re

_SPACE = re.compile(r"\s*+")
_IN_DOCTYPE = re.compile(r"\"[^\"]*+\"?|'[^']*+'?|<!--|[\[\]>]")
_NAME = re.compile(r"<([^\s<>/!?&\"'=]{1,200})")


def local_name(name: str) -> str:
    """The name without its namespace or prefix, lower-case."""
    return name.rpartition("}")[2].rpartition(":")[2].lower()


def root_name(text: str) -> str:
    """The local name of the root element; empty where the text is no XML."""
    match = _NAME.match(text, root_start(text))
    return local_name(match[1]) if match else ""


def root_start(text: str) -> int:
    """Where the root element begins."""
    position = 0
    while True:
        match = _SPACE.match(text, position)
        position = match.end() if match else position
        if text.startswith("\ufeff", position):
            position += 1
        elif text.startswith("<?", position):
            position = _instruction_end(text, position)
        elif text.startswith("<!--", position):
            position = _after(text, "-->", position)
        elif text[position : position + 9].upper() == "<!DOCTYPE":
            position = _doctype_end(text, position)
        else:
            return position


def _after(text: str, end: str, position: int) -> int:
    place = text.find(end, position)
    return len(text) if place < 0 else place + len(end)


def _instruction_end(text: str, start: int) -> int:
    """Behind the `?>`; or behind a plain `>`, by which some end the XML declaration."""
    end = _after(text, "?>", start)
    plain = text.find(">", start)
    next_tag = text.find("<", start + 2)
    is_declaration = text[start : start + 5].lower() == "<?xml"
    return plain + 1 if is_declaration and 0 <= plain < next_tag < end else end


def _doctype_end(text: str, start: int) -> int:
    """Behind the `>` of the DOCTYPE; quotes, comments and the internal subset may have more."""
    inside = False
    position = start
    while (token := _IN_DOCTYPE.search(text, position)) is not None:
        position = token.end()
        match token[0]:
            case "<!--":
                position = _after(text, "-->", position)
            case "[":
                inside = True
            case "]":
                inside = False
            case ">" if not inside:
                return position
    return len(text)
