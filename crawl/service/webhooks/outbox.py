"""Deliveries in the store: those that are due, and dead letters.

An event is stored for each endpoint that wants it before anybody tries to deliver it, so that
nothing is lost when the process dies. What moves from one place to another is written there
before it is deleted here: a death in between has it delivered twice, and never lost.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import msgspec

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.service.stores.scanning import scan_all
from crawl.service.stores.store import Row, Space, Store
from crawl.service.webhooks.registrations import Registrations
from crawl.service.webhooks.values import DeadLetter, DeathReason, Delivery, WebhookEvent

MAX_BODY: Final = 256 * 1024
_DUE: Final = b"due/"
_DEAD: Final = b"dead/"
_ROWS: Final = 100
"""Read at a time: 25 MB at worst."""

Stored = Callable[[list[Delivery]], None]
"""Is told of deliveries that have been stored."""


class Outbox:
    """Safe to use from many threads, and by several processes with one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        registrations: Registrations,
        *,
        dead_keep_seconds: float = 30 * 86_400.0,
        random: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        self._store = store
        self._clock = clock
        self._registrations = registrations
        self._dead_keep_ms = round(dead_keep_seconds * 1000)
        self._random = random
        self.stored: Stored | None = None
        """The deliverer of this process, if it has one: it need not look for them then."""
        self._counters: Counters = Counters()
        self._counting = threading.Lock()

    @property
    def counters(self) -> Counters:
        """What `add` has said, in all."""
        with self._counting:
            return Counters(self._counters)

    def add(self, events: Iterable[WebhookEvent]) -> Counters:
        """Stores the events for all endpoints that want them; durable on return. The result says
        how many deliveries are `due`, how many became dead letters at once (`paused`), and how
        many events were `too_large` to be delivered."""
        counters = Counters()
        due: list[Delivery] = []
        rows: list[Row] = []
        for event in events:
            wanting = self._registrations.wanting(event)
            if wanting and len(event.body) > MAX_BODY:
                counters["too_large"] += 1
                continue
            for webhook in wanting:
                delivery = self._delivery(webhook.id, event)
                if webhook.pause_reason:
                    counters["paused"] += 1
                    rows.append(self._dead_row(delivery, DeathReason.PAUSED))
                else:
                    counters["due"] += 1
                    due.append(delivery)
                    rows.append(_due_row(delivery))
        if rows:
            self._store.put_many(Space.WEBHOOKS, rows)
        with self._counting:
            self._counters.update(counters)
        if due and self.stored is not None:
            self.stored(due)
        return counters

    def read(self, key: str) -> Delivery | None:
        """A delivery that is still due."""
        stored = self._store.get_many(Space.WEBHOOKS, [_DUE + key.encode()])[0]
        return None if stored is None else _DECODE(stored)

    def due(self, after: str = "") -> Iterator[Delivery]:
        """All that is to be delivered, now or later, the oldest first."""
        start = _DUE + after.encode() if after else b""
        for row in scan_all(self._store, Space.WEBHOOKS, _DUE, start, _ROWS):
            yield _DECODE(row.value)

    def postpone(
        self, delivery: Delivery, *, due_ms: int, attempts: int, status: int, error: str
    ) -> Delivery:
        """Stores that an attempt failed and when the next one is."""
        changed = msgspec.structs.replace(
            delivery,
            due_ms=due_ms,
            attempts=attempts,
            status=status,
            error=error,
            version=self._version_after(delivery),
        )
        self._store.put_many(Space.WEBHOOKS, [_due_row(changed)])
        return changed

    def forget(self, delivery: Delivery) -> None:
        """Deletes a delivery that has arrived, or that nobody wants any more."""
        self._store.delete_many(Space.WEBHOOKS, [_DUE + delivery.key.encode()])

    def bury(self, delivery: Delivery, reason: DeathReason) -> None:
        """Makes it a dead letter."""
        self._store.put_many(Space.WEBHOOKS, [self._dead_row(delivery, reason)])
        self.forget(delivery)

    def dead(self, webhook_id: str, after: str = "", limit: int = 100) -> list[DeadLetter]:
        """Dead letters of a webhook, the oldest first, behind the one with this key."""
        prefix = _dead_prefix(webhook_id)
        start = prefix + after.encode() if after else b""
        rows = self._store.scan(Space.WEBHOOKS, prefix, start, limit)
        return [_DECODE_DEAD(row.value) for row in rows]

    def redeliver(self, webhook_id: str, ids: Iterable[str] | None = None) -> int:
        """Has dead letters delivered again, all of a webhook or those with these ids, and returns
        how many."""
        count = 0
        for batch in self._dead_batches(webhook_id, ids):
            due = [self._again(letter.delivery) for letter in batch]
            self._store.put_many(Space.WEBHOOKS, [_due_row(each) for each in due])
            self._delete_dead(webhook_id, batch)
            if self.stored is not None:
                self.stored(due)
            count += len(due)
        return count

    def purge(self, webhook_id: str, ids: Iterable[str] | None = None) -> int:
        """Deletes dead letters, all of a webhook or those with these ids, and returns how many."""
        count = 0
        for batch in self._dead_batches(webhook_id, ids):
            self._delete_dead(webhook_id, batch)
            count += len(batch)
        return count

    def _dead_batches(
        self, webhook_id: str, ids: Iterable[str] | None
    ) -> Iterator[list[DeadLetter]]:
        wanted = None if ids is None else frozenset(ids)
        # what is delivered again may be dead again at once: it is not taken a second time
        until_ms = self._clock.now_ms()
        prefix = _dead_prefix(webhook_id)
        letters = (
            _DECODE_DEAD(row.value)
            for row in scan_all(self._store, Space.WEBHOOKS, prefix, page=_ROWS)
        )
        chosen = (
            each
            for each in letters
            if each.died_ms <= until_ms and (wanted is None or each.delivery.id in wanted)
        )
        while batch := list(islice(chosen, _ROWS)):
            yield batch

    def _delete_dead(self, webhook_id: str, letters: list[DeadLetter]) -> None:
        prefix = _dead_prefix(webhook_id)
        keys = [prefix + letter.delivery.key.encode() for letter in letters]
        self._store.delete_many(Space.WEBHOOKS, keys)

    def _delivery(self, webhook_id: str, event: WebhookEvent) -> Delivery:
        now_ms = self._clock.now_ms()
        key = self._new_key(now_ms)
        return Delivery(
            key=key,
            id=f"msg_{key}",
            webhook=webhook_id,
            event=event.type,
            body=event.body,
            created_ms=now_ms,
            due_ms=now_ms,
            version=now_ms,
        )

    def _again(self, delivery: Delivery) -> Delivery:
        """The delivery at a new place, where those who look for what is new find it."""
        now_ms = self._clock.now_ms()
        return msgspec.structs.replace(
            delivery,
            key=self._new_key(now_ms),
            due_ms=now_ms,
            attempts=0,
            version=self._version_after(delivery),
        )

    def _new_key(self, now_ms: int) -> str:
        return key_at(now_ms) + self._random(10)

    def _version_after(self, delivery: Delivery) -> int:
        return max(delivery.version + 1, self._clock.now_ms())

    def _dead_row(self, delivery: Delivery, reason: DeathReason) -> Row:
        now_ms = self._clock.now_ms()
        letter = DeadLetter(delivery=delivery, reason=reason, died_ms=now_ms)
        return Row(
            key=_dead_prefix(delivery.webhook) + delivery.key.encode(),
            value=_ENCODE(letter),
            version=self._version_after(delivery),
            expires_at_ms=now_ms + self._dead_keep_ms,
        )


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(Delivery).decode
_DECODE_DEAD = msgspec.msgpack.Decoder(DeadLetter).decode


def key_at(moment_ms: int) -> str:
    """How the keys of a moment begin; they sort as moments do."""
    return f"{max(0, moment_ms):012x}"


def _due_row(delivery: Delivery) -> Row:
    return Row(
        key=_DUE + delivery.key.encode(),
        value=_ENCODE(delivery),
        version=delivery.version,
        expires_at_ms=None,
    )


def _dead_prefix(webhook_id: str) -> bytes:
    return _DEAD + webhook_id.encode() + b"/"
