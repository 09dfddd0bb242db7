"""What a server repeats of a secret, in whatever encoding, is not told."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.masking import MARK
from crawl.net.secret_mask import SecretMask
from crawl.printable import one_line
from tests.examples import scaled

ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "in capitals": str.upper,
    "in small letters": str.lower,
    "percent": lambda text: quote(text, safe=""),
    "percent, small": lambda text: quote(text, safe="").lower(),
    "percent, all": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "form": quote_plus,
    "URL": lambda text: f"http://me:{quote(text, safe='')}@a.org/",
    "JSON": json.dumps,
    "JSON, Unicode": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON with slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "HTML": html.escape,
    "HTML in numbers": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "HTML in hexadecimal": lambda text: "".join(f"&#x{ord(each):X};" for each in text),
    "HTML in JSON": lambda text: json.dumps(html.escape(text)),
    "percent in HTML in JSON": lambda text: json.dumps(html.escape(quote(text, safe="/&<"))),
    "repr": repr,
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal, capitals": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of pair": lambda text: base64.b64encode(f"someone:{text}".encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().strip("="),
    "base64 in small letters": lambda text: base64.b64encode(text.encode()).decode().lower(),
    "base64 in lines": lambda text: base64.encodebytes(f"a{text}".encode() * 5).decode(),
    "base64, percent": lambda text: quote(base64.b64encode(text.encode()).decode(), safe=""),
}
SECRETS = st.text(
    st.characters(exclude_characters="*", exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]),
    min_size=6,
    max_size=40,
)


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(secret=SECRETS)
@settings(max_examples=scaled(60))
def test_no_echo_tells_a_secret(encoding: str, secret: str) -> None:
    echo = ENCODINGS[encoding](secret)
    login = base64.b64encode(f"someone:{secret}".encode()).decode()
    told = one_line(SecretMask([secret, login]).masked(f"no: «{echo}» is wrong, {echo}!"))
    assert MARK in told
    for encode in ENCODINGS.values():
        form = encode(secret)
        assert form not in told and form.strip("\"'=\n") not in told
    assert told.startswith("no: «") and told.endswith("!")


@pytest.mark.parametrize("cut", [16_300, 16_384, 16_390, 20_000])
def test_a_secret_at_the_end_of_what_is_read_is_not_told_in_part(cut: int) -> None:
    body = "correct-horse" * 10_000
    for said in (body, body[:cut], f"{body[:cut]}..."):
        assert "corr" not in SecretMask(["correct-horse"]).masked(said)


def test_a_short_secret_is_masked_where_it_stands_alone() -> None:
    mask = SecretMask(["ab", base64.b64encode(b"me:ab").decode()])
    said = 'user "me" with "ab" (Basic bWU6YWI=) is not about'
    assert mask.masked(said) == f'user "me" with "{MARK}" (Basic {MARK}) is not about'


def test_what_is_no_secret_is_kept() -> None:
    said = 'Basic authentication is needed (realm="pages"); see https://a.org/?a=%20b&amp;c\\n'
    assert SecretMask(["correct-horse"]).masked(said) == said
    assert SecretMask().masked(said) == said


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("got Basic bWU6c2VjcmV", f"got Basic {MARK}"),
        ("got bearer abc.def-123", f"got bearer {MARK}"),
        ("Authorization: ApiKey QUJDREVGR0g=", f"Authorization: ApiKey {MARK}"),
        ("http://me:pw@a.org/", f"http://{MARK}@a.org/"),
        ("token eyJhbGciOiJI.eyJzdWIi.sig rest", f"token {MARK} rest"),
    ],
)
def test_what_looks_like_a_secret_is_masked_though_nobody_knows_it(said: str, told: str) -> None:
    assert SecretMask().masked(said) == told


def test_hostile_text_is_bounded_work() -> None:
    """Escapes of escapes: every layer is shorter than the one before, and there are few."""
    for piece in ("%25", "&amp;", "\\\\", "\\u005c", "&#38;", "\r\n", "correct-hors"):
        told = SecretMask(["correct-horse"]).masked(piece * 100_000)
        assert len(told) <= 17_000
