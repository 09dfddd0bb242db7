"""Tells everybody of jobs that ended, by a topic: JSON, as webhooks and events carry it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import TimeoutError as NotYet

from crawl.errors import StorageError
from crawl.service.kafka.client import Outgoing, Sender
from crawl.service.telling import views
from crawl.service.values import Finished, as_json
from crawl.urls.parse import host_of

_LOOK_S = 0.5


class FinishedTopic:
    """A listener of the service (listeners.py). A broker that is away holds up what follows: the
    jobs stay in their queue until everybody can be told."""

    def __init__(self, sender: Sender, topic: str, is_stopping: Callable[[], bool]) -> None:
        self._sender = sender
        self._topic = topic
        self._is_stopping = is_stopping

    def store(self, finished: Sequence[Finished]) -> None:
        """Puts them into the topic; the same may come twice, with the same `id`."""
        told = self._sender.send_all(
            [
                Outgoing(
                    self._topic,
                    as_json(views.finished_view(each)),
                    (host_of(each.wish.url) or host_of(each.url) or "").encode(),
                )
                for each in finished
            ]
        )
        has_waited = False
        while True:
            try:
                told.result(_LOOK_S)
            except NotYet:
                if self._is_stopping() and has_waited:
                    raise StorageError(
                        f"{self._topic} was not told of {len(finished)} jobs: they are finished"
                        " again by the next start"
                    ) from None
                has_waited = self._is_stopping()
            else:
                return

    def tell(self, finished: Sequence[Finished]) -> None:
        """Nothing: whoever reads the topic knows."""
