"""crawl explain."""

from __future__ import annotations

import click

from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import echo, print_json, print_table, remark
from crawl.cli.common.polite_requests import polite_requests
from crawl.cli.common.url_lines import decoded_argument
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY
from crawl.model.datum import CrawlDatum
from crawl.printable import printable
from crawl.readers.explain.bounds import HostLimit, KnownHost
from crawl.readers.explain.explanation import explanation_values
from crawl.readers.explain.robots_verdict import RobotsVerdict, ask_verdict, known_verdict
from crawl.readers.explain.segment_lookup import SegmentEntry
from crawl.readers.explain.selection import GenerateStep, moment
from crawl.readers.explain.url import Explanation, SnapshotRecord, explain
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import CONTENT, PARSE_DATA
from crawl.tables.dump import as_paragraph

UNKNOWN = 1


@click.command("explain")
@crawl_dir_argument
@click.argument("url")
@click.option(
    "--robots", "with_robots", is_flag=True, help="Ask the host's robots.txt anew, politely."
)
@click.option(
    "--inlinks",
    type=click.IntRange(min=0),
    metavar="N",
    default=5,
    show_default=True,
    help="List at most this many pages that link to it.",
)
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    url: str,
    with_robots: bool,
    inlinks: int,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Show everything that CRAWL_DIR knows about a URL, and what happens to it next.

    Its record and how it came to be, what segments say about it, what normalizers and filters
    make of it, when it is due and why generate would select it or not, who links to it; what the
    HostDb knows of its host, and what bound and pause follow from it; what its host's robots.txt
    said, and when it was asked. Spark is started only where generate.max.count.expr or
    generate.fetch.delay.expr is given, to evaluate it.
    Nothing is sent unless --robots is given. Exit code 1: nothing is known about the URL.

    \b
    Examples:
      crawl explain mycrawl https://example.org/
      crawl explain mycrawl https://example.org/ --robots -D http.agent.name=mybot
      crawl explain mycrawl https://example.org/ -D generate.min.score=0.5 --json
    """
    directory, now_ms = CrawlDir(crawl_dir), SystemClock().now_ms()

    def evaluate(hostdb: Snapshot, host: str) -> tuple[float | None, float | None]:
        with spark.session("explain", config) as session:
            from crawl.phases.generate.tasks.selection import host_expressions
            from crawl.spark.host_bounds import values_of_host

            return values_of_host(session, directory, host_expressions(config), hostdb, host)

    found = explain(
        directory,
        decoded_argument(url),
        config,
        now_ms,
        most_inlinks=inlinks,
        evaluate=evaluate,
    )
    robots = known_verdict(directory, found.url, config, now_ms, found.segments)
    if with_robots:
        with polite_requests("explain", config) as environment:
            robots = ask_verdict(found.url, config, environment)
    if as_json:
        print_json(explanation_values(found, robots))
    else:
        _show(found, robots)
    if not found.is_known:
        remark(f"explain: nothing is known about {printable(found.url)}")
    return 0 if found.is_known else UNKNOWN


def _show(found: Explanation, robots: RobotsVerdict) -> None:
    if found.record is not None:
        echo(as_paragraph(found.url, found.record))
    else:
        echo(f"{printable(found.url)}\n  not in the CrawlDb")
    echo(f"  next            {printable(found.prospect)}")
    delay = "" if robots.crawl_delay_s is None else f", Crawl-delay {robots.crawl_delay_s:g} s"
    hint = "; --robots asks" if robots.allowed is None else ""
    echo(f"  robots.txt      {printable(robots.detail)}{delay}{hint}")
    _show_host(found.host)
    if any(past.record is not None for past in found.history):
        _table(
            "CrawlDb by snapshot",
            ["snapshot", "by", "status", "due", "interval", "retries", "score"],
            [_history_row(past) for past in found.history],
        )
    _table(
        "segments",
        ["segment", "part", "what"],
        [[mention.segment, mention.part, _mention_text(mention)] for mention in found.segments],
    )
    _table(
        "links to it",
        ["segment", "linked from", "anchor"],
        [[link.segment, link.url, link.anchor] for link in found.inlinks],
    )
    _table(
        "normalizers",
        ["round", "normalizer", "makes"],
        [
            [step.round, step.plugin, _normalized_text(step.url, step.changed, step.fault)]
            for step in found.normalizing
        ],
    )
    _table(
        "filters",
        ["filter", "says"],
        [[step.plugin, step.fault or step.reason or "accepted"] for step in found.filtering],
    )
    _table(
        "generate",
        ["generate's step", "passes", "because"],
        [[step.reason, _passes(step), step.detail] for step in found.generating],
    )


def _show_host(known: KnownHost) -> None:
    """What the HostDb knows of the host, in a few lines."""
    values = known.values
    if values is None:
        where = "" if known.snapshot is None else f" (HostDb, snapshot {known.snapshot})"
        hint = "; `crawl updatehostdb` makes the HostDb" if known.snapshot is None else ""
        echo(f"  host            nothing is known of {printable(known.host)}{where}{hint}")
    else:
        counts = [f"{values[name]:,} {name}" for name in _STATUSES if values[name]]
        asked = [f"{values[name]:,} {name}" for name in _ANSWERS if values[name]]
        echo(
            f"  host            {printable(known.host)}: {values['urls']:,} URLs"
            f"{_listed(counts)} (HostDb, snapshot {known.snapshot})"
        )
        echo(f"  requests        {values['requests']:,}{_listed(asked)}")
        times = [
            f"{name.removeprefix('response_ms_')} {value:,.0f} ms"
            for name, value in values.items()
            if name.startswith("response_ms_p") and value is not None
        ]
        if times:
            echo(f"  response time   {', '.join(times)}")
        echo(f"  duplicates      {values['duplicates_share']:.1%} of {values['pages']:,} pages")
        if values["failures"]:
            trouble = printable(values["trouble"])
            echo(f"  failures        {values['failures']:,} rounds in a row: {trouble}")
    echo(f"  bound           {_limit_text(known.max_count, 'URLs a segment')}")
    if known.delay_ms.why:
        echo(f"  pause           {_limit_text(known.delay_ms, 'ms between requests')}")


def _listed(counts: list[str]) -> str:
    return f": {', '.join(counts)}" if counts else ""


def _limit_text(limit: HostLimit, unit: str) -> str:
    if not limit.is_known:
        return f"not known: {printable(limit.why)}"
    if limit.value is None:
        return f"none of the host's own ({printable(limit.why)})"
    what = "no limit" if limit.value < 0 else f"{limit.value:,} {unit}"
    return f"{what} ({printable(limit.why)})"


_STATUSES = (
    *("unfetched", "fetched", "gone", "redir_temp", "redir_perm", "not_modified"),
    *("duplicate", "orphan", "parse_failed"),
)
_ANSWERS = (
    *("succeeded", "unchanged", "redirected", "refused", "failed", "dns_failures"),
    "robots_denied",
)


def _table(title: str, columns: list[str], rows: list[list[object]]) -> None:
    if rows:
        print_table(title, columns, rows, first=False)


def _history_row(past: SnapshotRecord) -> list[object]:
    when: list[object] = [past.snapshot, past.phase]
    datum = past.record
    if datum is None:
        return [*when, "not there", "", "", "", ""]
    return [
        *when,
        datum.status.label,
        moment(datum.fetch_time),
        f"{datum.fetch_interval / 86_400:.3g} d",
        datum.retries,
        datum.score,
    ]


def _normalized_text(url: str | None, changed: bool, fault: str) -> str:
    if fault:
        return f"nothing, it failed: {fault}"
    if url is None:
        return "no URL"
    return url if changed else "no change"


def _passes(step: GenerateStep) -> str:
    return {True: "yes", False: "NO", None: "?"}[step.passes]


def _mention_text(mention: SegmentEntry) -> str:
    facts = mention.facts
    if mention.part == CONTENT:
        truncated = f", truncated ({facts['truncated']})" if facts["truncated"] else ""
        fetched = moment(facts["fetch_time"])
        return f"{facts['code']} {facts['content_type']}, {fetched}{truncated}"
    if mention.part == PARSE_DATA:
        words = [facts["status"], facts["message"], facts["mime_type"], facts["language"]]
        words += [facts["directives"], f"{facts['outlinks']} links", repr(facts["title"])]
        return ", ".join(word for word in words if word)
    texts = [_record_text(datum) for datum in mention.records]
    if mention.links:  # the last record is the best of them
        pages = "1 page" if mention.links == 1 else f"{mention.links:,} pages"
        texts[-1] = f"linked from {pages}, best score {mention.records[-1].score:g}"
    return "; ".join(texts)


def _record_text(datum: CrawlDatum) -> str:
    status = datum.metadata.get(PROTOCOL_STATUS_KEY)
    words = [datum.status.label, f"score {datum.score:g}"]
    if datum.status.is_fetch:
        words.append(moment(datum.fetch_time))
    return ", ".join([*words, status] if status else words)
