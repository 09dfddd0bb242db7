"""Look-ups beside the realtime benchmark's load, by the clock, in a process of their own:

    python realtime_lookups.py < TASK.json

writes what it measured as JSON. Nine tenths of the URLs are of those that were submitted so far.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from array import array
from collections import Counter

import msgspec
from realtime_http import Broken, Connections, run_quickly
from realtime_numbers import Latencies, latencies
from realtime_plan import LoadShape, load_urls

_CALL_S = 10.0
_BEHIND_S = 5.0
"""How long ago a URL was submitted that may be asked for: most are known by then."""
_KNOWN = 0.9


class LookupTask(msgspec.Struct):
    """What it is told."""

    host: str
    port: int
    """Of the service."""
    web_port: int
    shape: LoadShape
    rate: float
    """URLs a second."""
    began: float
    """When the load begins and these with it, in monotonic seconds."""
    seconds: float
    batch: int = 20
    key: str | None = None


class LookupResult(msgspec.Struct):
    """What it measured."""

    urls: int
    seconds: float
    latency: Latencies
    """Of a batch, from the moment at which it was due."""
    failed: dict[str, int]
    """Batches without an answer of 200, by status or fault."""
    found: int
    """URLs that had a page, of a sample."""
    sampled: int


async def look_up(task: LookupTask) -> LookupResult:
    """The whole load."""
    urls, rng = load_urls(task.shape, task.web_port), random.Random(task.shape.seed)
    bodies = _Bodies(urls, task, rng)
    connections = Connections(task.host, task.port, task.key)
    took, failed, sample = array("d"), Counter[str](), [0, 0]
    calls: set[asyncio.Task[None]] = set()
    interval = task.batch / task.rate

    async def ask(body: bytes, due: float, is_sampled: bool) -> None:
        try:
            status, _, said = await connections.post("/v1/lookup", body, _CALL_S)
        except Broken:
            failed["no answer"] += 1
            return
        took.append(time.monotonic() - due)
        if status != 200:
            failed[f"HTTP {status}"] += 1
        elif is_sampled:
            pages = msgspec.json.decode(said)["pages"]
            sample[0] += len(pages)
            sample[1] += sum(page is not None for page in pages)

    count = int(task.seconds / interval)
    for number in range(count):
        due = task.began + number * interval
        if (left := due - time.monotonic()) > 0:
            await asyncio.sleep(left)
        call = asyncio.create_task(ask(bodies.at(due), due, number % 50 == 0))
        calls.add(call)
        call.add_done_callback(calls.discard)
    if calls:
        await asyncio.wait(calls)
    seconds = time.monotonic() - task.began
    connections.close()
    return LookupResult(
        count * task.batch, seconds, latencies(took), dict(failed), sample[1], sample[0]
    )


class _Bodies:
    """What is asked for: bodies that are used again for a tenth of a second, for making them costs
    as much as sending them."""

    def __init__(self, urls: list[str], task: LookupTask, rng: random.Random) -> None:
        self._urls = urls
        self._task = task
        self._rng = rng
        self._made_at = float("-inf")
        self._bodies: list[bytes] = []
        self._next = 0

    def at(self, moment: float) -> bytes:
        if moment - self._made_at >= 0.1:
            self._bodies = [self._body(moment) for _ in range(10)]
            self._made_at = moment
        self._next += 1
        return self._bodies[self._next % len(self._bodies)]

    def _body(self, moment: float) -> bytes:
        known = int((moment - self._task.began - _BEHIND_S) * self._task.shape.rate)
        known = min(max(known, 1), len(self._urls))
        urls = [
            self._urls[int(self._rng.random() * known)]
            if self._rng.random() < _KNOWN
            else f"http://h0.unknown.test/p{self._rng.randrange(1_000_000)}"
            for _ in range(self._task.batch)
        ]
        return msgspec.json.encode({"urls": urls})


async def _main() -> None:
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=LookupTask)
    sys.stdout.buffer.write(msgspec.json.encode(await look_up(task)))


if __name__ == "__main__":
    run_quickly(_main())
