"""Answers for robots.txt as rows: of the dataset `robots`, and of the files that a fetch under
way commits along with its chunks.

    CRAWL_DIR/robots/…                                       the dataset
    SEGMENT/crawl_fetch/robots/part-00003-1f2e3d4c.parquet   what a chunk's task has learnt
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple

import pyarrow as pa

from crawl.errors import DamagedFile, StorageError
from crawl.interfaces.protocol import Truncation
from crawl.model.builders import rows_of, table_of_rows
from crawl.model.tables import ROBOTS
from crawl.robots.stored import StoredAnswer
from crawl.storage.chunks import Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import MISSING, each_group, open_table, open_writer
from crawl.urls.parse import host_of

GROUP_ROWS = 1_024
"""A single answer may have half a MB, and few rows of a group are wanted."""
_TRUNCATIONS = frozenset(map(str, Truncation))
_log = logging.getLogger(__name__)


def answers_table(answers: Iterable[StoredAnswer]) -> pa.Table:
    """The answers as rows of the dataset."""
    rows = []
    for authority, *rest in map(astuple, answers):
        rows.append((authority, host_of(f"{authority}/") or "", *rest))
    return table_of_rows(rows, ROBOTS.schema)


def to_answers(table: pa.Table) -> Iterator[StoredAnswer]:
    """The answers that rows hold; one that none of ours can be is passed over."""
    for row in rows_of(table, (name for name in ROBOTS.names if name != "host")):
        answer = StoredAnswer(*row)
        if answer.truncated in _TRUNCATIONS:
            yield answer


def write_answers(folder: Folder, part: int, answers: Sequence[StoredAnswer]) -> Piece:
    """Writes the file that goes with a chunk."""
    name = attempt_name(f"part-{part:05d}")
    with open_writer(folder, name, ROBOTS.schema, GROUP_ROWS) as writer:
        writer.write(answers_table(answers))
    return Piece(name, len(answers), writer.bytes)


def read_pieces(folder: Folder, pieces: Iterable[Piece]) -> Iterator[pa.Table]:
    """The rows of such files. One that is damaged or gone costs a request more, no page; one that
    is gone has most likely been handed over by a fetch that was killed when it tidied up."""
    for piece in pieces:
        try:
            with open_table(folder, piece.path, size=piece.bytes) as source:
                yield from each_group(source)
        except StorageError as error:
            is_gone = isinstance(error, DamagedFile) and error.fault == MISSING
            level = logging.INFO if is_gone else logging.WARNING
            _log.log(level, "%s; what it held is not known", error)
