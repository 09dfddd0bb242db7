from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import ConfigError
from crawl.html.encoding import charset_named, decode
from crawl.parsing.text.charset import charset_of, default_codec

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20
JAPANESE = "日本語の文章です。これは文字コードの判定のための文章です。" * 20


@pytest.mark.parametrize(
    ("body", "header", "expected"),
    [
        (b"\xef\xbb\xbfx", "text/html; charset=koi8-r", "utf-8"),
        (b"\xff\xfex\0", "", "utf-16le"),
        (b"\xfe\xff\0x", "", "utf-16be"),
        (b"\xe4", "text/html; charset=ISO-8859-1", "windows-1252"),
        (b"\xe4", 'text/html; charset="UTF-8"', "utf-8"),
        (b"x", "text/html; charset=zlib", "utf-8"),
        (b"x", "text/html; charset=unicode_escape", "utf-8"),
        (b"<meta charset=windows-1251>\xe4", "", "windows-1251"),
        (b"<meta charset='utf-8'>\xe4", "text/html; charset=koi8-r", "koi8-r"),
        (b"<META http-equiv=x content='text/html; charset=Shift_JIS'>\xe4", "", "shift_jis"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=gb2312>\xe4", "", "gbk"),
        (b"<meta charset=utf-16>", "", "utf-8"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?>\xe4", "", "iso-8859-2"),
        (b"<\0?\0x\0m\0l\0", "", "utf-16le"),
        (b"<meta charset=nonsense>plain", "", "utf-8"),
        (b"plain ascii", "", "utf-8"),
        ("Grüße".encode(), "", "utf-8"),
        ("Grüße…".encode()[:-1], "", "utf-8"),
        (RUSSIAN.encode("windows-1251"), "text/html", "windows-1251"),
        (RUSSIAN.encode("koi8-r"), "", "koi8-r"),
        (JAPANESE.encode("cp932"), "", "shift_jis"),
        (JAPANESE.encode("euc_jp"), "", "euc-jp"),
        (b"\x80\xff\x81", "", "windows-1252"),
    ],
)
def test_charsets(body: bytes, header: str, expected: str) -> None:
    assert charset_of(body, header) == expected


def test_what_a_page_says_far_down_is_not_heard() -> None:
    assert charset_of(b" " * 9000 + b"<meta charset=koi8-r>\xe4 x", "") == "windows-1252"


def test_the_default_must_be_a_charset() -> None:
    assert default_codec("latin1") == "windows-1252"
    with pytest.raises(ConfigError, match="no charset is called 'base64'"):
        default_codec("base64")


@pytest.mark.parametrize(
    "body",
    [
        "Grüße aus München und Köln".encode() + b" \x96 heute",
        ("日本語の文章です。" * 5).encode() + b"\xff",
        b"\xa0" + "Съешь же ещё этих булок".encode(),
        # far behind much ASCII, and where the page has replacement characters of its own
        b"x" * 200_000 + "Grüße".encode() + b"\xe4",
        ("Größe \ufffd\ufffd\ufffd\ufffd" * 3).encode() + b"\xe4",
        # a last character that is cut off, as well as a stray byte
        b"Gr\xfc\xdfe, " + "schöne grüne Bäume fällt…".encode()[:-1],
    ],
)
def test_text_that_is_almost_wholly_utf_8_with_a_stray_byte_is_utf_8(body: bytes) -> None:
    assert charset_of(body, "text/html") == "utf-8"
    assert charset_of(b"<html><p>" + body, "") == "utf-8"


@pytest.mark.parametrize(
    ("text", "codec"),
    [
        # a legacy text may have two characters that look like UTF-8, or end in half of one
        ("Ã¼ und schöne Grüße, für Bäume", "cp1252"),
        ("Un café", "cp1252"),
        (RUSSIAN, "cp866"),
        ("x" * 200_000 + RUSSIAN, "cp1251"),
    ],
)
def test_other_text_is_not_utf_8(text: str, codec: str) -> None:
    body = text.encode(codec)
    assert decode(body, charset_of(body, "text/html")) == text


def test_undeclared_iso_2022_jp_is_recognised() -> None:
    page = f"<html><title>{JAPANESE}</title>".encode("iso2022_jp")
    assert charset_of(page, "text/html") == "iso-2022-jp"
    assert charset_of(page[:-1], "") == charset_of(page[:50], "") == "iso-2022-jp"
    assert charset_of(page.replace(b"\x1b$B", b"\x1b$@"), "") == "iso-2022-jp"
    assert charset_of(b"<meta charset=bogus>" + page, "") == "iso-2022-jp"
    # what is said counts
    assert charset_of(page, "text/html; charset=utf-8") == "utf-8"
    assert charset_of(b"<meta charset=shift_jis>" + page, "") == "shift_jis"


@pytest.mark.parametrize(
    "body", [b"\x1b[0m red", b"\x1b$B", b"\x1b$B\xe4\xb8\xad", b"a \x1b$B\x01\x02\x03 b"]
)
def test_other_escapes_are_no_iso_2022_jp(body: bytes) -> None:
    assert charset_of(body, "text/plain") != "iso-2022-jp"


@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_body_can_be_read(body: bytes, header: str) -> None:
    charset = charset_of(body, header)
    assert charset_named(charset) == charset
    assert isinstance(decode(body, charset), str)
