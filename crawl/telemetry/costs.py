"""The account of what the engine spends on a phase, or on a step of it.

Whoever runs tasks adds to the account of the thread, so that a phase need not know who ran them
nor how: a runner adds what its engine knows, wrapped tasks bring home what they read and wrote
(crawl/telemetry/task.py), and the driver's own reads and writes are counted as they happen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict

from crawl.model.costs import EngineCosts
from crawl.telemetry.io_counts import IoTally, counted_by


class CostAccount:
    """What has been spent so far."""

    def __init__(self) -> None:
        self.io = IoTally()
        """What the driver and tasks elsewhere have read and written."""
        self._spent = EngineCosts()

    def add(self, costs: EngineCosts) -> None:
        self._spent += costs

    @property
    def total(self) -> EngineCosts:
        return self._spent + EngineCosts(**asdict(self.io.total))


_current: ContextVar[CostAccount | None] = ContextVar("nutria_costs", default=None)


def current_account() -> CostAccount | None:
    """The account of this thread; None where nobody asks what the work costs."""
    return _current.get()


@contextmanager
def cost_account() -> Iterator[CostAccount]:
    """An account for the block. What it comes to is added to the one around it, if any."""
    around = _current.get()
    account = CostAccount()
    token = _current.set(account)
    try:
        with counted_by(account.io):
            yield account
    finally:
        _current.reset(token)
        if around is not None:
            around.add(account.total)
