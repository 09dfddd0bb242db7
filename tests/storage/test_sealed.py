from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.storage.sealed import bears_seal, seal, seal_text, unseal
from tests.examples import scaled

contents = st.dictionaries(
    st.text(max_size=6).filter(lambda key: key != "seal"),
    st.integers() | st.text(max_size=9) | st.lists(st.integers(), max_size=3),
    max_size=4,
)


@given(contents)
def test_what_is_sealed_is_read_also_by_others(content: dict[str, object]) -> None:
    raw = seal(content)
    assert unseal(raw) == unseal(raw, unsealed=False) == content
    assert bears_seal(raw)
    assert json.loads(raw) == {**content, "seal": json.loads(raw)["seal"]}
    indented = seal_text(json.dumps(content, indent=1) + "\n")
    assert unseal(indented) == content


@given(contents, st.data())
@settings(max_examples=scaled(200))
def test_no_flipped_bit_and_no_cut_changes_what_is_read(
    content: dict[str, object], data: st.DataObject
) -> None:
    raw = seal(content)
    place = data.draw(st.integers(0, len(raw) * 8 - 1))
    flipped = bytearray(raw)
    flipped[place // 8] ^= 1 << place % 8
    for damaged in (bytes(flipped), raw[: place // 8]):
        try:
            assert unseal(damaged, unsealed=False) == content
        except ValueError:
            continue


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"a": 1, "seal": "0123"}'],
)
def test_what_is_no_sealed_file(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r"^it|^its"):
        unseal(raw)


def test_files_of_former_releases() -> None:
    pointer = b'{"next": 2, "snapshots": [1]}\n0f4b7b3d3a1b7f6a\n'
    with pytest.raises(ValueError, match="checksum"):
        unseal(pointer, unsealed=False)
    assert unseal(b'{"files": []}') == {"files": []}
    with pytest.raises(ValueError, match="checksum"):
        unseal(b'{"files": []}', unsealed=False)
    assert not bears_seal(b'{"files": []}')
