"""The load of the realtime benchmark: URLs by the clock, whatever the service does meanwhile (an
open loop), and what became of each, as the service's own events tell it.

A URL is queryable at the moment when its event has said that it is finished and a look-up has
answered with its page.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from realtime_http import Broken, Connections

_CALL_S = 30.0
_COLLECTED_S = 0.002
"""Events of so long are looked up together."""
_MOST_OF_A_LOOKUP = 300
_LOOKED_UP_FOR_S = 10.0
"""How long a page that an event told of may be missing from look-ups."""


class Told(msgspec.Struct):
    """What counts of a finished event."""

    url: str = ""
    job: Any = None
    id: Any = None
    page: msgspec.Raw = msgspec.Raw()

    @property
    def job_id(self) -> str:
        return str(self.id if self.job is None else self.job)

    @property
    def has_page(self) -> bool:
        return bytes(self.page) not in (b"", b"null")


class Taken(msgspec.Struct):
    """A job of the answer to a submission."""

    url: str = ""
    id: Any = None
    state: str = ""
    reason: str | None = None


class Submitted(msgspec.Struct):
    jobs: list[Taken]


class Pages(msgspec.Struct):
    pages: list[msgspec.Raw]


_told = msgspec.json.Decoder(Told).decode
_submitted = msgspec.json.Decoder(Submitted).decode
_pages = msgspec.json.Decoder(Pages).decode


@dataclass(slots=True)
class Fate:
    """What became of one submission of a URL; moments are monotonic seconds."""

    url: str
    submitted_at: float
    """When it was due, even if the generator was late."""
    answered_at: float = 0.0
    state: str = ""
    """As the service answered; empty where it did not."""
    finished_at: float = 0.0
    """When its event came."""
    queryable_at: float = 0.0


@dataclass(slots=True)
class LoadResult:
    """A whole run."""

    fates: list[Fate] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    """By reason: of jobs, and of whole requests by their status."""
    unanswered: int = 0
    """Submissions that nobody answered, so that they are nobody's debt."""
    lost: list[str] = field(default_factory=list)
    """Acknowledged, and never finished."""
    untold: int = 0
    """Finished by their job, but no event came."""
    not_found: int = 0
    """Told of with a page that no look-up has."""
    reconnects: int = 0
    late_s: float = 0.0
    """How late the generator itself was at most."""
    cpu_s: float = 0.0
    seconds: float = 0.0
    without_retry_after: int = 0
    """Refusals by 429 or 503 that did not say when to come again."""


class EventLines:
    """The data of `finished` events, from bytes in pieces; each field in one line, as JSON is."""

    def __init__(self) -> None:
        self._rest = b""
        self.last_id = ""

    def feed(self, content: bytes) -> list[bytes]:
        """What is complete."""
        *events, self._rest = (self._rest + content.replace(b"\r\n", b"\n")).split(b"\n\n")
        found = []
        for event in events:
            fields = dict(
                line.split(b":", 1) for line in event.split(b"\n") if b":" in line and line[0] != 58
            )
            if b"id" in fields:
                self.last_id = fields[b"id"].strip().decode("latin-1")
            if fields.get(b"event", b"finished").strip() == b"finished" and b"data" in fields:
                found.append(fields[b"data"])
        return found


