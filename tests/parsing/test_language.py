from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.parsing.language import (
    Identifier,
    _model,
    first_declared,
    normalised,
    sample,
    unknown_languages,
)

TEXTS = {
    "en": "The weather will be fine tomorrow, with some clouds in the afternoon.",
    "de": "Das Wetter wird morgen schön, mit einigen Wolken am Nachmittag.",
    "fr": "Le temps sera beau demain, avec quelques nuages dans l'après-midi.",
    "es": "Mañana hará buen tiempo, con algunas nubes por la tarde.",
    "ru": "Завтра будет хорошая погода, днём немного облаков.",
    "ja": "明日は天気が良く、午後は少し雲が出るでしょう。",
    "zh": "明天天气晴朗，下午有一些云。",
    "ko": "내일은 날씨가 맑고 오후에는 구름이 조금 끼겠습니다.",
    "el": "Αύριο ο καιρός θα είναι καλός, με λίγα σύννεφα το απόγευμα.",
    "pl": "Jutro będzie ładna pogoda, po południu trochę chmur.",
}


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("de", "de"),
        ("DE-at", "de"),
        (" en_US ", "en"),
        ("en-GB,en;q=0.7", "en"),
        ("fr; q=1", "fr"),
        ("zh-Hant-TW-x-private", "zh"),
        ("ger", "de"),
        ("German", "de"),
        ("iw", "he"),
        ("jp", "ja"),
        ("nb-NO", "no"),
        ("gsw", "gsw"),
        ("", ""),
        ("und", ""),
        ("x-default", ""),
        ("de-", ""),
        ("klingonish", ""),
        ("volapuk", ""),
        ("<script>", ""),
        ("e", ""),
        ("1en", ""),
        ("日本語", ""),
    ],
)
def test_declared_languages_in_one_form(declared: str, code: str) -> None:
    assert normalised(declared) == code


@given(st.text())
def test_a_code_is_two_or_three_letters_or_nothing(declared: str) -> None:
    code = normalised(declared)
    assert code == "" or (code.isascii() and code.islower() and len(code) in (2, 3))
    assert normalised(code) == code


def test_the_first_that_says_something() -> None:
    assert first_declared(["", "und", "de-AT", "fr"]) == "de"
    assert first_declared([]) == ""


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_identified(language: str) -> None:
    assert Identifier().identify(TEXTS[language]) == language
    # in so few words, Chinese might be Wu as well
    certain = Identifier(only_certain=True).identify(TEXTS[language])
    assert certain == ("" if language == "zh" else language)


@pytest.mark.parametrize("text", ["", "12345 67,8 €", "a b", "\0\0\0", "?!.. --", "😀😀😀"])
def test_what_does_not_tell_is_not_guessed(text: str) -> None:
    assert Identifier().identify(text) == ""


def test_only_some_languages() -> None:
    assert Identifier(["en", "fr"]).identify(TEXTS["es"]) in ("en", "fr", "")
    assert Identifier().identify(TEXTS["es"]) == "es"
    assert unknown_languages(["de", "xx", "aa"]) == ["aa", "xx"]


@given(st.text(), st.text(), st.integers(0, 50))
def test_a_sample_has_no_more_bytes(title: str, text: str, most: int) -> None:
    taken = sample(title, text, most)
    whole = f"{title}\n{text}"
    assert most == 0 or len(taken.encode()) <= most
    assert most or taken == whole
    if len(text) <= most:
        assert whole.startswith(taken) or len(title) > most


def test_a_long_text_is_looked_at_in_its_middle_too() -> None:
    menu, words = "Home | Login | Impressum | ", TEXTS["fr"] + " "
    taken = sample("Titre", menu * 20 + words * 20, 200)
    assert taken.startswith("Titre\nHome | Login")
    assert "nuages" in taken and len(taken.encode()) <= 200
    assert Identifier().identify(sample("", menu * 20 + words * 40, 256)) == "fr"


def test_chinese_in_its_longer_characters_is_chinese() -> None:
    text = "本手冊說明如何安裝系統，並介紹檔案與目錄的用法。請先閱讀這一章。" * 4
    assert Identifier().identify(text) == "zh"


@pytest.mark.parametrize("text", ["Index of /pub", "Login", "OK Cancel Help", "404 Not Found"])
def test_a_few_words_have_no_language_rather_than_a_wrong_one(text: str) -> None:
    assert Identifier().identify(text) in ("", "en")


@given(st.text(st.characters(exclude_categories=()), max_size=200))
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert isinstance(Identifier().identify(sample("", text, 2048)), str)


def test_without_memory_for_the_model_there_is_no_language(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def short() -> None:
        raise MemoryError

    monkeypatch.setattr("crawl.parsing.language_model.load_model", short)
    _model.cache_clear()
    try:
        assert Identifier().identify(TEXTS["de"]) == ""
    finally:
        _model.cache_clear()
