"""inject's first step: a piece of a seed file becomes CrawlDb rows, sent to their slices."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, properties
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.arrow import as_mask, fill_null, strings
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.model.table import METADATA
from crawl.model.tables import CRAWLDB
from crawl.rules.inject import Seed, parse_line, why_no_url
from crawl.storage.seeds import SeedLine, SeedPiece, read_lines
from crawl.tables.exchange import Outbox, RowKind
from crawl.tables.samples import Samples
from crawl.tables.slices import Router
from crawl.urls.hosts import hosts_of

SEEDED = CRAWLDB.schema.append(pa.field("sequence", pa.int64(), False))
"""CrawlDb rows with the place of their seed line: of two for one URL the last wins."""
SEEDS = RowKind("seeds", SEEDED)

_BATCH_LINES = 20_000
_BARE = r"^[!\"$-~][!-~]*$"
"""A line that is a URL and nothing else: printable ASCII that does not begin with #."""
_FILE_SHIFT = 40
"""A sequence is the file's rank above the line's offset, which is below a terabyte."""


@dataclass(frozen=True)
class ReadSeedsJob:
    """The reading of seed files: how URLs are normalized, filtered and scored, and where the rows
    are sent."""

    config: Config
    normalizers: NormalizerChain | None
    filters: FilterChain | None
    scoring: ScoringChain
    now_ms: int
    router: Router


