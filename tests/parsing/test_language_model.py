from __future__ import annotations

from pathlib import Path

import pytest

from crawl.parsing.language_model import LanguageModel, load_model
from tests.parsing.test_language import TEXTS


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "nutria"


def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that grows whenever the package's own file is unpacked."""
    from py3langid.langid import LanguageIdentifier

    unpack, seen = LanguageIdentifier.from_model_file, list[str]()

    def unpacked(file: str, *, norm_probs: bool) -> object:
        seen.append(file)
        return unpack(file, norm_probs=norm_probs)

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", unpacked)
    return seen


def answers(model: object) -> list[tuple[str, float]]:
    if isinstance(model, LanguageModel):
        return [model.best(text)[:2] for text in TEXTS.values()]
    return [model.classify(text) for text in TEXTS.values()]  # type: ignore[attr-defined]


def test_it_is_unpacked_once_and_says_the_same(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    expected = answers(LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True))
    seen = loads(monkeypatch)
    for _ in range(3):
        found = answers(load_model())
        assert [code for code, _ in found] == [code for code, _ in expected]
        for (_, sure), (_, as_sure) in zip(found, expected, strict=True):
            assert sure == pytest.approx(as_sure, abs=0.01)
    assert len(seen) == 1
    (folder,) = cache.iterdir()
    assert folder.name.startswith("langid-")


@pytest.mark.parametrize("damage", ["cut", "missing", "garbled", "zeroes"])
def test_what_is_damaged_is_made_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    load_model()
    (weights,) = cache.glob("*/weights.npy")
    whole = weights.read_bytes()
    if damage == "missing":
        weights.unlink()
    else:
        end = {"cut": whole[:1000], "garbled": b"x" * 5000, "zeroes": whole[:128]}[damage]
        weights.write_bytes(end + bytes(len(whole) - len(end)) * (damage == "zeroes"))
    seen = loads(monkeypatch)
    for _ in range(2):
        assert [code for code, _ in answers(load_model())] == list(TEXTS)
    assert len(seen) == 1
    assert weights.read_bytes() == whole
    assert len(list(cache.iterdir())) == 1


def test_where_nothing_can_be_written_it_is_loaded_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert load_model().best(TEXTS["fr"]).code == "fr"
