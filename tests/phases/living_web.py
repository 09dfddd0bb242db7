"""The synthetic web with a life of its own: in each of its years pages change, vanish, come back,
and ask to be indexed or not to be. It is served in this process; no byte is sent.

Every page has words that no other page has, unless it is a copy of that one.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from crawl.config import Config, text
from crawl.interfaces.protocol import Request, Response
from crawl.synthetic.web import ExpectedAnswer, Web

WEB = text("test.web", "", "Which web is served.")

YEAR_S = 400 * 86_400.0
"""Longer than any page stays unasked for."""

_KANJI = "日本語水山川東京天気大学新聞電車駅空海花鳥風月春夏秋冬"


@dataclass(frozen=True)
class LivingPage:
    """What is at a URL."""

    answer: ExpectedAnswer
    code: int
    body: bytes
    etag: str
    words: str
    """That no other page has."""
    is_noindex: bool


@dataclass
class LivingWeb:
    """A web and its year."""

    web: Web
    year: int = 0

    def page(self, url: str) -> LivingPage:
        """What is at a URL this year."""
        answer = self.web.expected(url, self.year * YEAR_S)
        if answer.kind is None or answer.code != 200:
            return LivingPage(answer, answer.code, answer.body, "", "", is_noindex=False)
        fate = blake2b(url.encode(), digest_size=2).digest()[0] % 12
        is_noindex = (fate == 0 and self.year >= 1) or (fate == 1 and self.year == 0)
        is_lost = (fate == 2 and self.year >= 1) or (fate == 3 and self.year == 1)
        digest = blake2b(answer.body, digest_size=8).hexdigest()
        words = f"zq{digest}"
        if answer.charset is not None and answer.charset.codec == "shift_jis":
            words = "".join(_KANJI[int(letter, 16)] for letter in digest[:10])
        codec = answer.charset.codec if answer.charset else "utf-8"
        head = "<meta name=robots content=noindex>" if is_noindex else ""
        body = answer.body.replace(b"</head>", f"{head}</head>".encode())
        body = body.replace(b"</body>", f"<p>{words}</p></body>".encode(codec))
        etag = f'"{blake2b(body, digest_size=8).hexdigest()}"' if answer.etag else ""
        return LivingPage(answer, 410 if is_lost else 200, body, etag, words, is_noindex)


SERVED: dict[str, LivingWeb] = {}


class LivingProtocol:
    schemes = ("http",)

    def __init__(self, config: Config) -> None:
        self._web = SERVED[config[WEB]]

    def fetch(self, request: Request) -> Response:
        page = self._web.page(request.url)
        headers = [("Content-Type", page.answer.content_type)]
        if page.answer.location:
            headers.append(("Location", page.answer.location))
        if page.code != 200:
            return Response(request.url, page.code, tuple(headers), b"")
        if page.etag:
            headers.append(("ETag", page.etag))
        if page.etag and request.etag == page.etag:
            return Response(request.url, 304, tuple(headers), b"")
        return Response(request.url, 200, tuple(headers), page.body)

    def close(self) -> None:
        pass
