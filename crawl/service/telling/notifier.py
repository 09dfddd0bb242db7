"""Tells of finished URLs: to those who listen to this process, and to webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from crawl.service.telling import views
from crawl.service.telling.events import EventBus
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
        self._stored: Mapping[str, WebhookEvent] = {}
        """Those that are to be told of next, by job."""

    def store(self, finished: Sequence[Finished]) -> None:
        """Puts deliveries into the outbox; after a kill some may be there twice."""
        self._stored = {each.job: _event(each) for each in finished}
        self._outbox.add(list(self._stored.values()))

    def tell(self, finished: Sequence[Finished]) -> None:
        for each in finished:
            event = self._stored.get(each.job) or _event(each)
            self._bus.publish(
                FINISHED,
                event.body.decode(),
                host=event.host,
                crawl=event.crawl,
                tags=event.tags,
                owner=event.owner,
            )


def _event(finished: Finished) -> WebhookEvent:
    """The same for webhooks and for those who listen."""
    wish = finished.wish
    host = host_of(wish.url) or host_of(finished.url) or ""
    data = as_json(views.finished_view(finished))
    return WebhookEvent(FINISHED, data, host, wish.crawl, wish.tags, wish.owner)