@dataclass(frozen=True, slots=True)
class ReadSeedsTaskResult:
    """The counts and examples of one piece."""

    counters: Counters
    samples: dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some seeds as columns."""

    sequences: npt.NDArray[np.int64]
    urls: pa.Array[Any]
    """The URLs as given, not yet normalised."""
    annotated: dict[int, Seed]
    """The seeds whose line says more than a URL, by row."""


def read_seeds(job: ReadSeedsJob, piece: SeedPiece, outbox: Outbox) -> ReadSeedsTaskResult:
    """Every line of the piece becomes a row that is sent, or a counted reason."""
    counters = Counters()
    samples = Samples(job.config[properties.REPORT_SAMPLES])
    lines = read_lines(piece, job.config[properties.SEED_MAX_LINE])
    tables = [
        _rows(job, _parsed(piece, batch, counters, samples), counters, samples)
        for batch in iter(lambda: list(islice(lines, _BATCH_LINES)), [])
    ]
    rows = pa.concat_tables([SEEDED.empty_table(), *tables])
    outbox.send(SEEDS, rows, job.router.slices_of(rows["host"], rows["url"]))
    return ReadSeedsTaskResult(counters, samples.by_reason)


def _parsed(
    piece: SeedPiece, lines: list[SeedLine], counters: Counters, samples: Samples
) -> _Batch:
    """The seeds on the lines: most are a bare URL, and are told from the others all at once."""
    raw = pa.array([line.raw for line in lines], pa.binary())
    is_bare = as_mask(pc.match_substring_regex(raw, _BARE))
    bare = np.flatnonzero(is_bare)
    counters["seed_lines"] += len(bare)
    seeds = {
        row: seed
        for row in np.flatnonzero(~is_bare).tolist()
        if (seed := _seed(piece, lines[row], counters, samples)) is not None
    }
    numbers = np.concatenate([bare, np.fromiter(seeds, np.int64, len(seeds))])
    order = np.argsort(numbers)
    texts = [
        raw.filter(pa.array(is_bare)).cast(pa.string()),
        pa.array([seed.url for seed in seeds.values()], pa.string()),
    ]
    offsets = np.array([line.offset for line in lines], np.int64)
    numbers = numbers[order]
    place = {row: at for at, row in enumerate(numbers.tolist())} if seeds else {}
    return _Batch(
        offsets[numbers] + (piece.order << _FILE_SHIFT),
        pa.concat_arrays(texts).take(order),
        {place[row]: seed for row, seed in seeds.items()},
    )


def _seed(piece: SeedPiece, line: SeedLine, counters: Counters, samples: Samples) -> Seed | None:
    """The seed on a line; a line that cannot be read is counted."""
    seed = None
    if line.raw is None:
        text = f"{piece.address} at byte {line.offset}"
        _count("malformed.line_too_long", text, counters, samples)
    else:
        try:
            seed = parse_line(line.raw.decode())
        except UnicodeDecodeError:
            _count("malformed.not_utf8", line.raw, counters, samples)
        else:
            if seed is None:
                return None
            for token in seed.ignored:
                _count("metadata_ignored", f"{token} of {seed.url}", counters, samples)
    counters["seed_lines"] += 1
    return seed


def _count(reason: str, text: str | bytes, counters: Counters, samples: Samples) -> None:
    counters[reason] += 1
    samples.add(reason, text)


def _rows(job: ReadSeedsJob, batch: _Batch, counters: Counters, samples: Samples) -> pa.Table:
    urls = batch.urls
    if job.normalizers is not None:
        urls = job.normalizers.normalize_batch(batch.urls, counters)
    hosts = hosts_of(urls)
    # a file: URL has no host, and that is no fault
    hosts = cast(
        "pa.Array[Any]", pc.if_else(pc.starts_with(urls, "file:"), fill_null(hosts, ""), hosts)
    )
    usable = pc.and_(pc.is_valid(urls), pc.is_valid(hosts))
    for url in strings(batch.urls.filter(pc.invert(usable))):
        _count(f"malformed.{why_no_url(url)}", url, counters, samples)

    if job.filters is not None:
        candidates = urls.filter(usable)
        accepted = job.filters.filter_batch(candidates, counters)
        rejected = candidates.filter(pc.invert(accepted))
        counters["urls_filtered"] += len(rejected)
        for url in strings(rejected.slice(0, samples.most)):
            if samples.wants("urls_filtered"):
                name, reason = job.filters.rejection(url) or ("", "")
                samples.add("urls_filtered", f"{url} ({name}: {reason})")
        usable = pc.replace_with_mask(usable, usable, accepted)

    numbers = np.flatnonzero(usable.to_numpy(zero_copy_only=False))
    counters["urls_injected"] += len(numbers)
    rows = _columns(job, batch, numbers, urls.filter(usable), hosts.filter(usable))
    return _scored(job, rows, counters)


def _columns(
    job: ReadSeedsJob,
    batch: _Batch,
    numbers: npt.NDArray[np.int64],
    urls: pa.Array[Any],
    hosts: pa.Array[Any],
) -> pa.Table:
    whole = len(batch.urls)
    scores = np.full(whole, job.config[properties.DB_SCORE_INJECTED])
    intervals = np.full(whole, int(job.config[properties.DB_FETCH_INTERVAL_DEFAULT]))
    metadata: list[list[tuple[str, str]]] = [[]] * whole
    for row, seed in batch.annotated.items():
        scores[row] = scores[row] if seed.score is None else seed.score
        if seed.fetch_interval is not None:
            intervals[row] = seed.fetch_interval
        metadata[row] = list(seed.metadata.items())
    count = len(numbers)
    columns: dict[str, Any] = {
        "url": urls,
        "host": hosts,
        "status": pa.repeat(int(Status.DB_UNFETCHED), count),
        "fetch_time": pa.repeat(job.now_ms, count),
        "modified_time": pa.nulls(count),
        "fetch_interval": intervals[numbers],
        "retries": pa.repeat(0, count),
        "score": scores[numbers],
        "signature": pa.nulls(count),
        "metadata": pa.array(metadata, METADATA).take(numbers),
        "sequence": batch.sequences[numbers],
    }
    arrays = [
        (column if isinstance(column, pa.Array) else pa.array(column)).cast(field.type)
        for column, field in zip(columns.values(), SEEDED, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SEEDED)


def _scored(job: ReadSeedsJob, rows: pa.Table, counters: Counters) -> pa.Table:
    """The rows with the scores that scoring plugins give to seeds, asked only if one does."""
    if not job.scoring.has_moment("injected_score"):
        return rows
    changed = to_table(
        (url, host, job.scoring.injected_score(url, datum, counters))
        for (url, datum), host in zip(to_records(rows), strings(rows["host"]), strict=True)
    )
    return changed.append_column(SEEDED.field("sequence"), rows["sequence"])
