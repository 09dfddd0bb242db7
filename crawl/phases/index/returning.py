"""Pages that were kept out of the index by their state, and are so no longer: `index` takes them
from the segments that were indexed before. A task a shard, and only where the CrawlDb has changed
since they were last looked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

from crawl.config import Config
from crawl.driver.segment_choice import ChosenSegments
from crawl.phases.index.settings import INDEXER_SKIP_NOTMODIFIED
from crawl.phases.index.state import IndexState, kept_out_files
from crawl.phases.index.tasks.kept_out import KeptOutJob, returning_segments
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import LOOKED_AT, Snapshot
from crawl.storage.segments import PARSE_DATA, Segment
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner


def may_return(ledger: Snapshot | None, crawldb: Snapshot) -> bool:
    """Whether pages that are kept out may be so no longer: only the CrawlDb keeps them out."""
    noted = ledger.notes.get(LOOKED_AT) if ledger else None
    return noted != crawldb.number and bool(kept_out_files(ledger))


@dataclass(frozen=True, slots=True)
class ReturningPages:
    """Where the pages are that nothing keeps out any more."""

    job: KeptOutJob | None = None
    """What a shard needs to know to find its own; None where nobody looked for any."""
    segments: tuple[Segment, ...] = ()
    """Those that were indexed before."""
    lost: int = 0
    """How many such pages lie in segments that are not there any more."""


def find_returning(
    runner: Runner, crawl_dir: CrawlDir, config: Config, index: IndexState, choice: ChosenSegments
) -> ReturningPages:
    """Looks for them, in segments beside the chosen ones."""
    shards = map(index.shard, range(index.shards))
    tasks = largest_first(shard for shard in shards if shard.kept_out)
    job = KeptOutJob(
        index.kept_out_target.folder,
        crawl_dir.crawldb.folder,
        with_not_modified=not config[INDEXER_SKIP_NOTMODIFIED],
    )
    counts: Counter[str] = Counter()
    for segment_counts in runner.run(partial(returning_segments, job), tasks, "index: returning"):
        counts.update(segment_counts)
    there = {
        segment.name: segment
        for segment in crawl_dir.segments.generated()
        if segment.is_done(PARSE_DATA)
    }
    return ReturningPages(
        job,
        tuple(there[name] for name in counts if name in there and name not in choice.names),
        sum(count for name, count in counts.items() if name not in there),
    )
