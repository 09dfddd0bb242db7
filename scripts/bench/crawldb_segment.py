"""A fetched and parsed segment for a made CrawlDb: what updatedb has to take in.

Rows lie in files as a fetch of 5,000 pages a chunk leaves them, each file bucket by
bucket. A sixth of the links lead to new URLs, each of which several lead to.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from split_files import SplitFile, read_split, scratch_name, write_split

from crawl.model.status import Status
from crawl.model.table import METADATA
from crawl.model.tables import CRAWLDB
from crawl.storage.bucketed import write_bucketed
from crawl.storage.folder import Folder, attempt_name
from crawl.storage.segments import FETCH, GENERATE, PARSE, PartFile, PartManifest, Segment

NAME = "20261115000000"
PAGES_PER_CHUNK = 5_000
_HOUR_MS = 3_600_000
_OUTCOMES = {
    Status.FETCH_SUCCESS: 0.80,
    Status.FETCH_NOTMODIFIED: 0.05,
    Status.FETCH_REDIR_PERM: 0.03,
    Status.FETCH_REDIR_TEMP: 0.03,
    Status.FETCH_RETRY: 0.04,
    Status.FETCH_GONE: 0.05,
}


@dataclass(frozen=True, slots=True)
class Told:
    """The rows that one bucket's URLs give, split by chunk."""

    fetch: SplitFile
    parse: SplitFile


def tell(
    scratch: Folder,
    base: pa.Table,
    fresh: pa.Table,
    *,
    fetched: int,
    links: int,
    chunks: int,
    now_ms: int,
    rng: np.random.Generator,
) -> Told:
    """What a segment says of a bucket: `fetched` of its rows, `links` to it. `fresh` has
    the URL and host of URLs that it does not know."""
    chosen = np.sort(rng.choice(base.num_rows, min(fetched, base.num_rows), replace=False))
    rows = base.take(pa.array(chosen))
    outcome = rng.choice(
        np.array([int(status) for status in _OUTCOMES], np.int8),
        rows.num_rows,
        p=list(_OUTCOMES.values()),
    )
    times = now_ms - rng.integers(1, 6 * _HOUR_MS, rows.num_rows)
    fetch = _with(rows, "status", pa.array(outcome))
    fetch = _with(fetch, "fetch_time", pa.array(times).cast(CRAWLDB.schema.field(3).type))
    fetch = _with(fetch, "signature", pa.nulls(rows.num_rows, pa.binary()))
    fetch = _with(fetch, "metadata", _answered(rows["metadata"], outcome))
    parsed = rows.filter(pa.array(outcome == Status.FETCH_SUCCESS))
    signed = _with(parsed, "status", _full(parsed, Status.SIGNATURE, np.int8))
    signed = _with(signed, "signature", _signatures(parsed["signature"], rng))
    signed = _with(signed, "metadata", _none(parsed.num_rows))
    linked = _links(base, fresh, links, rng)
    parse = pa.concat_tables([signed, linked])
    return Told(
        _split(scratch, fetch, rng.integers(0, chunks, fetch.num_rows)),
        _split(scratch, parse, rng.integers(0, chunks, parse.num_rows)),
    )


def _links(base: pa.Table, fresh: pa.Table, count: int, rng: np.random.Generator) -> pa.Table:
    known = count - count // 6
    # most links lead to few pages
    ranks = np.minimum(rng.pareto(1.1, known) * 50, base.num_rows - 1).astype(np.int64)
    to_known = rng.permutation(base.num_rows)[ranks]
    to_known[: known // 2] = rng.integers(0, base.num_rows, known // 2)
    to_new = rng.integers(0, fresh.num_rows, count - known)
    targets = pa.concat_tables(
        [base.select(["url", "host"]).take(pa.array(to_known)), fresh.take(pa.array(to_new))]
    )
    rows = targets.num_rows
    columns = {
        "status": np.full(rows, Status.LINKED, np.int8),
        "fetch_interval": np.full(rows, 2_592_000, np.int32),
        "retries": np.zeros(rows, np.int16),
        "score": rng.exponential(0.05, rows).astype(np.float32),
    }
    arrays = {
        "url": targets["url"],
        "host": targets["host"],
        **{name: pa.array(values) for name, values in columns.items()},
        "fetch_time": pa.array(np.zeros(rows, np.int64)).cast(CRAWLDB.schema.field(3).type),
        "modified_time": pa.nulls(rows, CRAWLDB.schema.field(4).type),
        "signature": pa.nulls(rows, pa.binary()),
        "metadata": _none(rows),
    }
    return pa.table([arrays[name] for name in CRAWLDB.names], schema=CRAWLDB.schema)


def _signatures(old: pa.ChunkedArray, rng: np.random.Generator) -> pa.Array:
    """Of every third page that had a signature the same one, else another."""
    others = pa.array([rng.bytes(16) for _ in range(len(old))], pa.binary())
    same = pc.and_(pc.is_valid(old), pa.array(rng.random(len(old)) < 1 / 3))
    return pc.if_else(same, old, others).combine_chunks()


def _answered(metadata: pa.ChunkedArray, outcome: npt.NDArray[np.int8]) -> pa.Array:
    """What an answer adds to a record's metadata."""
    said = [
        *(("_pst_", "success(http_200)"), ("nutch.protocol.code", "200"), ("_rs_", "123")),
        *(("_ip_", "192.0.2.1"), ("Content-Type", "text/html; charset=utf-8")),
    ]
    rows = [[*entries, *said] for entries in metadata.to_pylist()]
    return pa.array(rows, METADATA)


def _none(rows: int) -> pa.Array:
    return pa.array([[]] * rows, METADATA)


def _full(rows: pa.Table, value: int, dtype: type) -> pa.Array:
    return pa.array(np.full(rows.num_rows, value, dtype))


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    place = rows.schema.get_field_index(name)
    return rows.set_column(place, rows.schema.field(place), column)


def _split(scratch: Folder, rows: pa.Table, chunk: npt.NDArray[np.int64]) -> SplitFile:
    return write_split(scratch, scratch_name("told"), rows, chunk)


def assemble(
    folder: Path, scratch: Folder, told: Sequence[Told], chunks: int, buckets: int, processes: int
) -> None:
    """Writes the segment's files, a chunk each, and its manifests."""
    segment = Segment(Folder(str(folder)), NAME)
    segment.publish(GENERATE, PartManifest((), 0))
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for part, files in (
            (FETCH, [each.fetch for each in told]),
            (PARSE, [each.parse for each in told]),
        ):
            write = partial(_write, segment.part_folder(part), scratch, files, buckets)
            written = tuple(pool.map(write, range(chunks)))
            segment.publish(part, PartManifest(written, 0))


def _write(
    folder: Folder, scratch: Folder, files: list[SplitFile], buckets: int, chunk: int
) -> PartFile:
    rows = read_split(scratch, files, chunk, CRAWLDB.schema)
    piece = write_bucketed(folder, attempt_name(f"part-{chunk:05d}"), rows, buckets)
    return PartFile(chunk, piece.path, piece.rows, piece.bytes)
