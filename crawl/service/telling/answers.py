"""What became of jobs, for whoever asks within a day or so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from crawl.clock import Clock
from crawl.service.stores.store import Row, Space, Store
from crawl.service.values import Finished, Page, packed, page_of

_decode = msgspec.msgpack.Decoder(Finished).decode


@dataclass(frozen=True, slots=True)
class Answers:
    """Keeps the ends of jobs in the metadata store for a while.

    What a page says of itself is most of its bytes, and is kept with the page alone: a day of
    answers would be as large as all pages that were ever fetched, and larger."""

    rows: Store
    clock: Clock
    keep_s: float

    def store(self, finished: Sequence[Finished]) -> None:
        """Keeps them; durable when it returns."""
        expires_ms = self.clock.now_ms() + round(self.keep_s * 1000)
        self.rows.put_many(
            Space.JOBS,
            [
                Row(each.job.encode(), packed(_without_text(each)), each.finished_ms, expires_ms)
                for each in finished
            ],
        )

    def tell(self, finished: Sequence[Finished]) -> None:
        """Nothing: whoever wants to know asks."""

    def get(self, job_id: str) -> Finished | None:
        """What became of a job; None where it is on its way, or not known. Of a page whose content
        has changed since, what it said then is not known any more."""
        (raw,) = self.rows.get_many(Space.JOBS, [job_id.encode()])
        finished = None if raw is None else _decode(raw)
        if finished is None or finished.page is None:
            return finished
        (row,) = self.rows.get_many(Space.PAGES, [finished.page.url.encode()])
        try:
            known = None if row is None else page_of(row)
        except ValueError:
            known = None  # it is fetched again when somebody looks it up
        return _with_text(finished, finished.page, known)


def _without_text(finished: Finished) -> Finished:
    page = finished.page
    if page is None or not (page.card or page.markdown):
        return finished
    slim = msgspec.structs.replace(page, card=b"", markdown=None)
    return msgspec.structs.replace(finished, page=slim)


def _with_text(finished: Finished, page: Page, known: Page | None) -> Finished:
    if known is None or not known.signature or known.signature != page.signature:
        return finished
    whole = msgspec.structs.replace(page, card=known.card, markdown=known.markdown)
    return msgspec.structs.replace(finished, page=whole)
