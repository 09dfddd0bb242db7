"""URLs that a fetch takes on beyond its list, kept with the answers that named them.

    SEGMENT/crawl_fetch/followed/part-00003-1f2e3d4c.parquet

A redirect's target and a followed link wait in memory, while the page that named them is
committed and not asked again. So each is written along with that page, into the same note of
the journal and the same chunk; the task that resumes the part queues those that have no record
yet. The files are named by the chunks' marks, belong to none of
the segment's tables, and are deleted when the whole fetch is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from crawl.fetcher.values.item import FollowedUrl
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.model.tables import CRAWL_FETCH
from crawl.storage.chunks import FOLLOWED, Chunk, Piece
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.parquet import each_group, open_table, open_writer
from crawl.storage.segments import FETCH

_COLUMNS: tuple[pa.Field[Any], ...] = (
    pa.field("came_by", pa.string()),
    pa.field("representative", pa.string()),
    pa.field("depth", pa.int32()),
)
_SCHEMA = pa.schema([*CRAWL_FETCH.schema, *_COLUMNS])
_SEPARATOR = "\n"
"""No URL contains it."""


def write_followed(segment: Folder, part: int, followed: Sequence[FollowedUrl]) -> Piece:
    """Writes the file that goes with a chunk."""
    folder, name = segment.child(FOLLOWED), attempt_name(f"part-{part:05d}")
    rows = to_table((each.url, each.host, each.datum) for each in followed)
    columns: tuple[list[str] | list[int], ...] = (
        [_SEPARATOR.join(each.came_by) for each in followed],
        [each.representative for each in followed],
        [each.depth for each in followed],
    )
    for column, values in zip(_COLUMNS, columns, strict=True):
        rows = rows.append_column(column, pa.array(values, column.type))
    with open_writer(folder, name, _SCHEMA) as writer:
        writer.write(rows.cast(_SCHEMA))
    return Piece(name, len(followed), writer.bytes)


def unfetched_followed(
    segment: Folder, chunks: Iterable[Chunk], fetched: set[str]
) -> list[FollowedUrl]:
    """The URLs that the chunks' pages led to and that have no record yet: neither one of their
    own (`fetched`) nor, for a redirect's target, that of a link which leaves it to a later
    round."""
    chunks = list(chunks)
    waiting: dict[str, FollowedUrl] = {}
    for chunk in chunks:
        for each in _read(segment, chunk.followed):
            if each.url not in fetched:
                waiting.setdefault(each.url, each)
    if not waiting:
        return []
    for rows in _rows_with(segment.child(FETCH), _files(chunks), list(waiting), ["status"]):
        for url, status in zip(rows["url"].to_pylist(), rows["status"].to_pylist(), strict=True):
            if status == int(Status.LINKED) and url in waiting and waiting[url].came_by:
                del waiting[url]
    return list(waiting.values())


def not_listed(
    waiting: list[FollowedUrl], folder: Folder, files: Iterable[str]
) -> list[FollowedUrl]:
    """The URLs that the fetch lists do not have anyway. A redirect's target stays: it was taken
    on before the list came to it."""
    links = [each.url for each in waiting if not each.came_by]
    listed: set[str] = set()
    for rows in _rows_with(folder, files, links, []) if links else ():
        listed.update(cast(list[str], rows["url"].to_pylist()))
    return [each for each in waiting if each.came_by or each.url not in listed]


def _files(chunks: Iterable[Chunk]) -> list[str]:
    return [chunk.pieces[FETCH].path for chunk in chunks if FETCH in chunk.pieces]


def _rows_with(
    folder: Folder, files: Iterable[str], urls: list[str], columns: list[str]
) -> Iterator[pa.Table]:
    url_array = pa.array(urls, pa.string())
    for path in files:
        with open_table(folder, path) as source:
            for rows in each_group(source, ["url", *columns]):
                yield rows.filter(pc.is_in(rows["url"], url_array))


def _read(segment: Folder, piece: Piece | None) -> Iterator[FollowedUrl]:
    if piece is None:
        return
    with open_table(segment.child(FOLLOWED), piece.path, size=piece.bytes) as source:
        for rows in each_group(source):
            others = zip(*(rows[column.name].to_pylist() for column in _COLUMNS), strict=True)
            for (url, datum), host, (came_by, shown, depth) in zip(
                to_records(rows), cast(list[str], rows["host"].to_pylist()), others, strict=True
            ):
                path = tuple(came_by.split(_SEPARATOR)) if came_by else ()
                yield FollowedUrl(url, host, datum, path, shown, depth)
