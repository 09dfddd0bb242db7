"""Hypothesis strategies for URLs and for texts that look like URLs."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = (
    *("http://", "https://", "HTTP:", "ftp://", "file:///", "file:", "javascript:", "mailto:"),
    *("data:", "//", "/", "\\", "..", ".", "./", "/../", "%2e", "%2E%2e", "%", "%zz", "%41"),
    *("%00", "%c3%bc", "%7e", "\0", "\t", "\n", "\r", " ", "@", ":", "::", "[", "]", "[::1]"),
    *("[::ffff:1.2.3.4]", "1.2.3.4", "0x7f.1", "2130706433", "256.256.256.256", "?", "&", "="),
    *("#", "#!", "a", "b", "C", "com", "example.com", "www.example.co.uk", "xn--", "xn--a"),
    *("XN--1ch.", ".xn--a.", "%78n--a", "q--", "x\tn--a"),
    *("xn--mnchen-3ya", "ü", "ß", "日本", "。", "İ", "\u200d", "\u00ad", "😀", "80", ":443"),
    *(":80", ":65536", ":0", "user:pa@ss@", "|", "C|", "C:", "^", "`", "{", "<", ">", '"', "'"),
    *("\x7f", "\ufeff", "-", "_", "~", "+", "*", ";", ",", "sid=1", "PHPSESSID=x", "?&", "&&"),
    *("_escaped_fragment_=", "index.html", ".gif", ".JPG", "/a/a/a", "2024/01/", "\u2028", "K"),
)

beginnings = st.sampled_from(("http://", "https://", "http://example.com/", "ftp://h/", ""))
jumbled = st.builds(
    lambda beginning, pieces: beginning + "".join(pieces),
    beginnings,
    st.lists(st.sampled_from(PIECES), max_size=9),
)
any_text = st.text(max_size=40)
with_surrogates = st.text(st.characters(exclude_categories=()), max_size=20)

encodable = st.one_of(jumbled, jumbled, any_text)
"""Texts that an Arrow column can hold."""

texts = st.one_of(jumbled, jumbled, any_text, with_surrogates)
"""Any text at all, most of it URL-like."""
