from __future__ import annotations

import json
from typing import Any

import pytest

from crawl.errors import UsageError
from crawl.synthetic.web.kinds import PageKind, RobotsKind
from crawl.synthetic.web.settings import Settings


def test_they_travel_as_json() -> None:
    settings = Settings(
        7, 70, seed=3, kinds=(PageKind.LOOP,), robots=(RobotsKind.AWAY,), latency=0.5
    )
    assert Settings.from_json(json.loads(json.dumps(settings.as_json()))) == settings


def test_a_plain_web_can_still_be_given_one_oddity() -> None:
    settings = Settings.plain(2, 10, latency=0.1, robots=(RobotsKind.DELAY,))
    assert (settings.odd, settings.latency, settings.robots) == (0.0, 0.1, (RobotsKind.DELAY,))


@pytest.mark.parametrize(
    "wrong",
    [{"sites": 0}, {"sites": 5, "pages": 4}, {"addresses": 0}, {"addresses": 100}, {"fanout": 0}],
)
def test_what_cannot_be_meant_is_reported(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Settings(**wrong)
