from __future__ import annotations

import asyncio
import threading

import pytest

from crawl.service.event_filter import EventFilter
from crawl.service.stores.memory import MemoryStore
from crawl.service.telling.events import (
    Event,
    EventBus,
    EventId,
    Lagged,
    Listener,
    TooManyListeners,
    next_epoch,
    parse_event_id,
)
from crawl.testing.clock import ManualClock


async def heard(listener: Listener, count: int) -> list[str | int | None]:
    """The data of events, and how many are missing, of so many things heard."""
    result: list[str | int | None] = []
    for _ in range(count):
        event = await asyncio.wait_for(listener.next(), 60)
        assert event is not None
        result.append(event.data if isinstance(event, Event) else event.missed)
    return result


def test_what_is_published_is_heard_in_its_order() -> None:
    async def run() -> None:
        bus = EventBus(1)
        listeners = [bus.listen() for _ in range(3)]
        ids = [bus.publish("finished", str(number)) for number in range(5)]
        assert ids == sorted(ids)
        for listener in listeners:
            assert await heard(listener, 5) == list("01234")

    asyncio.run(run())


def test_many_threads_publish_while_many_listen() -> None:
    async def run() -> None:
        bus = EventBus(1, buffer=10_000)
        listeners = [bus.listen() for _ in range(10)]

        def publish(name: int) -> None:
            for number in range(200):
                bus.publish("finished", f"{name} {number}")

        threads = [threading.Thread(target=publish, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        results = await asyncio.gather(*(heard(listener, 800) for listener in listeners))
        for thread in threads:
            thread.join()
        # everybody heard everything, in one order, which is each thread's own
        assert all(result == results[0] for result in results)
        for name in range(4):
            own = [each for each in results[0] if str(each).startswith(f"{name} ")]
            assert own == [f"{name} {number}" for number in range(200)]

    asyncio.run(run())


def test_listeners_come_and_go_while_events_are_published() -> None:
    bus = EventBus(1)
    over = threading.Event()

    def publish() -> None:
        while not over.is_set():
            bus.publish("finished", "x")

    async def come_and_go() -> None:
        for _ in range(200):
            listener = bus.listen()
            [first] = await heard(listener, 1)
            assert first == "x" or isinstance(first, int)  # the publisher is quick
            listener.close()

    async def run() -> None:
        await asyncio.gather(*(come_and_go() for _ in range(5)))

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        asyncio.run(run())
    finally:
        over.set()
        thread.join()
    assert bus.listeners == 0


def test_a_slow_listener_is_told_how_many_it_missed_and_holds_nobody_up() -> None:
    async def run() -> None:
        bus = EventBus(1, buffer=3)
        slow, quick = bus.listen(), bus.listen()
        for number in range(10):
            bus.publish("finished", str(number))
            assert await heard(quick, 1) == [str(number)]
        assert await heard(slow, 4) == [7, "7", "8", "9"]
        bus.publish("finished", "10")
        assert await heard(slow, 1) == ["10"]

    asyncio.run(run())


def test_who_comes_again_hears_what_the_ring_still_has() -> None:
    async def run() -> None:
        bus = EventBus(7, ring=5)
        ids = [bus.publish("finished", str(number)) for number in range(8)]
        assert await heard(bus.listen(last=ids[5]), 2) == ["6", "7"]
        assert await heard(bus.listen(last=ids[2]), 5) == list("34567")
        assert await heard(bus.listen(last=ids[0]), 6) == [2, *"34567"]
        last = bus.listen(last=ids[7])
        bus.publish("finished", "8")
        assert await heard(last, 1) == ["8"]

    asyncio.run(run())


def test_after_a_restart_nobody_knows_how_many_are_missing() -> None:
    async def run() -> None:
        bus = EventBus(8)
        bus.publish("finished", "0")
        assert await heard(bus.listen(last=EventId(7, 100)), 2) == [None, "0"]
        assert await heard(bus.listen(last=EventId(8, 100)), 2) == [None, "0"]
        empty = EventBus(9)
        listener = empty.listen(last=EventId(8, 1))
        assert await heard(listener, 1) == [None]

    asyncio.run(run())


def test_filters() -> None:
    async def run() -> None:
        bus = EventBus(1)
        by_host = bus.listen(EventFilter(hosts=("example.com",)))
        by_crawl = bus.listen(EventFilter(crawl="c1"))
        by_tag = bus.listen(EventFilter(tags=("a", "b")))
        both = bus.listen(EventFilter(tags=("a",), hosts=("other.org",)))
        first = bus.publish("finished", "1", host="www.example.com", crawl="c1", tags=("a", "x"))
        bus.publish("finished", "2", host="example.com.evil.org", crawl="c2", tags=("c",))
        bus.publish("finished", "3", host="other.org", crawl="c1", tags=("b",))
        bus.publish("finished", "4", host="other.org", tags=("a",))
        assert await heard(by_host, 1) == ["1"]
        assert await heard(by_crawl, 2) == ["1", "3"]
        assert await heard(by_tag, 3) == ["1", "3", "4"]
        assert await heard(both, 1) == ["4"]
        again = bus.listen(EventFilter(crawl="c1"), last=first)
        assert await heard(again, 1) == ["3"]

    asyncio.run(run())


def test_a_closed_listener_ends_after_what_it_has() -> None:
    async def run() -> None:
        bus = EventBus(1)
        listener = bus.listen()
        bus.publish("finished", "1")
        threading.Thread(target=bus.close).start()
        events = [event async for event in listener]
        assert [event.data for event in events if isinstance(event, Event)] == ["1"]
        assert bus.listeners == 0

    asyncio.run(run())


def test_a_listener_whose_loop_has_ended_is_forgotten() -> None:
    bus = EventBus(1)

    async def leave() -> None:
        bus.listen()

    asyncio.run(leave())
    assert bus.listeners == 1
    bus.publish("finished", "1")
    bus.publish("finished", "2")
    assert bus.listeners == 0


def test_not_more_listeners_than_allowed() -> None:
    async def run() -> None:
        bus = EventBus(1, most_listeners=2)
        first, _ = bus.listen(), bus.listen()
        with pytest.raises(TooManyListeners, match="2 listen already"):
            bus.listen()
        first.close()
        bus.listen()

    asyncio.run(run())


def test_ids_grow_over_restarts_whatever_the_clock_says() -> None:
    clock = ManualClock(1_000)
    store = MemoryStore(clock)
    first = next_epoch(store, clock)
    clock.advance(-0.5)
    second = next_epoch(store, clock)
    clock.advance(4.5)
    assert 1_000 == first < second < next_epoch(store, clock) == 5_000
    assert EventId(first, 999) < EventId(second, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7-12", EventId(7, 12)),
        (" 7-12 ", EventId(7, 12)),
        ("", None),
        ("7", None),
        ("7-", None),
        ("-7-1", None),
        ("7-1\n8", None),
        ("٧-١", None),
        ("9" * 19 + "-1", None),
        ("9" * 1_000_000, None),
    ],
)
def test_ids_of_clients(text: str, expected: EventId | None) -> None:
    assert parse_event_id(text) == expected
    if expected:
        assert parse_event_id(str(expected)) == expected


def test_a_gap_is_told_once() -> None:
    async def run() -> None:
        bus = EventBus(1, buffer=2)
        listener = bus.listen()
        for number in range(3):
            bus.publish("finished", str(number))
        assert await listener.next() == Lagged(1)
        assert await heard(listener, 2) == ["1", "2"]

    asyncio.run(run())


def test_what_has_come_already_is_taken_at_once_but_not_over_a_gap() -> None:
    async def run() -> None:
        bus = EventBus(1, buffer=3)
        listener = bus.listen()
        for number in range(3):
            bus.publish("finished", str(number))
        assert await heard(listener, 1) == ["0"]
        assert [event.data for event in listener.take(1)] == ["1"]
        assert [event.data for event in listener.take(10)] == ["2"]
        assert listener.take(10) == []
        for number in range(5):
            bus.publish("finished", str(number))
        assert listener.take(10) == [], "two are missing before them"
        assert await heard(listener, 2) == [2, "2"]
        assert [event.data for event in listener.take(10)] == ["3", "4"]

    asyncio.run(run())
