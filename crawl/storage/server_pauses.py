"""The pauses that servers are owed when a fetch ends, as rows: of the dataset `servers`, and of
the file that each task of a fetch leaves.

    CRAWL_DIR/servers/…                                       the dataset
    SEGMENT/crawl_fetch/servers/part-00003-1f2e3d4c.parquet   what a task tells

Moments are those of the wall clock: whoever asks next may be another machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace

import pyarrow as pa

from crawl.model.builders import rows_of, table_of_rows
from crawl.model.tables import SERVERS
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table, open_writer

_CLOSED = pa.field("closed", pa.string(), nullable=False)
TASK_PAUSES = SERVERS.schema.append(_CLOSED)
"""The rows of a task's file."""


@dataclass(frozen=True, slots=True)
class ServerPause:
    """What the next one who asks a server has to know. Moments are in milliseconds."""

    server: str
    ready_ms: int
    failures: int
    failures_until_ms: int
    crawl_delay_s: float
    """The pause that its robots.txt asks for; 0 where it asks for none."""
    reason: str
    told_ms: int
    closed: str = ""
    """Why the same fetch asks it for nothing more; a later one may."""

    @property
    def matters_until_ms(self) -> int:
        """When there is nothing left to know."""
        return max(self.ready_ms, self.failures_until_ms if self.failures else 0)

    def pause_s(self, now_ms: int) -> float:
        """How long it must not be asked; negative where that is over for so long. Never longer
        than when it was told, whatever the clocks say."""
        return min(self.ready_ms - now_ms, max(0, self.ready_ms - self.told_ms)) / 1000


def pauses_table(pauses: Iterable[ServerPause]) -> pa.Table:
    """The pauses as a task's file has them; the dataset's rows lack the last column."""
    return table_of_rows([astuple(pause) for pause in pauses], TASK_PAUSES)


def to_pauses(table: pa.Table) -> Iterator[ServerPause]:
    """The pauses that rows hold, of the dataset or of a task."""
    names = TASK_PAUSES.names if _CLOSED.name in table.column_names else SERVERS.names
    for row in rows_of(table, names):
        yield ServerPause(*row)


def last_pauses(pauses: Iterable[ServerPause]) -> list[ServerPause]:
    """One for each server that several tasks tell of: the newest, but with the longest of the
    pauses; and what one of them has given up is given up."""
    by_server: dict[str, ServerPause] = {}
    for pause in pauses:
        before = by_server.get(pause.server, pause)
        last = pause if pause.told_ms >= before.told_ms else before
        ready_ms = max(pause.ready_ms, before.ready_ms)
        closed = pause.closed or before.closed
        by_server[pause.server] = replace(last, ready_ms=ready_ms, closed=closed)
    return list(by_server.values())


def write_pauses(folder: Folder, part: int, pauses: Sequence[ServerPause]) -> Piece:
    """Writes the file of a task."""
    name = attempt_name(f"part-{part:05d}")
    with open_writer(folder, name, TASK_PAUSES) as writer:
        writer.write(pauses_table(pauses))
    return Piece(name, len(pauses), writer.bytes)


def read_pause_rows(folder: Folder, piece: Piece) -> Iterator[pa.Table]:
    """The rows of a task's file."""
    with open_table(folder, piece.path, size=piece.bytes) as source:
        yield from each_group(source)
