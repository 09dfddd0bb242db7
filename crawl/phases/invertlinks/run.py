"""invertlinks: the links of parsed segments become the LinkDb's next state.

Steps: send (a task some files of parse_data) → merge (a task a slice to which links were sent)
→ publish. A segment is inverted once: the snapshot says which ones it contains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from crawl.clock import Clock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_FILE_ROWS
from crawl.driver import segment_choice
from crawl.driver.empty_results import no_links_remarks
from crawl.driver.few_left import all_left_out, few_left, keeps_them
from crawl.driver.link_sites import find_link_sites, is_outgrown, sites_note
from crawl.driver.merge_table import in_buckets
from crawl.driver.observed import observed
from crawl.driver.phase_run import PhaseRun, Published
from crawl.hints import command
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.derived_tables import LINKDB
from crawl.model.report import Report
from crawl.parsing.anchors import UNFOLLOWABLE
from crawl.phases.invertlinks.linkdb import buckets_wanted, linkdb_of, merge_sent, target_of
from crawl.phases.invertlinks.options import InvertLinksOptions
from crawl.phases.invertlinks.settings import LINKDB_IGNORE_INTERNAL_LINKS
from crawl.phases.invertlinks.tasks import links
from crawl.rules.sites import AUTO, Sites
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import PARSE_DATA, Segment
from crawl.tables.renormalize import Renormalization
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.telemetry.context import update_context


def check(config: Config, options: InvertLinksOptions) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    _rules(config, options, Sites())


def choose(crawl_dir: CrawlDir, options: InvertLinksOptions) -> segment_choice.ChosenSegments:
    """The named segments, or every one that is parsed and not in the LinkDb yet; raises
    UsageError where there is none, or a named one cannot be meant."""
    rule = segment_choice.SegmentRule(
        lacks=partial(segment_choice.not_parsed, crawl_dir),
        unready=lambda segment: segment_choice.interrupted(crawl_dir, segment, PARSE_DATA),
        destination="the LinkDb",
        verb="invert",
        third_person="inverts",
        participle="inverted",
    )
    return segment_choice.choose_new(crawl_dir, LINKDB, options.segments, rule, again=options.again)


def _rules(config: Config, options: InvertLinksOptions, sites: Sites) -> links.LinkRules:
    renormalization = Renormalization.from_config(
        config, Scope.LINKDB, options.normalize, options.filter
    )
    return links.LinkRules.of(config, renormalization, sites)


@observed("invertlinks")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: InvertLinksOptions, clock: Clock
) -> Published:
    """Inverts the segments and publishes a new snapshot of the LinkDb."""
    phase = PhaseRun.begin("invertlinks", crawl_dir, config, options, clock)
    report = phase.report
    check(config, options)
    with phase.writing(linkdb_of(crawl_dir)) as transaction:
        choice = choose(crawl_dir, options)  # nobody else can invert them from here on
        update_context(segment=" ".join(choice.names))
        sites = find_link_sites(runner, transaction.base, choice.segments, "invertlinks")
        rules = _rules(config, options, sites)
        is_auto = config[LINKDB_IGNORE_INTERNAL_LINKS] == AUTO
        decision = {_INTERNAL: rules.ignore_internal} if is_auto else {}
        report.details.update(sites_note(sites, decision))
        target = target_of(transaction, config)
        buckets = buckets_wanted(crawl_dir, config, transaction.base)
        base = in_buckets(runner, transaction.base, target, buckets, "invertlinks: rebucket")
        slices = Slices.to_write(base, buckets, config[CRAWLDB_FILE_ROWS])
        with phase.timed("merge"):
            tasks = links.send_links_tasks(_files(choice.segments, report))
            send = partial(links.send_links, rules, slices.router)
            sent = runner.exchange(send, tasks, len(slices), "invertlinks: send")
            outgrown = is_outgrown(transaction.base, decision)
            files = merge_sent(
                sent, slices, target, config, report, choice.again, without_internal=outgrown
            )
        note = sites_note(sites, decision)
        linkdb = phase.publish(
            transaction, files, buckets=buckets, applying=choice.names, notes=note
        )
        own_remarks = _remarks(crawl_dir, decision, sites, choice.names, report)
        remarks = (*choice.remarks, *own_remarks)
        return Published(linkdb, report, remarks, transaction.lock.took_over, choice.names)


_INTERNAL = "ignore_internal"


def _remarks(
    crawl_dir: CrawlDir,
    decision: Mapping[str, bool],
    sites: Sites,
    names: Sequence[str],
    report: Report,
) -> list[str]:
    """Remarks on decisions by looking at the crawl, and on why few links are left."""
    counters = report.counters
    remarks = []
    if decision.get(_INTERNAL) is False and sites.one_host is not None:
        remarks.append(
            f"all links have to do with {sites.one_host}: those within the host are kept"
            " (linkdb.ignore.internal.links=auto)"
        )
    if counters["links_outgrown"]:
        remarks.append(
            f"the links have to do with more than one host now: {counters['links_outgrown']:,}"
            " links within a host, kept so far, are left out"
            " (linkdb.ignore.internal.links=auto; false keeps them)"
        )
    if not counters["links"]:
        return [*remarks, *no_links_remarks(crawl_dir, "invertlinks", names)]
    again = command("invertlinks", crawl_dir.address, *names, "--again")
    causes = {
        "internal": (
            "linkdb.ignore.internal.links (within a host)",
            keeps_them(f"{again} -D linkdb.ignore.internal.links=false"),
        ),
        "external": (
            "linkdb.ignore.external.links (to other hosts)",
            keeps_them(f"{again} -D linkdb.ignore.external.links=false"),
        ),
        "filtered": ("the URL filters (urlfilter.order)", keeps_them(f"{again} --no-filter")),
        UNFOLLOWABLE: ("their elements, which no reader can follow (link, script)", ""),
    }
    left_out = all_left_out(counters, "dropped.", causes)
    kept_count = counters["links"] - sum(each.count for each in left_out)
    return remarks + few_left("links", counters["links"], kept_count, left_out)


def _files(segments: list[Segment], report: Report) -> list[links.PagesFile]:
    """Every file of parsed pages, oldest segment first; the report tells of them."""
    files: list[links.PagesFile] = []
    described = []
    for segment in segments:
        folder, manifest = segment.part_folder(PARSE_DATA), segment.require(PARSE_DATA)
        files += [
            links.PagesFile(folder, file.path, file.rows, segment.name)
            for file in manifest.files
            if file.rows
        ]
        described.append({"segment": segment.name, "pages": manifest.rows})
    report.details["segments"] = described
    return files
