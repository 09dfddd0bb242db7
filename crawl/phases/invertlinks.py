"""invertlinks: the links of parsed segments become the LinkDb's next state.

Steps: send (a task some files of parse_data) → merge (a task a slice to which links were sent)
→ publish. A segment is inverted once: the snapshot says which ones it contains.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

from crawl.buckets.linkdb.links import (
    LinkRules,
    PagesFile,
    SendLinksJob,
    send_links,
    send_links_tasks,
)
from crawl.buckets.runner import Runner
from crawl.buckets.slices import Slices
from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS, CRAWLDB_SNAPSHOTS_KEEP
from crawl.model.report import Report
from crawl.phases.linkdb import (
    buckets_wanted,
    in_buckets,
    linkdb_of,
    merge_sent,
    renormalization_of,
    target_of,
)
from crawl.phases.observed import observed
from crawl.phases.segment_choice import (
    ChosenSegments,
    SegmentRule,
    choose_segments,
    interrupted,
    not_parsed,
    require_some,
)
from crawl.phases.timing import timed
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import PARSE_DATA, Segment
from crawl.telemetry.context import update_context


@dataclass(frozen=True, slots=True)
class InvertLinksOptions:
    """What the command line says."""

    segments: tuple[str, ...] = ()
    """Names of segments; none: every one that is parsed and not in the LinkDb yet."""
    normalize: bool = True
    filter: bool = True
    force: bool = False
    """Inverts named segments again, in place of what they brought before, or as far as they
    were parsed; and takes the lock."""


@dataclass(frozen=True, slots=True)
class InvertLinksResult:
    """The published state and what was done."""

    linkdb: Snapshot
    report: Report
    segments: tuple[str, ...]
    remarks: tuple[str, ...]
    """Lines about segments that were passed over, or are not whole."""
    took_over: str | None


def check(config: Config, options: InvertLinksOptions) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    _rules(config, options)


def choose(crawl_dir: CrawlDir, options: InvertLinksOptions) -> ChosenSegments:
    """The named segments, or every one that is parsed and not in the LinkDb yet; raises
    UsageError where there is none, or a named one cannot be meant."""
    snapshot = linkdb_of(crawl_dir).current()
    inside = snapshot.applied if snapshot else {}
    rule = SegmentRule(
        lacks=partial(not_parsed, crawl_dir),
        unready=lambda segment: interrupted(crawl_dir, segment, PARSE_DATA),
        destination="the LinkDb",
        verb="invert",
        third_person="inverts",
        participle="inverted",
    )
    chosen = choose_segments(crawl_dir, options.segments, inside, rule, force=options.force)
    return require_some(chosen, crawl_dir, rule)


def _rules(config: Config, options: InvertLinksOptions) -> LinkRules:
    renormalization = renormalization_of(
        config, normalize=options.normalize, filter_urls=options.filter
    )
    return LinkRules.of(config, renormalization)


@observed("invertlinks")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: InvertLinksOptions, clock: Clock
) -> InvertLinksResult:
    """Inverts the segments and publishes a new snapshot of the LinkDb."""
    report = Report("invertlinks", clock.now_ms(), config.digest(), asdict(options))
    rules = _rules(config, options)
    dataset = linkdb_of(crawl_dir)
    with crawl_dir.writing(
        dataset, "invertlinks", config, clock, force=options.force
    ) as transaction:
        chosen = choose(crawl_dir, options)  # nobody else can invert them from here on
        update_context(segment=" ".join(chosen.names))
        target = target_of(transaction, config)
        buckets = buckets_wanted(crawl_dir, config, transaction.base)
        base = in_buckets(runner, transaction.base, target, buckets, "invertlinks: rebucket")
        slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
        with timed(report, "merge", clock):
            sent = runner.exchange(
                partial(send_links, SendLinksJob(rules, slices.router)),
                send_links_tasks(_files(chosen.segments, report)),
                len(slices),
                "invertlinks: send",
            )
            files = merge_sent(sent, slices, target, config, report, chosen.again)
        report.finished_ms = clock.now_ms()
        snapshot = transaction.publish(
            files,
            report,
            buckets=buckets,
            keep=config[CRAWLDB_SNAPSHOTS_KEEP],
            applying=chosen.names,
        )
        return InvertLinksResult(
            snapshot, report, chosen.names, tuple(chosen.remarks), transaction.lock.took_over
        )


def _files(segments: list[Segment], report: Report) -> list[PagesFile]:
    """Every file of parsed pages, oldest segment first; the report tells of them."""
    found: list[PagesFile] = []
    described = []
    for segment in segments:
        folder, manifest = segment.part_folder(PARSE_DATA), segment.require(PARSE_DATA)
        found += [
            PagesFile(folder, file.path, file.rows, segment.name)
            for file in manifest.files
            if file.rows
        ]
        described.append({"segment": segment.name, "pages": manifest.rows})
    report.details["segments"] = described
    return found
