from __future__ import annotations

import signal
from typing import Any

import pytest

from crawl.parsing import language, language_model
from crawl.parsing.page_time import outside_page_time


def left() -> float:
    return signal.getitimer(signal.ITIMER_REAL)[0]


def test_the_alarm_stands_still_and_goes_on() -> None:
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        with outside_page_time():
            assert left() == 0
        assert 0 < left() <= 1000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    with outside_page_time():
        pass
    assert left() == 0, "where there was none there is none"


def test_the_languages_are_loaded_in_nobodys_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def load(*arguments: Any, **named: Any) -> object:
        seen.append(left())
        return object()

    monkeypatch.setattr(language_model, "load_model", load)
    language._model.cache_clear()
    try:
        signal.setitimer(signal.ITIMER_REAL, 1000)
        language._model(())
        assert seen == [0] and left() > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        language._model.cache_clear()
