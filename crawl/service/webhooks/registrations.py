"""Who wants to be told of what."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from crawl.clock import Clock
from crawl.errors import UsageError
from crawl.printable import printable
from crawl.service.event_filter import EventFilter
from crawl.service.stores.scanning import scan_all
from crawl.service.stores.store import Space, Store
from crawl.service.webhooks.endpoint import EndpointRules
from crawl.service.webhooks.signing import check_secret, new_secret
from crawl.service.webhooks.values import PauseReason, Webhook, WebhookEvent

_PREFIX: Final = b"hook/"
_ID = re.compile(r"wh_[0-9a-f]{24}", re.ASCII)
_EVENT = re.compile(r"\*|[a-z][a-z0-9_.-]{0,63}", re.ASCII)
_MAX_EVENTS, _MAX_FILTERS, _MAX_WORD = 50, 100, 253
_MAX_ALL: Final = 10_000
"""Registrations of all keys together: each event is held against each of them."""


class Registrations:
    """All webhooks, as the store has them and as remembered for a few seconds. Safe to use from
    many threads, and by several processes with one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rules: EndpointRules,
        *,
        most_per_owner: int = 100,
        refresh_seconds: float = 5.0,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
        is_enabled: Callable[[str], bool] = lambda owner: True,
    ) -> None:
        """`is_enabled` tells whether an owner may be told of anything still."""
        self._store = store
        self._clock = clock
        self._rules = rules
        self._most_per_owner = most_per_owner
        self._refresh_seconds = refresh_seconds
        self._random_bytes = random_bytes
        self._is_enabled = is_enabled
        self._lock = threading.Lock()
        self._webhooks: dict[str, Webhook] = {}
        self._read_at = self._changed_at = -float("inf")

    def add(
        self,
        owner: str,
        url: str,
        events: Iterable[str],
        *,
        secret: str | None = None,
        filter: EventFilter | None = None,
        is_of_all: bool = False,
    ) -> Webhook:
        """Registers an endpoint; UsageError where it cannot be one. Without a secret of its own it
        is given one. It is told of what its owner has had done, or of all."""
        webhook = Webhook(
            id=f"wh_{self._random_bytes(12).hex()}",
            url=self._rules.check(url).url,
            events=_checked_events(events),
            secret=new_secret(self._random_bytes) if secret is None else check_secret(secret),
            owner=owner,
            created_ms=self._clock.now_ms(),
            filter=_checked_filter(filter or EventFilter()),
            is_of_all=is_of_all,
        )
        existing = self._read()
        of_owner = sum(each.owner == owner for each in existing.values())
        if of_owner >= self._most_per_owner or len(existing) >= _MAX_ALL:
            raise UsageError(f"there are {of_owner:,} webhooks of this key: no more are taken")
        value = _ENCODE(webhook)
        if not self._store.compare_and_set(Space.WEBHOOKS, _place(webhook.id), None, value):
            raise UsageError(f"there is a webhook {webhook.id} already: register it again")
        self._remember(webhook.id, webhook)
        return webhook

    def get(self, webhook_id: str, owner: str | None = None) -> Webhook | None:
        """A webhook as the store has it now; None where there is none of this owner."""
        stored = self._stored(webhook_id)
        webhook = None if stored is None else _DECODE(stored)
        return webhook if webhook and owner in (None, webhook.owner) else None

    def list(self, owner: str | None = None) -> list[Webhook]:
        """All webhooks, or those of one owner, the oldest first."""
        found = [each for each in self._read().values() if owner in (None, each.owner)]
        return sorted(found, key=lambda each: (each.created_ms, each.id))

    def remove(self, webhook_id: str, owner: str | None = None) -> bool:
        """Forgets a webhook; what is still to be delivered to it is dropped."""
        if self.get(webhook_id, owner) is None:
            return False
        self._store.delete_many(Space.WEBHOOKS, [_place(webhook_id)])
        self._remember(webhook_id, None)
        return True

    def known(self, webhook_id: str) -> Webhook | None:
        """A webhook as it is remembered, or as the store has it where it is not."""
        webhook = self._current().get(webhook_id) or self.get(webhook_id)
        return None if webhook is None else self._as_its_key(webhook)

    def wanting(self, event: WebhookEvent) -> Iterable[Webhook]:
        """The webhooks that the event is to be delivered to, as they are remembered."""
        return [self._as_its_key(each) for each in self._current().values() if each.wants(event)]

    def _as_its_key(self, webhook: Webhook) -> Webhook:
        """A webhook whose key is disabled is told of nothing."""
        if webhook.pause_reason or self._is_enabled(webhook.owner):
            return webhook
        return msgspec.structs.replace(webhook, pause_reason=PauseReason.KEY_DISABLED)

    def pause(self, webhook_id: str, reason: PauseReason) -> Webhook | None:
        """Has nothing delivered to it any more."""
        now_ms = self._clock.now_ms()

        def paused(webhook: Webhook) -> Webhook:
            if webhook.pause_reason:
                return webhook
            return msgspec.structs.replace(webhook, paused_ms=now_ms, pause_reason=reason)

        return self._change(webhook_id, paused)

    def resume(self, webhook_id: str) -> Webhook | None:
        """Has events delivered to it again; those before are dead letters."""
        return self._change(
            webhook_id,
            lambda webhook: msgspec.structs.replace(
                webhook, failing_since_ms=0, paused_ms=0, pause_reason=PauseReason.ACTIVE
            ),
        )

    def note_failing(self, webhook_id: str, since_ms: int) -> Webhook | None:
        """Notes since when deliveries fail; 0: the last one arrived."""

        def noted(webhook: Webhook) -> Webhook:
            if bool(webhook.failing_since_ms) == bool(since_ms):
                return webhook
            return msgspec.structs.replace(webhook, failing_since_ms=since_ms)

        return self._change(webhook_id, noted)

    def _current(self) -> dict[str, Webhook]:
        with self._lock:
            webhooks, age = self._webhooks, self._clock.monotonic() - self._read_at
        return webhooks if age <= self._refresh_seconds else self._read()

    def _read(self) -> dict[str, Webhook]:
        started_at = self._clock.monotonic()
        rows = scan_all(self._store, Space.WEBHOOKS, _PREFIX)
        webhooks = {each.id: each for each in (_DECODE(row.value) for row in rows)}
        with self._lock:
            # what was read before a change of ours may not undo it
            if started_at >= max(self._read_at, self._changed_at):
                self._webhooks, self._read_at = webhooks, started_at
        return webhooks

    def _remember(self, webhook_id: str, webhook: Webhook | None) -> None:
        with self._lock:
            others = {key: each for key, each in self._webhooks.items() if key != webhook_id}
            self._webhooks = others if webhook is None else {**others, webhook_id: webhook}
            self._changed_at = self._clock.monotonic()

    def _stored(self, webhook_id: str) -> bytes | None:
        if not _ID.fullmatch(webhook_id):
            return None
        return self._store.get_many(Space.WEBHOOKS, [_place(webhook_id)])[0]

    def _change(self, webhook_id: str, change: Callable[[Webhook], Webhook]) -> Webhook | None:
        """The webhook after the change; None where it is gone."""
        while True:
            stored = self._stored(webhook_id)
            if stored is None:
                self._remember(webhook_id, None)
                return None
            before = _DECODE(stored)
            after = change(before)
            place, value = _place(webhook_id), _ENCODE(after)
            if after == before or self._store.compare_and_set(Space.WEBHOOKS, place, stored, value):
                self._remember(webhook_id, after)
                return after


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(Webhook).decode


def _place(webhook_id: str) -> bytes:
    return _PREFIX + webhook_id.encode()


def _checked_events(events: Iterable[str]) -> tuple[str, ...]:
    checked = tuple(dict.fromkeys(events))
    if not 0 < len(checked) <= _MAX_EVENTS:
        raise UsageError(f"a webhook names 1 to {_MAX_EVENTS} kinds of events, or *")
    for event in checked:
        if not _EVENT.fullmatch(event):
            raise UsageError(f"no kind of events: '{printable(event, 100)}'")
    return checked


def _checked_filter(filter: EventFilter) -> EventFilter:
    for words in (filter.hosts, filter.tags, (filter.crawl,) if filter.crawl else ()):
        if len(words) > _MAX_FILTERS:
            raise UsageError(f"a filter has at most {_MAX_FILTERS} hosts, and as many tags")
        for word in words:
            if not word or len(word) > _MAX_WORD or not word.isprintable():
                raise UsageError(f"nothing to filter by: '{printable(word, 100)}'")
    return msgspec.structs.replace(filter, hosts=tuple(map(str.lower, filter.hosts)))
