from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.html.encoding import (
    _QUICK_CODECS,
    charset_named,
    decode,
    encode_query,
    encodes_queries,
)
from tests.html.encoding_labels import LABELS

CHARSETS = sorted(set(LABELS.values()))


def test_all_labels_of_the_encoding_standard_are_known() -> None:
    assert len(LABELS) == 228 and len(CHARSETS) == 40
    assert {label: charset_named(label) for label in LABELS} == LABELS
    assert {label: charset_named(f"\t{label.upper()} ") for label in LABELS} == LABELS


@pytest.mark.parametrize(
    ("label", "charset"),
    [
        ("cp932", "shift_jis"),
        ("UHC", "euc-kr"),
        ("cp936", "gbk"),
        ("utf_8", "utf-8"),
        ("latin-1", "windows-1252"),
        ("mac_roman", "macintosh"),
        ("utf-16-le", "utf-16le"),
        ("rot13", None),
        ("base64", None),
        ("idna", None),
        ("unicode_escape", None),
        ("utf-7", None),
        ("utf-32", None),
        ("", None),
        ("a\0b", None),
        ("ＵＴＦ-8", None),
        ("\ud800", None),
        ("x" * 500, None),
    ],
)
def test_names_that_the_standard_does_not_know(label: str, charset: str | None) -> None:
    assert charset_named(label) == charset


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        # NEC's and IBM's characters, 457 in all, which Python's codecs lack
        ("euc-jp", b"\xad\xa1\xad\xe2\xf9\xa1\xfc\xfe", "①№纊\uff02"),
        ("iso-2022-jp", b"\x1b$B-!-by!\x1b(B!", "①№纊!"),
        ("euc-jp", b"\xa4\xa2\xad\xa1\xa4\xa4", "あ①い"),
        ("euc-jp", b"\x8e\xb1\x8f\xa2\xaf\xa1\xc1", "ｱ˘～"),
        ("iso-2022-jp", b"\x1b(I1\x1b(J\\~\x1b(B\\", "ｱ¥‾\\"),
        ("shift_jis", b"\x87\x40\xed\x40\x81\x60\x80\\~\xf0\x40", "①纊～\x80\\~\ue000"),
        ("big5", b"\x87\x40\x88\x62\xa4\xa4\xc6\xa1", "䏰Ê̄中①"),
        ("gb18030", b"\xa2\xe3\xa6\xd9\xa8\xbc\x94\x39\xfc\x36", "€︐ḿ😀"),
        ("gbk", b"\x80\xa2\xe3\xd6\xd0", "€€中"),
        ("euc-kr", b"\x81\x41\xb0\xa1\xc6\x52", "갂가힣"),
        ("koi8-u", b"\xae\xbe\xa4\xc1", "ўЎєа"),
        ("windows-1252", b"\x80\x81\x8d\xe9", "€\x81\x8dé"),
        ("windows-1255", b"\xca\xe0", "\u05baא"),
        ("windows-874", b"\xa1\xdb\x80", "ก\ufffd€"),
        ("iso-8859-8-i", b"\xe0\xe1", "אב"),
        ("x-user-defined", b"a\x80\xff", "a\uf780\uf7ff"),
        ("x-mac-cyrillic", b"\x80\xff", "А€"),
        ("utf-16le", b"a\0\x00\xd8b\0", "a\ufffdb"),
        ("utf-16be", b"\0a\0", "a\ufffd"),
        ("replacement", b"<a href=x>", "\ufffd"),
        # what does not fit swallows no ASCII: it may be the end of a tag
        ("euc-jp", b"\xa4<b>", "\ufffd<b>"),
        ("shift_jis", b"\x81<b>", "\ufffd<b>"),
        ("big5", b"\xa4<b>", "\ufffd<b>"),
        ("gb18030", b"\xd6<b>", "\ufffd<b>"),
        ("euc-kr", b"\xb0<b>", "\ufffd<b>"),
    ],
)
def test_bytes_are_read_as_the_indexes_of_the_standard_say(
    charset: str, body: bytes, text: str
) -> None:
    assert decode(body, charset) == text


@pytest.mark.parametrize("charset", sorted(_QUICK_CODECS))
def test_a_quick_codec_says_what_the_library_says(charset: str) -> None:
    import endec

    for pair in range(0x10000 if charset.startswith("utf-16") else 0x100):
        body = pair.to_bytes(2 if charset.startswith("utf-16") else 1, "big")
        assert decode(body, charset) == endec.decode(body, charset, "replace", bom="ignore")


@given(st.binary(max_size=100), st.sampled_from([*CHARSETS, "utf-7", "cp932"]))
def test_any_bytes_are_read_in_any_charset(body: bytes, charset: str) -> None:
    decode(body, charset).encode()


@pytest.mark.parametrize(
    ("charset", "reference", "encoded"),
    [
        ("shift_jis", "/日本?q=日本", "/日本?q=%93%FA%96{"),
        ("shift_jis", "?q=日&x=1#日?日", "?q=%93%FA&x=1#日?日"),
        ("shift_jis", "/日本#?日本", "/日本#?日本"),
        ("shift_jis", "/日本", "/日本"),
        ("shift_jis", "?q=%93a b", "?q=%93a b"),
        ("euc-jp", "?q=日本", "?q=%C6%FC%CB%DC"),
        ("euc-jp", " ?q=日\n本\t ", "?q=%C6%FC%CB%DC"),
        ("gbk", "?q=中'\"<> ~", "?q=%D6%D0%27%22%3C%3E%20~"),
        ("big5", "?q=中", "?q=%A4%A4"),
        ("euc-kr", "?q=한", "?q=%C7%D1"),
        ("windows-1251", "?q=Привет", "?q=%CF%F0%E8%E2%E5%F2"),
        ("windows-1252", "?q=ü€", "?q=%FC%80"),
        # what the charset lacks is a number, escaped
        ("windows-1251", "?q=Я日", "?q=%DF%26%2326085%3B"),
        ("windows-1252", "?q=&#233;ä日", "?q=&#233;ä日"),
        ("gbk", "?q=😀", "?q=%26%23128512%3B"),
        ("gb18030", "?q=😀", "?q=%949%FC6"),
        ("iso-2022-jp", "?q=日本x", "?q=%1B$BF|K\\%1B(Bx"),
        ("iso-2022-jp", "?q=日éΓ", "?q=%1B$BF|%1B(B%26%23233%3B%1B$B&%23%1B(B"),
        ("x-user-defined", "?q=\uf7e4", "?q=%E4"),
    ],
)
def test_a_query_is_encoded_in_the_charset(charset: str, reference: str, encoded: str) -> None:
    assert encode_query(reference, charset) == encoded


def test_queries_of_these_are_in_utf_8() -> None:
    others = {"utf-8", "utf-16le", "utf-16be", "replacement"}
    assert {charset for charset in CHARSETS if not encodes_queries(charset)} == others


@given(st.text(max_size=30), st.sampled_from(list(filter(encodes_queries, CHARSETS))))
def test_any_query_can_be_encoded(query: str, charset: str) -> None:
    encoded = encode_query("?" + query.replace("#", ""), charset)
    assert encoded.isascii()
