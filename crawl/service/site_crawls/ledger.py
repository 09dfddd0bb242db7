"""What a site crawl has asked for and what has come, in the metadata store:

    ID            the crawl itself
    ID/u/URL      a URL that was taken on, with how many links it is from a seed
    ID/p/NUMBER   what became of one, in the order in which they ended

So that it goes on where it was when the service dies, and a listener where it was when it was cut
off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import msgspec

from crawl.clock import Clock
from crawl.service.site_crawls.values import Asked, SiteCrawl
from crawl.service.stores.store import ORDERED_KEY_BYTES, Row, Space, Store
from crawl.service.values import Finished

_PAGE_ROWS = 500
_DIGITS = 12
_LONGEST_URL = ORDERED_KEY_BYTES - 60

_encode = msgspec.msgpack.Encoder().encode
_decode_asked = msgspec.msgpack.Decoder(Asked).decode
_decode_crawl = msgspec.msgpack.Decoder(SiteCrawl).decode
_decode_finished = msgspec.msgpack.Decoder(Finished).decode


class Ledger:
    """Reads and writes crawls; for several threads, as the store is."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def save(self, crawl: SiteCrawl) -> None:
        """Stores the crawl as it is now."""
        raw = _encode(crawl)
        self._store.put_many(Space.CRAWLS, [Row(_key(crawl.id), raw, self._clock.now_ms())])

    def crawl(self, crawl_id: str) -> SiteCrawl | None:
        """The crawl of an id; None where there is none."""
        (raw,) = self._store.get_many(Space.CRAWLS, [_key(crawl_id)])
        return None if raw is None else _decode_crawl(raw)

    def crawls(self) -> Iterator[SiteCrawl]:
        """All crawls, oldest first."""
        after = b""
        while rows := self._store.scan(Space.CRAWLS, b"", after, 1):
            row = rows[0]
            name, slash, _ = row.key.partition(b"/")
            if not slash:
                yield _decode_crawl(row.value)
            after = name + b"/\xff"  # over its rows

    def add_asked(self, crawl: SiteCrawl, asked: Sequence[Asked]) -> None:
        """Notes URLs that are taken on, together with the crawl as it is by then."""
        now_ms = self._clock.now_ms()
        rows = [Row(_asked_key(crawl.id, each.url), _encode(each), 0) for each in asked]
        rows.append(Row(_key(crawl.id), _encode(crawl), now_ms))
        self._store.put_many(Space.CRAWLS, rows)

    def asked(self, crawl_id: str) -> Iterator[Asked]:
        """The URLs that were taken on."""
        for row in self._rows(f"{crawl_id}/u/".encode()):
            yield _decode_asked(row.value)

    def add_ended(self, crawl_id: str, first: int, ended: Sequence[Finished]) -> None:
        """Notes what came, under the numbers from `first` on."""
        rows = [
            Row(_ended_key(crawl_id, number), _encode(each), 0)
            for number, each in enumerate(ended, start=first)
        ]
        if rows:
            self._store.put_many(Space.CRAWLS, rows)

    def ended(self, crawl_id: str, after: int = 0, limit: int = 100) -> list[tuple[int, Finished]]:
        """What came after a number, with the numbers."""
        prefix = f"{crawl_id}/p/".encode()
        rows = self._store.scan(Space.CRAWLS, prefix, _ended_key(crawl_id, after), limit)
        return [(int(row.key.rpartition(b"/")[2]), _decode_finished(row.value)) for row in rows]

    def delete(self, crawl_id: str) -> None:
        """Forgets a crawl with all that was noted of it; its pages stay."""
        prefix = f"{crawl_id}/".encode()
        while rows := self._store.scan(Space.CRAWLS, prefix, b"", _PAGE_ROWS):
            self._store.delete_many(Space.CRAWLS, [row.key for row in rows])
        self._store.delete_many(Space.CRAWLS, [_key(crawl_id)])

    def _rows(self, prefix: bytes) -> Iterator[Row]:
        after = b""
        while rows := self._store.scan(Space.CRAWLS, prefix, after, _PAGE_ROWS):
            yield from rows
            after = rows[-1].key


def _key(crawl_id: str) -> bytes:
    return crawl_id.encode()


def _asked_key(crawl_id: str, url: str) -> bytes:
    """Of a long URL a digest, as keys are ordered by their first bytes only."""
    name = url.encode()
    if len(name) > _LONGEST_URL:
        name = b"#" + hashlib.blake2b(name, digest_size=20).hexdigest().encode()
    return f"{crawl_id}/u/".encode() + name


def _ended_key(crawl_id: str, number: int) -> bytes:
    return f"{crawl_id}/p/{number:0{_DIGITS}d}".encode()
