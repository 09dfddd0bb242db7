"""The URLs of free text: tweets, mails, chats, Markdown, pieces of HTML.

People write a URL into a sentence without saying where it ends, so its end is guessed by what
surrounds it, as the programs do that make such text clickable. What begins no URL costs one
search by `re`; a URL is read once from its beginning to its end, and the search goes on behind
it, so that the time grows with the length of the text and with nothing else.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from crawl.errors import UsageError
from crawl.urls.domains import public_suffix
from crawl.urls.parse import canonical

MAX_TEXT_BYTES: Final = 1 << 20
MAX_URLS: Final = 1_000
MAX_URL_CHARACTERS: Final = 4_096

_BEGINNING = re.compile(
    # what stands before it makes it part of another word, scheme or address
    r"(?<![A-Za-z0-9])(?P<scheme>https?://)|(?<![A-Za-z0-9./_@%+-])www\.(?=[^\W_])",
    re.IGNORECASE,
)
_USER = re.compile(r"[A-Za-z0-9._~%!$&*+,;=:-]{1,128}@")
_HOST = re.compile(r"\[[0-9A-Fa-f:.]{2,45}\]|[\w.%\-\u0300-\u036f]{1,512}")
_PORT = re.compile(r":[0-9]{1,5}(?![0-9])")
_PLAIN = re.compile(r"[A-Za-z0-9/._~=%#?@!$*+:-]++")
"""Characters of a path, query or fragment that nothing has to be asked about."""
_CHARACTERS_OF_LISTS = ",;"
_NEXT_URL = re.compile(r"[,;]++(?:https?://|www\.)", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp;|#38;|#x26;)", re.IGNORECASE)
_ENTITY_OF_AN_END = re.compile(
    r"&(?:quot|lt|gt|nbsp|apos|#0{0,4}(?:34|39|60|62|160)|#x0{0,4}(?:22|27|3c|3e|a0));",
    re.IGNORECASE,
)
_CLOSING: Final = {")": "(", "]": "["}
_ELLIPSIS: Final = "…"
_TRAILING: Final = ".,:;!?'*(["
_EMPHASIS: Final = "_~"
"""What Markdown puts on both sides of a word, though a URL may well end so."""

_EXACT: Final = {
    "<": re.compile(r"[^\s<>\x00-\x20]*+>"),
    '"': re.compile(r'[^\s<>"\x00-\x20]*+"'),
    "'": re.compile(r"[^\s<>'\"\x00-\x20]*+'"),
    "`": re.compile(r"[^\s<>`\x00-\x20]*+`"),
    "](": re.compile(
        r"[^\s()<>\x00-\x20]*+(?:\([^\s()<>\x00-\x20]*+\)[^\s()<>\x00-\x20]*+)*+[)\s]"
    ),
}
"""What follows each sign before a URL, where its end is marked by another one."""
_WITHOUT_BLANKS = re.compile(
    # the scripts that are written without blanks between words, so that text may follow a URL
    # directly: Thai to Khmer, kana, Han, Hangul and their wide and compatible forms
    r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff"
    r"\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U0001f200-\U0001f2ff"
    r"\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class TextURLs:
    """What a text says of URLs."""

    urls: tuple[str, ...] = ()
    """As the URL standard writes them, each once, in the order of the text."""
    duplicates: int = 0
    malformed: int = 0
    """Beginnings of URLs that no URL followed."""
    elided: int = 0
    """URLs of which the text shows but the beginning: `https://example.com/lon…`."""
    too_long: int = 0
    is_cut: bool = False
    """Whether there were more URLs than are taken of one text."""


def urls_in_text(text: str, most: int = MAX_URLS) -> TextURLs:
    """The http and https URLs of a text, and those that begin with `www.`, which are taken for
    http; UsageError where the text is longer than a mebibyte."""
    if len(text) > MAX_TEXT_BYTES // 4:
        length = len(text.encode("utf-8", "surrogatepass"))
        if length > MAX_TEXT_BYTES:
            raise UsageError(
                f"a text of {length:,} bytes: at most {MAX_TEXT_BYTES:,} are searched for URLs"
            )
    found: dict[str, None] = {}
    duplicates = malformed = elided = too_long = 0
    at = 0
    while (match := _BEGINNING.search(text, at)) is not None:
        candidate = _Candidate.read(text, match)
        at = max(candidate.end, match.end())
        if candidate.is_elided:
            elided += 1
        elif candidate.is_too_long:
            too_long += 1
        elif (url := _url(candidate.text, match)) is None:
            malformed += 1
        elif url in found:
            duplicates += 1
        elif len(found) == most:
            return TextURLs(tuple(found), duplicates, malformed, elided, too_long, is_cut=True)
        else:
            found[url] = None
    return TextURLs(tuple(found), duplicates, malformed, elided, too_long)


def _url(text: str, match: re.Match[str]) -> str | None:
    if not text:
        return None
    return canonical(text if match["scheme"] else f"http://{text}")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What may be a URL, and where the text goes on behind it."""

    text: str
    end: int
    is_elided: bool = False
    is_too_long: bool = False

    @classmethod
    def read(cls, text: str, match: re.Match[str]) -> _Candidate:
        begin = match.start()
        exact = _marked_end(text, begin)
        host_from = match.end() if match["scheme"] else begin
        host_end = _host_end(text, host_from)
        if host_end == host_from:
            return cls("", match.end())
        is_whole = exact is not None and _is_whole(text, begin)
        if exact is not None and is_whole and (exact == host_end or text[host_end] in "/?#"):
            end = exact
        else:
            is_whole = False
            end = _scan(text, host_end, exact)
        if end - begin > MAX_URL_CHARACTERS:
            return cls("", end, is_too_long=True)
        if not is_whole:
            if text[end : end + 1] == _ELLIPSIS:
                return cls("", end, is_elided=True)
            end = max(host_end, _without_trailing(text, begin, end))
        return cls(_ENTITY.sub("&", text[begin:end]), end)


