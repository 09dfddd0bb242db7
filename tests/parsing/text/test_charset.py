from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import ConfigError
from crawl.parsing.text.charset import charset_of, codec_of, default_codec

RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 20
JAPANESE = "日本語の文章です。これは文字コードの判定のための文章です。" * 20


@pytest.mark.parametrize(
    ("body", "header", "expected"),
    [
        (b"\xef\xbb\xbfx", "text/html; charset=koi8-r", "utf-8"),
        (b"\xff\xfex\0", "", "utf-16-le"),
        (b"\xfe\xff\0x", "", "utf-16-be"),
        (b"\xe4", "text/html; charset=ISO-8859-1", "cp1252"),
        (b"\xe4", 'text/html; charset="UTF-8"', "utf-8"),
        (b"x", "text/html; charset=zlib", "utf-8"),
        (b"x", "text/html; charset=unicode_escape", "utf-8"),
        (b"<meta charset=windows-1251>\xe4", "", "cp1251"),
        (b"<meta charset='utf-8'>\xe4", "text/html; charset=koi8-r", "koi8-r"),
        (b"<META http-equiv=x content='text/html; charset=Shift_JIS'>\xe4", "", "cp932"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=gb2312>\xe4", "", "gb18030"),
        (b"<meta charset=utf-16>", "", "utf-8"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?>\xe4", "", "iso8859-2"),
        (b"<\0?\0x\0m\0l\0", "", "utf-16-le"),
        (b"<meta charset=nonsense>plain", "", "utf-8"),
        (b"plain ascii", "", "utf-8"),
        ("Grüße".encode(), "", "utf-8"),
        ("Grüße…".encode()[:-1], "", "utf-8"),
        (RUSSIAN.encode("cp1251"), "text/html", "cp1251"),
        (RUSSIAN.encode("koi8-r"), "", "koi8-r"),
        (JAPANESE.encode("cp932"), "", "cp932"),
        (JAPANESE.encode("euc_jp"), "", "euc_jp"),
        (b"\x80\xff\x81", "", "cp1252"),
    ],
)
def test_charsets(body: bytes, header: str, expected: str) -> None:
    assert charset_of(body, header) == expected


def test_what_a_page_says_far_down_is_not_heard() -> None:
    assert charset_of(b" " * 9000 + b"<meta charset=koi8-r>\xe4 x", "") == "cp1252"


def test_the_default_must_be_a_charset() -> None:
    assert default_codec("latin1") == "cp1252"
    with pytest.raises(ConfigError, match="no charset is called 'base64'"):
        default_codec("base64")


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("UTF8", "utf-8"),
        ("us-ascii", "cp1252"),
        ("latin1", "cp1252"),
        ("EUC-KR", "cp949"),
        ("ks_c_5601-1987", "cp949"),
        ("GBK", "gb18030"),
        ("big5", "big5hkscs"),
        ("x-sjis", "cp932"),
        ("windows-31j", "cp932"),
        ("iso-8859-9", "cp1254"),
        ("tis-620", "cp874"),
        ("macintosh", "mac-roman"),
        ("x-cp1251", "cp1251"),
        ("rot13", None),
        ("idna", None),
        ("utf-7", None),
        ("", None),
        ("a\0b", None),
        ("x" * 500, None),
    ],
)
def test_names_are_read_as_browsers_read_them(label: str, codec: str | None) -> None:
    assert codec_of(label) == codec


@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_body_can_be_read(body: bytes, header: str) -> None:
    codec = charset_of(body, header)
    assert codecs.lookup(codec)._is_text_encoding
    assert isinstance(body.decode(codec, "replace"), str)


@given(st.text(max_size=60))
def test_any_name_is_a_codec_of_text_or_none(label: str) -> None:
    codec = codec_of(label)
    assert codec is None or b"abc".decode(codec, "replace")
