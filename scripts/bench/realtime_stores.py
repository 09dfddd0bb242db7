"""How fast the metadata stores of the realtime lane answer look-ups, beside durable writes. See
README.md beside this file."""

from __future__ import annotations

import argparse
import random
import tempfile
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path

import msgspec
from realtime_numbers import Latencies, latencies
from rich.console import Console
from rich.table import Table

from crawl.clock import SystemClock
from crawl.service.stores.opening import open_store
from crawl.service.stores.store import Row, Space, Store
from crawl.service.values import Page, packed

_LOADED_AT_ONCE = 1000
_MISSING = 0.1
"""Share of the URLs that are looked up and not known."""


class Measured(msgspec.Struct):
    """What one store has done."""

    store: str
    records: int
    load_s: float
    lookups_per_s: float
    """URLs."""
    lookup: Latencies
    """Of a batch, in seconds."""
    writes_per_s: float
    """Rows."""
    write: Latencies
    """Of a batch, until it is durable."""
    write_rate: float
    """Rows a second that were to be written; what is late counts from when it was due."""
    wrong: int
    """Look-ups that missed what is there, or found what is not."""


class _Shape(msgspec.Struct):
    """What is asked of each store."""

    records: int
    seconds: float
    threads: int
    batch: int
    write_rate: float
    write_batch: int
    size: int


def main() -> int:
    options = _options()
    shape = _Shape(
        options.records,
        options.seconds,
        options.threads,
        options.batch,
        options.write_rate,
        options.write_batch,
        options.size,
    )
    names: list[str] = options.stores.split(",")
    results = []
    for name in names:
        with opened(name) as store:
            results.append(measured(name, store, shape))
    _show(results)
    if options.json:
        Path(options.json).write_bytes(msgspec.json.format(msgspec.json.encode(results)))
    return int(any(each.wrong for each in results))


@contextmanager
def opened(name: str) -> Iterator[Store]:
    """A store that is empty: `lmdb`, `redis` and `cassandra` are made here, durable as the service
    wants them; all else is the address of one that runs."""
    with ExitStack() as stack:
        if name == "lmdb":
            url = f"lmdb:{stack.enter_context(tempfile.TemporaryDirectory(dir=_work()))}/store"
        elif name == "redis":
            from tests.service.stores.real_redis import running_redis

            settings = ("--appendonly", "yes", "--appendfsync", "always")
            url = stack.enter_context(running_redis(*settings)).url
        elif name == "cassandra":
            from tests.service.stores.real_cassandra import running_cassandra

            url = stack.enter_context(running_cassandra()).url
        else:
            url = name
        store = open_store(url, SystemClock())
        stack.callback(store.close)
        yield store


def _work() -> str:
    """A folder on a disk: what is durable must not be so in memory alone."""
    return str(Path.cwd())


def measured(name: str, store: Store, shape: _Shape) -> Measured:
    """Fills a store, and looks up in it beside writes."""
    clock = time.monotonic
    began = clock()
    for first in range(0, shape.records, _LOADED_AT_ONCE):
        last = min(first + _LOADED_AT_ONCE, shape.records)
        store.put_many(Space.PAGES, [row(number, 1, shape.size) for number in range(first, last)])
    load_s = clock() - began
    ends = clock() + shape.seconds
    looked_up, written = [array("d") for _ in range(shape.threads)], array("d")
    wrong = [0] * shape.threads
    work: list[Callable[[], None]] = [
        lambda place=place: _look_up(store, shape, place, ends, looked_up[place], wrong)
        for place in range(shape.threads)
    ]
    if shape.write_rate > 0:
        work.append(lambda: _write(store, shape, ends, written))
    faults = _together(work)
    if faults:
        raise faults[0]
    took = [seconds for each in looked_up for seconds in each]
    return Measured(
        name,
        shape.records,
        load_s,
        len(took) * shape.batch / shape.seconds,
        latencies(took),
        len(written) * shape.write_batch / shape.seconds,
        latencies(written),
        shape.write_rate,
        sum(wrong),
    )


def _together(work: Sequence[Callable[[], None]]) -> list[BaseException]:
    """Does all of it at once; what went wrong."""
    faults: list[BaseException] = []

    def guarded(do: Callable[[], None]) -> None:
        try:
            do()
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=guarded, args=(do,)) for do in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return faults


def _look_up(
    store: Store, shape: _Shape, place: int, ends: float, took: array[float], wrong: list[int]
) -> None:
    """One look-up after the other."""
    rng = random.Random(place)
    while time.monotonic() < ends:
        numbers = [
            rng.randrange(shape.records) + (shape.records * 10 if rng.random() < _MISSING else 0)
            for _ in range(shape.batch)
        ]
        asked_at = time.monotonic()
        found = store.get_many(Space.PAGES, [key(number) for number in numbers])
        took.append(time.monotonic() - asked_at)
        for number, value in zip(numbers, found, strict=True):
            wrong[place] += (value is not None) is not (number < shape.records)


def _write(store: Store, shape: _Shape, ends: float, took: array[float]) -> None:
    """Rows that are there, anew, by the clock."""
    rng, began = random.Random(-1), time.monotonic()
    for turn in count():
        due = began + turn * shape.write_batch / shape.write_rate
        if max(due, time.monotonic()) >= ends:
            return
        if (left := due - time.monotonic()) > 0:
            time.sleep(left)
        numbers = rng.sample(range(shape.records), shape.write_batch)
        store.put_many(Space.PAGES, [row(each, turn + 2, shape.size) for each in numbers])
        took.append(time.monotonic() - due)


def key(number: int) -> bytes:
    return b"http://h%d.d%d.test/articles/%d/page.html" % (number % 7, number % 9973, number)


def row(number: int, version: int, size: int) -> Row:
    """A page as the service keeps it."""
    page = Page(
        url=key(number).decode(),
        status=33,
        code=200,
        fetched_ms=1_800_000_000_000 + version,
        content_type="text/html",
        size=10_000,
        signature="%032x" % (number * 2_654_435_761),
        card=(b'{"title":"Page %d","description":"' % number).ljust(size, b"x") + b'"}',
        segment="20260101000000-service",
    )
    return Row(key(number), packed(page), version)


def _show(results: Sequence[Measured]) -> None:
    table = Table()
    columns = ("store", "URLs/s", "p50 ms", "p99 ms", "rows/s", "p50 ms", "p99 ms", "load", "wrong")
    for column in columns:
        table.add_column(column, justify="left" if column == "store" else "right")
    for each in results:
        table.add_row(
            each.store,
            f"{each.lookups_per_s:,.0f}",
            *(f"{seconds * 1000:.2f}" for seconds in (each.lookup.p50, each.lookup.p99)),
            f"{each.writes_per_s:,.0f}",
            *(f"{seconds * 1000:.2f}" for seconds in (each.write.p50, each.write.p99)),
            f"{each.load_s:.0f} s",
            str(each.wrong),
        )
    Console().print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", default="lmdb,redis,cassandra", help="or addresses")
    parser.add_argument("--records", type=int, default=500_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--threads", type=int, default=2, help="that look up")
    parser.add_argument("--batch", type=int, default=20, help="URLs of a look-up")
    parser.add_argument("--write-rate", type=float, default=300.0, help="rows a second; 0: none")
    parser.add_argument("--write-batch", type=int, default=15)
    parser.add_argument("--size", type=int, default=500, help="bytes of a page's card")
    parser.add_argument("--json", help="a file for what was measured")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
