from __future__ import annotations

import copy
import dataclasses
import pickle
import pprint

import pytest

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.model.value import quick_value, replace

DATUM = CrawlDatum(Status.DB_FETCHED, 7, 5, 3, 1, 0.5, b"sig", {"a": "b"})


@quick_value(frozen=True, slots=True)
class Place:
    name: str
    floor: int = 0


@quick_value(frozen=True, slots=True, eq=False)
class Person:
    name: str


def test_values_are_equal_hashed_printed_and_pickled_as_dataclasses_are() -> None:
    assert Place("a") == Place("a", 0) != Place("a", 1)
    assert len({Place("a"), Place("a"), Place("b")}) == 2
    assert repr(Place("a", 2)) == "Place(name='a', floor=2)"
    assert pickle.loads(pickle.dumps(DATUM)) == DATUM == copy.copy(DATUM)


def test_they_are_printed_prettily_where_an_assertion_compares_them() -> None:
    assert pprint.pformat({"a": DATUM}, width=20) == f"{{'a': {DATUM!r}}}"
    with pytest.raises(AssertionError, match="floor=2"):
        assert {"a": (Place("a", 2), ("length",))} == {}


def test_some_are_only_themselves() -> None:
    one, other = Person("a"), Person("a")
    assert one != other and len({one, other}) == 2


@pytest.mark.parametrize("changes", [{}, {"score": 2.0}, {"status": Status.DB_GONE, "retries": 9}])
def test_replacing_is_what_dataclasses_do(changes: dict[str, object]) -> None:
    before = copy.copy(DATUM)
    assert replace(DATUM, **changes) == dataclasses.replace(DATUM, **changes)  # type: ignore[arg-type]
    assert before == DATUM, "the original stays"


def test_there_are_no_other_fields() -> None:
    with pytest.raises(TypeError):
        replace(Place("a"), nmae="b")  # type: ignore[call-arg]  # that is the point


def test_nobody_changes_a_value() -> None:
    place = Place("a")
    with pytest.raises(AttributeError):
        place.floor = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        place.roof = 1  # type: ignore[attr-defined]
    assert place == Place("a")