class Load:
    """One run of the load against a service."""

    def __init__(
        self, connections: Connections, urls: Sequence[str], rate: float, batch_s: float = 0.05
    ) -> None:
        self._connections = connections
        self._urls = urls
        self._rate = rate
        self._batch_s = batch_s
        self._result = LoadResult()
        self._pending: dict[str, list[Fate]] = {}
        """By job."""
        self._early: dict[str, tuple[float, bool]] = {}
        """Jobs whose event came before the answer to their submission."""
        self._to_look_up: list[Fate] = []
        self._something = asyncio.Event()
        self._calls: set[asyncio.Task[None]] = set()

    async def run(self, began: float, grace_s: float) -> LoadResult:
        """Submits from the moment `began` on, then waits until all is finished, or for
        `grace_s` after the last submission."""
        listens = asyncio.Event()
        background = [
            asyncio.create_task(self._listen(listens)),
            asyncio.create_task(self._look_up()),
        ]
        try:
            async with asyncio.timeout(_CALL_S):
                await listens.wait()
            spent, started = _cpu_s(), time.monotonic()
            await self._submit_all(began)
            deadline = time.monotonic() + grace_s
            while self._is_waiting() and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
            self._result.cpu_s = _cpu_s() - spent
            self._result.seconds = time.monotonic() - started
            await self._ask_for_the_rest()
        finally:
            for task in [*background, *self._calls]:
                task.cancel()
            await asyncio.gather(*background, *self._calls, return_exceptions=True)
        return self._result

    def _is_waiting(self) -> bool:
        return bool(self._pending or self._to_look_up or self._calls)

    async def _submit_all(self, began: float) -> None:
        batch_count = max(1, round(self._rate * self._batch_s))
        for first in range(0, len(self._urls), batch_count):
            due = began + first / self._rate
            if (left := due - time.monotonic()) > 0:
                await asyncio.sleep(left)
            self._result.late_s = max(self._result.late_s, time.monotonic() - due)
            self._call(self._submit(self._urls[first : first + batch_count], due))

    def _call(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _submit(self, urls: Sequence[str], due: float) -> None:
        result, body = self._result, msgspec.json.encode({"urls": urls})
        fates = [Fate(url, due) for url in urls]
        result.fates += fates
        try:
            status, headers, said = await self._connections.post("/v1/urls", body, _CALL_S)
        except Broken:
            result.unanswered += len(urls)
            return
        now = time.monotonic()
        if status != 202:
            result.refused[f"HTTP {status}"] += len(urls)
            result.without_retry_after += status in (429, 503) and "retry-after" not in headers
            for fate in fates:
                fate.answered_at, fate.state = now, "refused"
            return
        for fate, job in zip(fates, _submitted(said).jobs, strict=True):
            fate.answered_at, fate.state = now, job.state
            self._acknowledge(fate, job, now)

    def _acknowledge(self, fate: Fate, job: Taken, now: float) -> None:
        if job.state == "refused":
            self._result.refused[job.reason or "no reason"] += 1
        elif job.state == "answered":
            fate.finished_at = fate.queryable_at = now
        else:
            self._pending.setdefault(str(job.id), []).append(fate)
            if (early := self._early.pop(str(job.id), None)) is not None:
                self._finish(str(job.id), *early)

    def _finish(self, job_id: str, now: float, has_page: bool) -> None:
        fates = self._pending.pop(job_id, None)
        if fates is None:
            # of another submitter, or its answer is still on the way
            self._early[job_id] = (now, has_page)
            return
        for fate in fates:
            fate.finished_at = now
            if has_page:
                self._to_look_up.append(fate)
                self._something.set()
            else:
                fate.queryable_at = now

    async def _listen(self, listens: asyncio.Event) -> None:
        lines = EventLines()

        def take(body: bytes) -> None:
            events = lines.feed(body)
            now = time.monotonic()
            for event in events:
                told = _told(event)
                self._finish(told.job_id, now, told.has_page)

        while True:
            try:
                await self._connections.follow("/v1/events", lines.last_id, take, listens.set)
            except (Broken, OSError):
                await asyncio.sleep(0.1)
            self._result.reconnects += 1

    async def _look_up(self) -> None:
        while True:
            await self._something.wait()
            await asyncio.sleep(_COLLECTED_S)
            asked = self._to_look_up[:_MOST_OF_A_LOOKUP]
            if not asked:
                self._something.clear()
                continue
            body = msgspec.json.encode({"urls": [fate.url for fate in asked]})
            try:
                status, _, said = await self._connections.post("/v1/lookup", body, _CALL_S)
                found = _pages(said).pages if status == 200 else []
            except (Broken, msgspec.DecodeError):
                found = []
            now = time.monotonic()
            found += [msgspec.Raw(b"null")] * (len(asked) - len(found))
            missing = []
            for fate, page in zip(asked, found, strict=True):
                if bytes(page) != b"null":
                    fate.queryable_at = now
                elif now - fate.finished_at > _LOOKED_UP_FOR_S:
                    self._result.not_found += 1
                else:
                    missing.append(fate)
            self._to_look_up[: len(asked)] = []
            self._to_look_up += missing
            if len(missing) == len(asked):
                await asyncio.sleep(0.01)

    async def _ask_for_the_rest(self) -> None:
        """Jobs of which no event told are asked for by their id: an event may be lost, a job
        must not be."""
        self._result.not_found += len(self._to_look_up)
        for job_id, fates in self._pending.items():
            try:
                status, _, said = await self._connections.get(f"/v1/jobs/{job_id}", _CALL_S)
                job = msgspec.json.decode(said, type=Taken) if status == 200 else Taken()
            except (Broken, msgspec.DecodeError):
                job = Taken()
            if job.state in ("", "queued", "joined", "fetching"):
                self._result.lost += [fate.url for fate in fates]
            else:
                self._result.untold += len(fates)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
