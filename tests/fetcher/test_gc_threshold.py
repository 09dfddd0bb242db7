from __future__ import annotations

import gc

import pytest

from crawl.fetcher.gc_threshold import raised_gc_threshold


def test_the_threshold_is_raised_and_given_back() -> None:
    before = gc.get_threshold()
    with pytest.raises(RuntimeError), raised_gc_threshold():
        assert gc.get_threshold() == (max(50_000, before[0]), *before[1:])
        raise RuntimeError
    assert gc.get_threshold() == before


def test_one_that_is_higher_stays() -> None:
    before = gc.get_threshold()
    gc.set_threshold(100_000)
    try:
        with raised_gc_threshold():
            assert gc.get_threshold()[0] == 100_000
    finally:
        gc.set_threshold(*before)
