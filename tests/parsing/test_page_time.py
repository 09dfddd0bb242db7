from __future__ import annotations

import signal
from typing import Any

import pytest
from py3langid.langid import LanguageIdentifier

from crawl.parsing import language
from crawl.parsing.page_time import not_the_pages


def left() -> float:
    return signal.getitimer(signal.ITIMER_REAL)[0]


def test_the_alarm_stands_still_and_goes_on() -> None:
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        with not_the_pages():
            assert left() == 0
        assert 0 < left() <= 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    with not_the_pages():
        pass
    assert left() == 0, "where there was none there is none"


def test_the_languages_are_loaded_in_nobodys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def load(*arguments: Any, **named: Any) -> object:
        seen.append(left())
        return object()

    monkeypatch.setattr(LanguageIdentifier, "from_model_file", load)
    language._model.cache_clear()
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        language._model(())
        assert seen == [0] and left() > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        language._model.cache_clear()
