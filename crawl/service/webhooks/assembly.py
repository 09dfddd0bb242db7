"""All of webhooks put together for one process, as it is configured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.config import Config
from crawl.counters import Counters
from crawl.net.dns import HostsFile, Resolve, system_addresses
from crawl.service.callers.settings_access import WebhookSettings
from crawl.service.stores.store import Store
from crawl.service.webhooks.deliverer import WebhookDeliverer
from crawl.service.webhooks.endpoint import EndpointRules
from crawl.service.webhooks.outbox import Outbox
from crawl.service.webhooks.registrations import Registrations
from crawl.service.webhooks.sender import CurlSender
from crawl.service.webhooks.values import DeathReason

_STORED = {"due": "stored", "paused": f"dead_{DeathReason.PAUSED}"}
"""What the outbox counts, by the names under which it is told."""


@dataclass(frozen=True, slots=True)
class Webhooks:
    """What the API registers with, what finished URLs are put into, and who delivers them."""

    registrations: Registrations
    outbox: Outbox
    deliverer: WebhookDeliverer

    def counters(self) -> Counters:
        """What became of deliveries in this process: how many were stored, how attempts ended, dead
        letters by reason, and what was dropped."""
        counted = Counters(self.deliverer.status().counters)
        for name, count in self.outbox.counters.items():
            counted[_STORED.get(name, name)] += count
        return counted

    @classmethod
    def of(
        cls,
        config: Config,
        store: Store,
        clock: Clock,
        resolve: Resolve = system_addresses,
        is_enabled: Callable[[str], bool] = lambda owner: True,
    ) -> Webhooks:
        """The deliverer is not started: a process that only stores events needs none."""
        settings = WebhookSettings.of(config)
        hosts = HostsFile.of(config)
        rules = EndpointRules.of(config, lambda host: hosts.addresses(host) or resolve(host))
        registrations = Registrations(
            *(store, clock, rules), most_per_owner=settings.most_per_key, is_enabled=is_enabled
        )
        outbox = Outbox(store, clock, registrations, dead_keep_seconds=settings.dead_keep_s)
        sender = CurlSender(settings, rules, clock)
        deliverer = WebhookDeliverer(store, clock, settings, registrations, outbox, sender)
        return cls(registrations, outbox, deliverer)
