"""Delivers what is in the outbox: a few threads of the one process that has the lease.

The schedule knows what is due by key; the body is read from the store when its turn comes. A
delivery is deleted once its endpoint has answered 2xx, so that one that arrived, and of which
this process died before it could delete it, arrives again with the same webhook-id.
"""

from __future__ import annotations

import logging
import random
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.errors import CrawlError
from crawl.service.callers.settings_access import WebhookSettings
from crawl.service.stores.store import Store
from crawl.service.webhooks.lease import Lease
from crawl.service.webhooks.outbox import Outbox, key_at
from crawl.service.webhooks.registrations import Registrations
from crawl.service.webhooks.retry import Chance, retry_wait
from crawl.service.webhooks.schedule import DeliverySchedule
from crawl.service.webhooks.sender import Sender, SendOutcome, SendResult
from crawl.service.webhooks.values import DeathReason, Delivery, PauseReason, Webhook

_LOG = logging.getLogger(__name__)

_OVERLAP_MS: Final = 5_000
"""What was stored so long before the last look is looked at again: others' clocks, and the time
that a write takes, may have it appear behind what was seen."""
_WHOLE_LOOK_SECONDS: Final = 600.0
_MOST_SCHEDULED: Final = 500_000
"""Deliveries that the schedule knows, some 100 MB; the others are looked for when it is half
empty."""
_FAILURES_IN_A_ROW: Final = 3
"""From so many on an endpoint is tried once in a while, whatever waits for it."""
_LONGEST_HOLD_SECONDS: Final = 300.0
_STORE_FAULTS: Final = (CrawlError, OSError)


@dataclass(frozen=True, slots=True)
class DelivererStatus:
    """What is told of it to whoever watches."""

    is_delivering: bool
    """Whether this process has the lease."""
    scheduled: int
    counters: Counters
    """Outcomes of attempts, deaths by reason, and what was dropped, by reason."""


