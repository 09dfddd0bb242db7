"""What became of jobs, for whoever asks within a day or so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from crawl.clock import Clock
from crawl.service.stores.store import Row, Space, Store
from crawl.service.values import Finished, packed

_decode = msgspec.msgpack.Decoder(Finished).decode


@dataclass(frozen=True, slots=True)
class Answers:
    """Keeps the ends of jobs in the metadata store for a while."""

    rows: Store
    clock: Clock
    keep_s: float

    def store(self, finished: Sequence[Finished]) -> None:
        """Keeps them; durable when it returns."""
        expires_ms = self.clock.now_ms() + round(self.keep_s * 1000)
        self.rows.put_many(
            Space.JOBS,
            [
                Row(each.job.encode(), packed(each), each.finished_ms, expires_ms)
                for each in finished
            ],
        )

    def tell(self, finished: Sequence[Finished]) -> None:
        """Nothing: whoever wants to know asks."""

    def get(self, job_id: str) -> Finished | None:
        """What became of a job; None where it is on its way, or not known."""
        (raw,) = self.rows.get_many(Space.JOBS, [job_id.encode()])
        return None if raw is None else _decode(raw)
