"""RFC 9309 in the plainest words, slow and without any library: what is tested against."""

from __future__ import annotations

import string

UNRESERVED = string.ascii_letters + string.digits + "-._~"
KEPT = UNRESERVED + ":/?#[]@!&()+,;=*%"


def spelled(text: str) -> str:
    octets = text.encode()
    result = ""
    position = 0
    while position < len(octets):
        character = chr(octets[position])
        digits = octets[position + 1 : position + 3].decode("latin-1")
        if character == "%" and len(digits) == 2 and all(d in string.hexdigits for d in digits):
            plain = chr(int(digits, 16))
            undone = plain in UNRESERVED or ("?" in result and plain in ":/?@")
            result += plain if undone else f"%{digits.upper()}"
            position += 3
            continue
        result += character if character in KEPT else f"%{octets[position]:02X}"
        position += 1
    return result


def matches(pattern: str, path: str) -> bool:
    """The positions of the path that the pattern can have reached, octet by octet."""
    anchored = pattern.endswith("$")
    reached = {0}
    for octet in spelled(pattern.removesuffix("$")):
        if octet == "*":
            reached = {end for start in reached for end in range(start, len(path) + 1)}
        else:
            reached = {place + 1 for place in reached if path[place : place + 1] == octet}
    return len(path) in reached if anchored else bool(reached)


def length(pattern: str) -> int:
    return len(spelled(pattern.removesuffix("$"))) + pattern.endswith("$")


def allows(rules: list[tuple[str, str]], path_and_query: str) -> bool:
    """By (`Allow` or `Disallow`, pattern) pairs; empty patterns say nothing."""
    path = spelled(path_and_query).replace("*", "%2A")
    matching = [(kind, pattern) for kind, pattern in rules if pattern and matches(pattern, path)]
    longest = max((length(pattern) for _, pattern in matching), default=0)
    deciding = {kind for kind, pattern in matching if length(pattern) == longest}
    return not deciding or "Allow" in deciding