class WebhookDeliverer:
    """Started and stopped once."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: WebhookSettings,
        registrations: Registrations,
        outbox: Outbox,
        sender: Sender,
        *,
        chance: Chance = random.random,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._registrations = registrations
        self._outbox = outbox
        self._sender = sender
        self._chance = chance
        self._lease = Lease(store, clock, "webhooks/deliverer", settings.lease_s)
        self._changed = threading.Condition()
        self._schedule = DeliverySchedule(settings.per_endpoint)
        self._failures: Counters = Counter()
        """In a row, by webhook."""
        self._counters: Counters = Counter()
        self._is_partial = False
        self._seen_ms = 0
        self._looked_at = -float("inf")
        self._had_lease = False
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begins to deliver, as soon as it has the lease."""
        self._outbox.stored = self._schedule_stored
        self._threads = [threading.Thread(target=self._watch, name="webhooks", daemon=True)]
        self._threads += [
            threading.Thread(target=self._work, name=f"webhooks-{number}", daemon=True)
            for number in range(self._settings.threads)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends, and breaks off what is under way: it is delivered again by whoever is next."""
        self._outbox.stored = None
        self._over.set()
        self._sender.stop()
        with self._changed:
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        try:
            self._lease.release()
        except _STORE_FAULTS as error:
            _LOG.warning("the lease of webhooks could not be released: %s", error)

    def status(self) -> DelivererStatus:
        """What it does and has done."""
        with self._changed:
            counters = Counter(self._counters)
            return DelivererStatus(self._lease.is_held(), len(self._schedule), counters)

    def _watch(self) -> None:
        """Keeps the lease, and looks for what other processes have stored."""
        interval = min(self._settings.poll_s, self._settings.lease_s / 4)
        while True:
            try:
                self._look()
            except _STORE_FAULTS as error:
                _LOG.warning("webhooks: the store could not be asked: %s", error)
                self._count("store_failed")
                self._had_lease = False  # so that all is looked for the next time
            if self._over.wait(interval):
                return

    def _look(self) -> None:
        if not self._lease.hold():
            if self._had_lease:
                _LOG.warning("another process delivers webhooks now")
            self._had_lease = False
            with self._changed:
                self._schedule.clear()
            return
        now, now_ms = self._clock.monotonic(), self._clock.now_ms()
        with self._changed:
            has_room = self._is_partial and len(self._schedule) < _MOST_SCHEDULED // 2
        if not self._had_lease or has_room or now - self._looked_at > _WHOLE_LOOK_SECONDS:
            self._is_partial = False
            self._looked_at = now
            after = ""
        else:
            after = key_at(self._seen_ms - _OVERLAP_MS)
        self._had_lease = True
        self._seen_ms = now_ms
        for delivery in self._outbox.due(after):
            if self._over.is_set() or not self._keeps_lease(now):
                self._had_lease = False  # what is left is looked for again
                return
            if not self._admit(delivery):
                break

    def _keeps_lease(self, began: float) -> bool:
        """Whether the lease is still held; a long look has it renewed."""
        if self._clock.monotonic() - began < self._settings.lease_s / 4 or self._lease.is_held():
            return self._lease.is_held()
        return self._lease.hold()

    def _schedule_stored(self, deliveries: list[Delivery]) -> None:
        """Takes what this process has stored, which need not be looked for."""
        if self._had_lease and self._lease.is_held():
            for delivery in deliveries:
                if not self._admit(delivery):
                    return

    def _admit(self, delivery: Delivery) -> bool:
        """Puts a delivery on the schedule, or makes it a dead letter where too many wait; False
        where there is no room for any."""
        with self._changed:
            if delivery.key in self._schedule:
                return True
            if len(self._schedule) >= _MOST_SCHEDULED:
                self._is_partial = True
                return False
            is_backlog = self._schedule.waiting(delivery.webhook) >= self._settings.most_pending
            if not is_backlog:
                self._schedule.add(delivery.webhook, delivery.key, delivery.due_ms)
                self._changed.notify()
                return True
        self._bury(delivery, DeathReason.BACKLOG)
        return True

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            webhook, key = taken
            again: Delivery | None = None
            try:
                again = self._deliver(key)
            except _STORE_FAULTS as error:
                # it is still in the store, and looked for again with all others
                _LOG.warning("webhooks: a delivery could not be stored: %s", error)
                self._count("store_failed")
                with self._changed:
                    self._is_partial = True
            except Exception:
                _LOG.exception("webhooks: a delivery failed for a fault of ours")
                self._count("fault")
            with self._changed:
                self._schedule.done(webhook, key, self._clock.now_ms())
                if again is not None:
                    self._schedule.add(webhook, key, again.due_ms)
                self._changed.notify_all()

    def _take(self) -> tuple[str, str] | None:
        """What is due, waiting for it; None at the end."""
        with self._changed:
            while not self._over.is_set():
                now_ms = self._clock.now_ms()
                taken = self._schedule.take(now_ms) if self._lease.is_held() else None
                if taken is not None:
                    return taken
                next_ms = self._schedule.next_ms()
                is_idle = next_ms is None or not self._lease.is_held()
                wait_ms = 1_000 if is_idle or next_ms is None else next_ms - now_ms
                self._changed.wait(min(1.0, max(0.005, wait_ms / 1000)))
            return None

    def _deliver(self, key: str) -> Delivery | None:
        """Makes one attempt, and returns the delivery if there is to be another."""
        delivery = self._outbox.read(key)
        if delivery is None:
            return None  # delivered meanwhile
        if delivery.due_ms > self._clock.now_ms():
            return delivery
        webhook = self._registrations.known(delivery.webhook)
        if webhook and webhook.pause_reason not in (PauseReason.ACTIVE, PauseReason.KEY_DISABLED):
            webhook = self._registrations.get(webhook.id)  # it may have been resumed elsewhere
        if webhook is None:
            self._outbox.forget(delivery)
            self._count("webhook_removed")
            return None
        if webhook.pause_reason:
            self._bury(delivery, DeathReason.PAUSED)
            return None
        if not self._lease.is_held():
            return delivery
        outcome = self._sender.send(webhook, delivery)
        if outcome.result is SendResult.STOPPED:
            return delivery
        self._count(outcome.result)
        if outcome.result is SendResult.DELIVERED:
            self._outbox.forget(delivery)
            self._note_success(webhook)
            return None
        return self._failed(webhook, delivery, outcome)

    def _failed(
        self, webhook: Webhook, delivery: Delivery, outcome: SendOutcome
    ) -> Delivery | None:
        now_ms = self._clock.now_ms()
        attempts = delivery.attempts + 1
        wait = retry_wait(self._settings, attempts, outcome.retry_after_seconds, self._chance)
        # first what keeps it from being lost, then what is known of its endpoint
        changed = self._outbox.postpone(
            delivery,
            due_ms=now_ms + round(wait * 1000),
            attempts=attempts,
            status=outcome.status,
            error=f"{outcome.result}: {outcome.message}",
        )
        is_paused = self._note_failure(webhook, outcome, now_ms)
        if is_paused:
            self._bury(changed, DeathReason.PAUSED)
            return None
        if attempts >= self._settings.attempts:
            self._bury(changed, DeathReason.EXHAUSTED)
            return None
        return changed

    def _note_success(self, webhook: Webhook) -> None:
        with self._changed:
            self._failures.pop(webhook.id, None)
        if webhook.failing_since_ms:
            self._registrations.note_failing(webhook.id, 0)

    def _note_failure(self, webhook: Webhook, outcome: SendOutcome, now_ms: int) -> bool:
        """Whether the endpoint is paused for it."""
        with self._changed:
            self._failures[webhook.id] += 1
            beyond = self._failures[webhook.id] - _FAILURES_IN_A_ROW
            if beyond >= 0:
                hold = min(
                    _LONGEST_HOLD_SECONDS, self._settings.retry_first_s * 2 ** min(beyond, 9)
                )
                self._schedule.hold_back(webhook.id, now_ms + round(hold * 1000))
        since_ms = webhook.failing_since_ms
        if outcome.result is SendResult.GONE:
            reason = PauseReason.GONE
        elif since_ms and now_ms - since_ms > self._settings.pause_after_s * 1000:
            reason = PauseReason.FAILING
        else:
            if not since_ms:
                self._registrations.note_failing(webhook.id, now_ms)
            return False
        self._registrations.pause(webhook.id, reason)
        self._count("endpoint_paused")
        with self._changed:
            self._schedule.hold_back(webhook.id, 0)  # what waits becomes dead letters now
            self._failures.pop(webhook.id, None)
        _LOG.warning("webhook %s is paused (%s): %s", webhook.id, reason, outcome.message)
        return True

    def _bury(self, delivery: Delivery, reason: DeathReason) -> None:
        self._outbox.bury(delivery, reason)
        self._count(f"dead_{reason}")

    def _count(self, reason: str) -> None:
        with self._changed:
            self._counters[reason] += 1
