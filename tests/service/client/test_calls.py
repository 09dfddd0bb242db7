"""When something is sent again, without a network and in no time."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from crawl.errors import ServiceFault, ServiceUnreachable
from crawl.service.client import calls, requests
from crawl.service.client.calls import Surroundings
from crawl.service.client.effects import Pause, Send, Unanswered
from crawl.service.client.requests import Answer

GOOD = Answer(200, {}, b'{"pages": [null]}')
JOBS = Answer(202, {}, b'{"jobs": []}')


class Time:
    """Goes on when somebody pauses."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def now_ms(self) -> int:
        return 1_700_000_000_000 + int(self.now * 1000)


def run(call: Any, time: Time, answers: Iterable[Answer | Unanswered]) -> tuple[Any, list[float]]:
    """The result, and the pauses before it."""
    pauses, coming = list[float](), iter(answers)
    try:
        effect = next(call)
        while True:
            if isinstance(effect, Pause):
                pauses.append(effect.seconds)
                time.now += effect.seconds
                effect = next(call)
                continue
            assert isinstance(effect, Send)
            given = next(coming)
            time.now += 0.01
            effect = call.throw(given) if isinstance(given, Unanswered) else call.send(given)
    except StopIteration as ended:
        return ended.value, pauses


@pytest.fixture
def time() -> Time:
    return Time()


def around(time: Time, seconds: float = 10.0) -> Surroundings:
    return Surroundings(time, random.Random(1), seconds)


def test_pauses_are_those_that_the_service_asks_for(time: Time) -> None:
    busy = Answer(429, {"retry-after": "2"})
    at = Answer(503, {"retry-after": "Tue, 14 Nov 2023 22:30:03 GMT"})
    found, pauses = run(calls.lookup(["u"], around(time), None), time, [busy, at, GOOD])
    assert found == [None]
    # 1,700,000,000 s and the clock's 1,002 are 22:30:02 of that day
    assert pauses == [2.0, pytest.approx(0.98, abs=0.02)]


def test_pauses_grow_where_the_service_asks_for_none(time: Time) -> None:
    _, pauses = run(calls.lookup(["u"], around(time), None), time, [Answer(503, {})] * 5 + [GOOD])
    assert len(pauses) == 5
    assert all(0.05 * 2**n <= each <= 0.1 * 2**n for n, each in enumerate(pauses))


def test_the_time_out_is_never_passed(time: Time) -> None:
    began = time.now
    with pytest.raises(ServiceFault) as fault:
        run(calls.lookup(["u"], around(time), None), time, [Answer(503, {"retry-after": "4"})] * 9)
    assert fault.value.status == 503
    assert time.now - began < 10


@pytest.mark.parametrize(
    "said", ["-1", "soon", "", "١", "9" * 400, "Tue, 99 Nov 2023 22:30:02 GMT"]
)
def test_a_retry_after_that_is_none_or_endless(said: str, time: Time) -> None:
    began = time.now
    answers = [Answer(429, {"retry-after": said}), GOOD]
    try:
        assert run(calls.lookup(["u"], around(time), None), time, [*answers])[0] == [None]
    except ServiceFault as fault:
        assert fault.retry_after_seconds is not None and fault.retry_after_seconds > 10
    assert time.now - began < 10


def test_only_what_does_no_harm_twice_is_sent_again_after_silence(time: Time) -> None:
    lost = Unanswered("broke off", may_have_arrived=True)
    refused = Unanswered("refused", may_have_arrived=False)
    hopeless = Unanswered("certificate", may_have_arrived=False, may_pass=False)
    options: dict[str, Any] = {
        "text": None,
        "priority": None,
        "max_age": None,
        "tags": None,
        "formats": None,
        "image": None,
    }
    assert run(calls.lookup(["u"], around(time), None), time, [lost, refused, GOOD])[0] == [None]
    assert run(calls.submit(["u"], around(time), **options), time, [refused, JOBS])[0] == []
    with pytest.raises(ServiceUnreachable, match="broke off"):
        run(calls.submit(["u"], around(time), **options), time, [lost])
    with pytest.raises(ServiceUnreachable, match="certificate"):
        run(calls.lookup(["u"], around(time), None), time, [hopeless])


def test_what_the_service_waits_comes_on_top(time: Time) -> None:
    call = calls.ask(requests.fetch("u", 60.0, None, None, None), around(time, 5.0))
    effect = next(call)
    assert isinstance(effect, Send) and effect.seconds == 65.0


def test_what_is_gone_already_is_cancelled(time: Time) -> None:
    call = calls.ask(requests.cancel_crawl("c"), around(time))
    lost = Unanswered("broke off", may_have_arrived=True)
    result, pauses = run(call, time, [lost, Answer(404, {})])
    assert (result, len(pauses)) == (None, 1)
