from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.synthetic.web.text import text_of

CODECS = ("utf-8", "windows-1252", "shift_jis")


@pytest.mark.parametrize("codec", CODECS)
@given(start=st.integers(0, 2**32), size=st.integers(1, 700_000))
def test_slices_are_whole_paragraphs_of_about_the_size(codec: str, start: int, size: int) -> None:
    body = b"".join(text_of(codec).slice(start, size))
    assert size <= len(body) <= size + 3000
    text = body.decode(codec)
    assert text.startswith("<p>")
    assert text.endswith(".</p>\n")
    assert text.count("<p>") == text.count("</p>\n")


def test_each_charset_has_letters_of_its_own() -> None:
    samples = {codec: b"".join(text_of(codec).slice(0, 5000)).decode(codec) for codec in CODECS}
    assert "日" in samples["shift_jis"]
    assert all(not samples[codec].isascii() for codec in CODECS)