def _marked_end(text: str, begin: int) -> int | None:
    """Where the URL ends by the sign that closes what was opened right before it."""
    before = text[begin - 1 : begin] if begin else ""
    if before == "(" and text[begin - 2 : begin] == "](":
        before = "]("
    pattern = _EXACT.get(before)
    match = pattern.match(text, begin) if pattern else None
    return None if match is None else match.end() - 1


def _is_whole(text: str, begin: int) -> bool:
    """Whether the signs around a URL say that all between them belongs to it: those of Markdown
    and of attributes do, quotation marks of a sentence may hold its full stop as well."""
    return text[begin - 1] in "<(`" or text[begin - 2 : begin - 1] == "="


def _host_end(text: str, begin: int) -> int:
    """Where user, host and port end; `begin` itself where there is no host."""
    user = _USER.match(text, begin)
    host_from = user.end() if user else begin
    host = _HOST.match(text, host_from)
    if host is None:
        return begin
    end = _host_before_text(text, host_from, host.end())
    name = text[host_from:end]
    if not name.startswith("["):
        stripped = name.rstrip(".-_")
        if not stripped or stripped.startswith("."):
            return begin
        # a full stop after the host ends the sentence, unless a path follows
        if text[end : end + 1] not in ("/", "?", "#", ":") or not name.endswith("."):
            end = host_from + len(stripped)
    port = _PORT.match(text, end)
    return port.end() if port else end


def _host_before_text(text: str, begin: int, end: int) -> int:
    """Where the host ends if words follow it without a blank: behind a known suffix in ASCII that
    goes on in another script, as in `example.comを`."""
    name = text[begin:end]
    if name.isascii():
        return end
    for match in _WITHOUT_BLANKS.finditer(name):
        place = match.start()
        before = name[:place]
        label = before.rpartition(".")[2]
        if "." in before and label.isascii() and label.isalpha() and _is_suffix(before):
            return begin + place
    return end


def _is_suffix(name: str) -> bool:
    suffix = public_suffix(name) if len(name) <= 253 else None
    return suffix is not None and suffix != name.lower()


def _scan(text: str, at: int, marked: int | None) -> int:
    """Where path, query and fragment end."""
    if text[at : at + 1] not in ("/", "?", "#"):
        return at
    last = len(text) if marked is None else marked
    root = at
    opened = {"(": 0, "[": 0}
    while at < last:
        plain = _PLAIN.match(text, at)
        if plain:
            at = plain.end()
            continue
        character = text[at]
        if character in "([":
            opened[character] += 1
        elif character in ")]":
            if not opened[_CLOSING[character]]:
                break
            opened[_CLOSING[character]] -= 1
        elif character in _CHARACTERS_OF_LISTS:
            if _NEXT_URL.match(text, at):
                break
        elif character == "&":
            if _ENTITY_OF_AN_END.match(text, at):
                break
        elif character != "'" and not _is_letter_of_url(text, root, at, marked is not None):
            break
        at += 1
    return min(at, last)


def _is_letter_of_url(text: str, root: int, at: int, is_marked: bool) -> bool:
    """Whether a character beyond ASCII belongs to the URL. Words of a script without blanks may
    be the sentence that goes on; they are taken for a part of the URL where they begin a
    segment of a path or a value, as in `/wiki/日本`, and where they follow such."""
    character = text[at]
    if character.isascii() or unicodedata.category(character)[0] not in "LMN":
        return False
    if is_marked or not _WITHOUT_BLANKS.match(character):
        return True
    before = text[at - 1]
    if before in "/=":
        return at - 1 > root
    return _WITHOUT_BLANKS.match(before) is not None or before in "_-"


def _without_trailing(text: str, begin: int, end: int) -> int:
    """The end of the URL without what ends the sentence."""
    around = text[begin - 1 : begin] if begin else ""
    trailing = _TRAILING + (around if around in _EMPHASIS else "")
    while end > begin and text[end - 1] in trailing:
        end -= 1
    return end
