"""The language of a page: what it declares, brought to one form, or what its words look like.

py3langid identifies: its model is inside the package, and it is the quickest of its kind in
pure Python. It is loaded by the first page of a process that declares no language
(language_model.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from crawl.parsing.language_evidence import is_in_language
from crawl.parsing.page_time import outside_page_time

if TYPE_CHECKING:
    from crawl.parsing.language_model import LanguageModel

_TAG = re.compile(r"([a-z]{2,3}|[a-z]{5,8})(?:[-_][a-z0-9]{1,8}){0,6}", re.IGNORECASE)


def _pairs(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split())
    return {key: value for key, _, value in pairs}


_NAMES = _pairs(
    "english=en german=de deutsch=de french=fr francais=fr spanish=es espanol=es italian=it"
    " italiano=it portuguese=pt dutch=nl russian=ru chinese=zh japanese=ja korean=ko"
    " arabic=ar turkish=tr polish=pl swedish=sv danish=da finnish=fi czech=cs greek=el"
    " hungarian=hu"
)
"""Of those who write a name for the code."""
_CODES = _pairs(
    "eng=en deu=de ger=de fra=fr fre=fr spa=es ita=it por=pt nld=nl dut=nl rus=ru zho=zh"
    " chi=zh jpn=ja kor=ko ara=ar tur=tr pol=pl swe=sv dan=da fin=fi ces=cs cze=cs ell=el"
    " gre=el hun=hu ron=ro rum=ro ukr=uk heb=he hin=hi vie=vi tha=th ind=id nor=no"
    " iw=he in=id ji=yi jw=jv mo=ro nb=no nn=no cn=zh jp=ja cz=cs dk=da gr=el"
)
"""Three letters for two (ISO 639-2), withdrawn codes for their successors, and countries that
are often written for their language where no language has that code."""
_UNSAID = frozenset({"und", "mul", "zxx", "mis", "xx", "xxx", "none", "null", "undefined", "lang"})

_CERTAIN = 0.9
_LIKELY = 0.5
"""Below this even the best of all languages is a guess: of some 12,000 messages of a program
in 22 languages, 5 in 1,000 of 20 to 60 letters are named wrongly with it, and 30 with 0.2."""
_FEWEST_LETTERS = 20


_WRITTEN_AS = _pairs(
    "yue=zh wuu=zh hbo=he arz=ar ary=ar fuv=ff gom=kok gug=gn kik=ki ltg=lv sdh=ku uzs=uz ext= zxx="
)
"""Languages that are hardly told from another when they are written; members of macrolanguages
(ISO 639-3), of which the model has one and names the others after it; and what it names where it
should not: Asturian is taken for Extremaduran, and zxx is no language."""

_PROSE_LINE = 60
"""Characters: shorter lines are menus, cells of tables, and code."""
_SECOND_LOOK = 4
"""Times as much is looked at again where the first look does not tell."""
_LONGEST_LOOK = 100_000


def normalised(declared: str) -> str:
    """The language of a tag as `lang` and headers have it, as a short lower-case code: `de`
    for `de-AT`, `DE_at`, `ger` and `German`. Of a list the first; empty for none."""
    first = declared[:200].replace(";", ",").partition(",")[0].strip().lower()
    if first in _NAMES:
        return _NAMES[first]
    tag = _TAG.fullmatch(first)
    if tag is None:
        return ""
    code = _CODES.get(tag[1], tag[1])
    return "" if code in _UNSAID or len(code) > 3 else code


def first_declared(declared: Iterable[str]) -> str:
    """The first of the tags that names a language."""
    return next(filter(None, map(normalised, filter(None, declared))), "")


def sample(title: str, text: str, most_bytes: int) -> str:
    """What identification looks at of title and text; all of it for 0.

    Half of it is from the beginning, which tells of short texts all there is, and half from
    the middle: pages begin with menus and notices in whatever language. For manual pages in
    24 languages that is as good as four times as much from the beginning alone.
    """
    if most_bytes <= 0:
        return f"{title}\n{text}"
    # a character has at least one byte, so that no more need be encoded
    start = f"{title[:most_bytes]}\n{text[:most_bytes]}"
    if len(text) <= most_bytes:
        return _cut(start, most_bytes)
    half, middle = most_bytes // 2, len(text) // 2
    rest = most_bytes - half - 1
    return f"{_cut(start, half)}\n{_cut(text[middle : middle + rest], rest)}"


def _cut(text: str, most_bytes: int) -> str:
    """As much of the beginning of the text as so many bytes hold."""
    return text.encode("utf-8", "ignore")[:most_bytes].decode("utf-8", "ignore")


class Identifier:
    """Tells the language of a text; of the given languages only, or of all for none."""

    def __init__(self, languages: Iterable[str] = (), *, only_certain: bool = False) -> None:
        self._languages = tuple(sorted(set(languages)))
        self._least = _CERTAIN if only_certain else _LIKELY

    def identify_page(self, title: str, text: str, most_bytes: int) -> str:
        """The language of a page by a sample of it, and where that does not tell, by a longer one
        of its sentences: what pages begin with, or have in their middle, may be tables."""
        code = self.identify(sample(title, text, most_bytes))
        if code or len(text) * 2 < most_bytes or most_bytes <= 0:
            return code
        most_bytes *= _SECOND_LOOK
        prose = _prose(text, most_bytes)
        return self.identify(
            sample("", prose, most_bytes) if prose else sample(title, text, most_bytes)
        )

    def identify(self, text: str) -> str:
        """Its code; empty where the text does not tell, or is in a language that the model
        lacks."""
        if sum(map(str.isalpha, text[:200])) < _FEWEST_LETTERS and not _is_dense(text):
            return ""
        model = _model(self._languages)
        if model is None:
            return ""
        code, confidence, fit = model.best(text)
        if confidence < self._least or not is_in_language(text, code, fit):
            return ""
        return normalised(code if self._languages else _WRITTEN_AS.get(code, code))


def unknown_languages(languages: Iterable[str]) -> list[str]:
    """Those that cannot be identified."""
    model = _model(())
    return [] if model is None else sorted(set(languages) - set(model.labels))


def _prose(text: str, least: int) -> str:
    """The lines that look like sentences; empty where they are too few to tell more."""
    sentences: list[str] = []
    length = 0
    for line in text[:_LONGEST_LOOK].split("\n"):
        if len(line) >= _PROSE_LINE and sum(map(str.isalpha, line[:200])) > 0.7 * len(line[:200]):
            sentences.append(line)
            length += len(line)
            if length > 4 * least:
                break
    return "\n".join(sentences) if length >= least else ""


def _is_dense(text: str) -> bool:
    """Whether a few characters are words: Chinese, Japanese, Korean."""
    return sum("\u3040" <= character <= "\ud7a3" for character in text[:200]) >= 4


@lru_cache(maxsize=4)
def _model(languages: tuple[str, ...]) -> LanguageModel | None:
    """None where `parser.memory.limit` has no room for it: no page is to fail by that, nor to
    wait until it has been tried once more."""
    with outside_page_time():
        from crawl.parsing.language_model import load_model

        try:
            model = load_model()
        except MemoryError:
            return None
        if languages:
            model.set_languages(languages)
        return model
