"""Hosts with an `xn--` label that stands for no Unicode text, such as `xn--a.example`.

DNS looks such a name up like any other, and browsers keep a host that is all ASCII as it is,
in lower case. The parser's library looks into every `xn--` label and refuses the URL. So a label
is given another beginning while the library reads the URL, and its own back afterwards. A host
with a letter outside ASCII must be encoded as a whole, and is refused as before if it cannot.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PREFIX = "xn--"
_HIDDEN = re.compile(r"[\t\n\r]")
"""What browsers leave out wherever it is."""
_BLANKS = "".join(map(chr, range(0x21)))
"""What they leave out at the ends."""
_ABSOLUTE = re.compile(r"(?:https?|ftp|wss?):[/\\]*+", re.IGNORECASE)
_WITH_HOST = re.compile(r"(?:(?:https?|ftp|wss?):)?+[/\\]{2}[/\\]*+", re.IGNORECASE)
_AUTHORITY = re.compile(r"[^/\\?#]*+")
_PORT = re.compile(r":[0-9]*+\Z")
_ESCAPED = re.compile(r"%(?:2[dDeE]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA])")
"""A letter, a digit, a hyphen or a dot, percent-encoded."""
_RUN = re.compile(r"q+", re.IGNORECASE)


class HiddenLabels(NamedTuple):
    """A URL whose `xn--` labels begin otherwise."""

    text: str
    prefix: str

    def shown(self, host: str) -> str:
        """The host as it was meant."""
        return _renamed(host, self.prefix, _PREFIX)


def hide_labels(url: str) -> HiddenLabels | None:
    """An absolute URL that the library can read; None where it is refused for another reason
    than the labels of its host."""
    return _hidden(url, _ABSOLUTE, _free_prefix(url))


def hide_labels_of_link(base: str, reference: str) -> tuple[HiddenLabels, HiddenLabels]:
    """A link and the page that it is on as the library can read them, with one prefix."""
    prefix = _free_prefix(base + reference)
    page = _hidden(base, _ABSOLUTE, prefix) or HiddenLabels(base, prefix)
    return page, _hidden(reference, _WITH_HOST, prefix) or HiddenLabels(reference, prefix)


def _free_prefix(text: str) -> str:
    """A beginning of labels that does not come up in the text."""
    longest = max((len(run) for run in _RUN.findall(_HIDDEN.sub("", text))), default=0)
    return "q" * (longest + 1) + "--"


def _hidden(url: str, beginning: re.Pattern[str], prefix: str) -> HiddenLabels | None:
    url = _HIDDEN.sub("", url.strip(_BLANKS))
    match = beginning.match(url)
    if match is None:
        return None
    start = match.end()
    end = _AUTHORITY.match(url, start).end()  # type: ignore[union-attr]  # it matches anything
    userinfo, at, server = url[start:end].rpartition("@")
    port = _PORT.search(server)
    host = server[: port.start()] if port else server
    host = _ESCAPED.sub(lambda escaped: chr(int(escaped[0][1:], 16)), host)
    host = host.lower() if host.isascii() else ""
    renamed = _renamed(host, _PREFIX, prefix)
    if renamed == host or "%" in host:
        return None
    text = f"{url[:start]}{userinfo}{at}{renamed}{port[0] if port else ''}{url[end:]}"
    return HiddenLabels(text, prefix)


def _renamed(host: str, old: str, new: str) -> str:
    return ".".join(
        new + label[len(old) :] if label.startswith(old) else label for label in host.split(".")
    )
