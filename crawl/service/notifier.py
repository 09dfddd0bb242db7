"""Tells of finished URLs: to those who listen to this process, and to webhooks."""

from __future__ import annotations

from collections.abc import Sequence

from crawl.service import views
from crawl.service.events import EventBus
from crawl.service.values import Finished, as_json
from crawl.service.webhooks.outbox import Outbox
from crawl.service.webhooks.values import WebhookEvent
from crawl.urls.parse import host_of

FINISHED = "finished"


class Notifier:
    """A listener of the service (listeners.py)."""

    def __init__(self, bus: EventBus, outbox: Outbox) -> None:
        self._bus = bus
        self._outbox = outbox

    def store(self, finished: Sequence[Finished]) -> None:
        """Puts deliveries into the outbox; after a kill some may be there twice."""
        events = [
            WebhookEvent(
                FINISHED,
                as_json(views.finished_view(each)),
                _host(each),
                each.wish.crawl,
                each.wish.tags,
                each.wish.owner,
            )
            for each in finished
        ]
        self._outbox.add(events)

    def tell(self, finished: Sequence[Finished]) -> None:
        for each in finished:
            data = as_json(views.finished_view(each)).decode()
            wish = each.wish
            self._bus.publish(
                FINISHED,
                data,
                host=_host(each),
                crawl=wish.crawl,
                tags=wish.tags,
                owner=wish.owner,
            )


def _host(finished: Finished) -> str:
    return host_of(finished.wish.url) or host_of(finished.url) or ""
