"""Bodies that break parsers: those that are known to, and a fixed jumble of the pieces that
pages are made of."""

from __future__ import annotations

import random

WICKED: tuple[bytes, ...] = (
    *(b"", b" ", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"<", b">", b"&", b"</", b"<!", b"<!--"),
    *(b"<?", b"<a", b"<a href", b"<a href=", b'<a href="', b"&#", b"&#x110000;", b"&#xd800;"),
    b"&#" + b"9" * 5000 + b";<p title='&#" + b"9" * 5000 + b"'>",
    *(b"{", b"[" * 5000, b"%PDF-1.4", b"PK\x03\x04", b"\x1f\x8b\x08", b"GIF89a", b"\x89PNG\r\n"),
    bytes(range(256)) * 4,
    "Grüße <a href='/ä?ö#ü'>日本語</a>\ud800".encode("utf-8", "surrogatepass"),
    "<title>größer</title>".encode("utf-16"),
    "<p>\N{LATIN SMALL LETTER U WITH DIAERESIS}".encode("latin-1"),
    b"<p>\x00a\x00\x1e\x85\x0b\x0c b\r\n\tc\xc2\xa0d\xe2\x80\xa8e",
    b"<?xml version='1.0' encoding='x'?><html xmlns='http://www.w3.org/1999/xhtml'/>",
    b"<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><x>&b;</x>",
    b"<div>" * 20_000,
    b"<a href=/x>" * 3_000,
    b"<p>" + b"".join(b"<b a=%d>" % n for n in range(2_000)) + b"<p>x" * 2_000,
    b"<x " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b">",
    b"<table><tr><td><table>" * 500,
    b"<svg><foreignObject><title>" * 200,
    b"<select><option>" * 1000,
    b"x" * 300_000,
    b" " * 300_000,
    b"<" * 50_000,
    b"&" * 50_000,
)

_PIECES: tuple[bytes, ...] = (
    *(b"<html lang=de>", b"<head>", b"</head>", b"<body>", b"</body>", b"<title>", b"</title>"),
    *(b"<p>", b"</p>", b"<div>", b"</div>", b"<div hidden>", b"<a href=/x>", b"<a href='y z'>"),
    *(b"</a>", b"<b>", b"</b>", b"<table>", b"<tr>", b"<td>", b"</table>", b"<ul>", b"<li>"),
    *(b"<img src=i.png alt=pic>", b"<br>", b"<script>", b"</script>", b"<style>", b"</style>"),
    *(b"<!--", b"-->", b"<noscript>", b"</noscript>", b"<template>", b"</template>", b"<svg>"),
    *(b"</svg>", b"<base href=/b/>", b"<meta name=robots content=none>", b"<select>", b"<option>"),
    *(b"<meta http-equiv=refresh content='0;url=/r'>", b"<link rel=canonical href=/c>"),
    *(b"<textarea>", b"</textarea>", b"<iframe src=f>", b"</iframe>", b"<![CDATA[", b"]]>"),
    *(b"<frameset>", b"<frame src=g>", b"<form action=/f>", b"<button>", b"<object data=o>"),
    *(b"text ", b"\n", b"\t", b"&amp;", b"&nbsp;", b"&#0;", b"\0", b"\xff", b"\xc3\xbc", b"<"),
    *(b">", b'"', b"'", b"=", b"/", b"</", b"<x-y>", b"{", b"}", b"[1,", b'"k":'),
    b"http://a.com/b ",
)


def wicked_bodies(jumbled: int = 300) -> list[bytes]:
    """The wicked bodies, and as many jumbled ones; the same every time."""
    chance = random.Random(5)
    return [
        *WICKED,
        *(b"".join(chance.choices(_PIECES, k=chance.randint(1, 40))) for _ in range(jumbled)),
    ]
