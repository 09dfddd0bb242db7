"""Chunks: joined they are the text, none is too long, and each knows its headings."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.maincontent.render import Heading
from crawl.phases.export.tasks.chunks import chunks_of
from crawl.phases.export.values import ChunkUnit
from tests.examples import scaled

_pieces = st.lists(
    st.one_of(
        st.tuples(st.integers(1, 6), st.text("ab ", min_size=1, max_size=8)),
        st.tuples(st.just(0), st.text("ab .。\n é漢", max_size=120)),
    ),
    max_size=12,
)


def made(pieces: list[tuple[int, str]]) -> tuple[str, list[Heading]]:
    text, headings = "", []
    for level, piece in pieces:
        if level:
            headings.append(Heading(len(text), level, piece))
        text += f"{piece}\n\n"
    return text, headings


@settings(max_examples=scaled(300))
@given(_pieces, st.integers(1, 80), st.sampled_from(ChunkUnit))
def test_joined_chunks_are_the_text(
    pieces: list[tuple[int, str]], most: int, unit: ChunkUnit
) -> None:
    text, headings = made(pieces)
    chunks = chunks_of(text, headings, most, unit)
    assert "".join(text[chunk.start : chunk.end] for chunk in chunks) == text
    starts = [heading.at for heading in headings]
    for chunk in chunks:
        part = text[chunk.start : chunk.end]
        assert part
        assert (len(part) if unit is ChunkUnit.CHARACTERS else len(part.split())) <= most
        before = [heading for heading in headings if heading.at <= chunk.start]
        assert chunk.headings[-1:] == tuple(heading.title for heading in before[-1:])
        if chunk.start not in (0, *starts):  # what was cut ends at the next heading
            assert not any(chunk.start < start < chunk.end for start in starts)


def test_a_section_that_fits_stays_whole_with_its_subsections() -> None:
    text, headings = made(
        [(1, "top"), (0, "a a"), (2, "below"), (0, "b b"), (1, "next"), (0, "c c")]
    )
    chunks = chunks_of(text, headings, 40)
    assert [text[chunk.start : chunk.end].split()[0] for chunk in chunks] == ["top", "next"]
    assert [chunk.headings for chunk in chunks] == [("top",), ("next",)]
    smaller = chunks_of(text, headings, 16)
    assert [chunk.headings for chunk in smaller] == [("top",), ("top", "below"), ("next",)]


def test_a_long_section_is_cut_at_paragraphs_then_sentences_then_words() -> None:
    text = "One two three.\n\nFour five. Six seven. " + "x" * 30
    parts = [text[chunk.start : chunk.end] for chunk in chunks_of(text, [], 20)]
    assert parts == ["One two three.\n\n", "Four five. ", "Six seven. ", "x" * 20, "x" * 10]
    words = [text[chunk.start : chunk.end] for chunk in chunks_of(text, [], 2, ChunkUnit.WORDS)]
    assert words == ["One two ", "three.\n\n", "Four five. ", "Six seven. ", "x" * 30]


def test_a_text_of_one_word_without_end_takes_linear_time() -> None:
    assert len(chunks_of("x" * 1_000_000, [], 1000)) == 1000
    assert len(chunks_of("\n" * 200_000, [], 1000)) == 200
