from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.html.prescan import charset_parameter, declared_charset


@pytest.mark.parametrize(
    "page",
    [
        b"<meta charset=bogus><meta charset=euc-jp>",
        b"<meta charset=''><meta charset=euc-jp>",
        b"<meta charset='bogus' charset='big5'><meta charset=euc-jp>",
        b"<meta http-equiv=content-type content='text/html; charset=x'><meta charset='EUC-JP'>",
        b"<meta charset=bogus http-equiv=Content-Type content='text/html; charset=euc-jp'>",
        b"<?xml version='1.0' encoding='bogus'?><html><meta charset=euc-jp>",
    ],
)
def test_a_bogus_first_meta_charset_does_not_hide_the_second(page: bytes) -> None:
    assert declared_charset(page).charset == "euc-jp"


@pytest.mark.parametrize(
    ("page", "charset"),
    [
        (b'<META CHARSET = "Shift_JIS" />', "shift_jis"),
        (b"<meta/charset=big5>", "big5"),
        (b"<meta content='text/html;charset=gb2312' http-equiv='Content-Type'>", "gbk"),
        (b"<meta name=x\ncharset=koi8-u", "koi8-u"),
        (b"<meta charset=utf-16le>", "utf-8"),
        (b"<meta charset=x-user-defined>", "windows-1252"),
        (b"<meta charset=hz-gb-2312>", "replacement"),
        (b"<!-- <meta charset=koi8-r> --><meta charset=euc-kr>", "euc-kr"),
        (b"<!--><meta charset=koi8-r>-->", "koi8-r"),
        (b"<!-- > <meta charset=koi8-r>", None),
        (b"<! <meta charset=koi8-r><meta charset=euc-kr>", "euc-kr"),
        (b"<a title='<meta charset=koi8-r>'><meta charset=euc-kr>", "euc-kr"),
        (b"</meta charset=koi8-r><metadata charset=koi8-r><meta charset=euc-kr>", "euc-kr"),
        (b"<meta name=description content='charset=koi8-r'>", None),
        (b"<script>var charset = 'koi8-r'</script>", None),
        (b"<\0h\0t\0m\0l\0>\0", "utf-16le"),
        (b"\0<\0h\0t\0m\0l\0>", "utf-16be"),
        (b"<?xml version='1.0' encoding='utf-16'?>", "utf-8"),
        (b"", None),
        (b" " * 8_200 + b"<meta charset=koi8-r>", None),
    ],
)
def test_declarations(page: bytes, charset: str | None) -> None:
    assert declared_charset(page).charset == charset


def test_a_meta_tag_of_another_name_gives_a_hint() -> None:
    page = b"<meta name=content-type content='text/html; charset=koi8-r'>"
    assert declared_charset(page) == (None, "koi8-r")
    assert declared_charset(page + b"<meta charset=big5>") == ("big5", None)


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        ("text/html; charset=EUC-JP", "euc-jp"),
        ("text/html;charset='iso88591'; x=y", "windows-1252"),
        ('text/html; charset="utf-8', "utf-8"),
        ("text/html; charset = koi8-ru", "koi8-u"),
        ("text/html; charset=bogus", None),
        ("text/html", None),
        ("", None),
    ],
)
def test_the_charset_of_a_content_type(text: str, charset: str | None) -> None:
    assert charset_parameter(text) == charset


@given(
    st.lists(
        st.sampled_from(
            [
                b"<",
                b"meta ",
                b"charset=",
                b"koi8-r",
                b"'",
                b">",
                b"!--",
                b"--",
                b"/",
                b"content=",
                b"\0",
                b"?xml ",
            ]
        )
    )
)
def test_any_bytes_may_be_scanned(pieces: list[bytes]) -> None:
    declared_charset(b"".join(pieces))
