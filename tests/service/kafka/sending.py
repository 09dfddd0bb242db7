"""A sender that has no brokers: what is sent is seen, and delivered when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import cast

from crawl.errors import StorageError
from crawl.service.kafka.client import Outgoing, Sender


class FakeSender:
    def __init__(self) -> None:
        self.sent: list[Outgoing] = []
        self.waiting: list[Callable[[str], None]] = []
        self.fault: str | None = ""
        """What becomes of messages; None: nothing yet."""

    def send(self, message: Outgoing, on_done: Callable[[str], None]) -> None:
        self.sent.append(message)
        if self.fault is None:
            self.waiting.append(on_done)
        else:
            on_done(self.fault)

    def send_all(self, messages: Sequence[Outgoing]) -> Future[int]:
        future: Future[int] = Future()
        self.sent += messages
        if self.fault:
            future.set_exception(StorageError(self.fault))
        elif self.fault is not None:
            future.set_result(len(messages))
        return future

    def flush(self, timeout_s: float) -> bool:
        return True

    def as_sender(self) -> Sender:
        return cast(Sender, self)
