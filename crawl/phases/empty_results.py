"""What phases say of a result that is empty, or nearly so: a table of causes for each of them.

Each cause is a counter of the phase's report; `few_left` names the one that weighs most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT
from crawl.hints import command
from crawl.phases.few_left import LeftOut, few_left, keeps_them

_DAY_S = 86_400
_URL_FILTERS = "the URL filters (urlfilter.order)"
_Counts = Mapping[str, int]


def generate_remarks(address: str, config: Config, counters: _Counts) -> list[str]:
    """Why no URL was selected."""
    days = ceil(config[DB_FETCH_INTERVAL_DEFAULT] / _DAY_S)
    line = command("generate", address)

    def selects(words: str) -> str:
        return f"`{line} {words}` selects them"

    left_out = [
        LeftOut(
            _count(counters, "schedule_rejected"),
            "the schedule, as they are not due yet",
            f"`{line} --add-days {days}` selects what is due within {days} days",
        ),
        LeftOut(_count(counters, "url_filters_rejected"), _URL_FILTERS, selects("--no-filter")),
        LeftOut(
            _count(counters, "wait_for_update"),
            "an earlier generate, which has put them on a list",
            f"fetch its segment and `{command('updatedb', address)}`",
        ),
        LeftOut(_count(counters, "host_waits"), "their hosts, which are to be left alone for now"),
        LeftOut(_count(counters, "expr_rejected"), "--expr"),
        LeftOut(
            _count(counters, "status_rejected"),
            "generate.restrict.status",
            selects("-D generate.restrict.status="),
        ),
        LeftOut(
            _count(counters, "score_too_low"),
            "generate.min.score",
            selects("-D generate.min.score=0"),
        ),
        LeftOut(
            _count(counters, "interval_rejected"),
            "generate.min.interval",
            selects("-D generate.min.interval=-1"),
        ),
        LeftOut(_count(counters, "trap.same_signature"), "repeating themselves, as traps do"),
        LeftOut(_count(counters, "hosts_not_resolved"), "DNS, which does not know their hosts"),
    ]
    return few_left("URLs", _count(counters, "records"), 0, left_out)


def parse_remarks(address: str, segment: str, counters: _Counts) -> list[str]:
    """Why no page was parsed, or no link of the pages is left."""
    again = command("parse", address, segment, "--reparse")
    parsed = _count(counters, "parse.success") + _count(counters, "parse.success_redirect")
    pages = [
        LeftOut(_count(counters, "skipped.not_success"), "their fetch, which brought no page"),
        LeftOut(
            _count(counters, "parse.failed_truncated"),
            "parser.skip.truncated, as their bodies are not whole",
            f"`{again} -D parser.skip.truncated=false` parses them",
        ),
        LeftOut(
            sum(
                count
                for name, count in counters.items()
                if name.startswith("parse.failed_") and name != "parse.failed_truncated"
            ),
            "their parsers, which failed",
            f"`{command('explain', address)} URL` tells why",
        ),
    ]
    causes = {
        "filtered": (_URL_FILTERS, "--no-filter"),
        "internal": ("db.ignore.internal.links", "-D db.ignore.internal.links=false"),
        "external": ("db.ignore.external.links", "-D db.ignore.external.links=false"),
        "limit": ("db.max.outlinks.per.page", "-D db.max.outlinks.per.page=-1"),
        "parser_limit": ("parser.html.outlinks.max", "-D parser.html.outlinks.max=100000"),
        "too_long": ("db.max.outlink.length", "-D db.max.outlink.length=65536"),
        "rel_nofollow": ("parse.outlinks.ignore.rel", "-D parse.outlinks.ignore.rel="),
        "page_nofollow": ("the pages themselves, which say nofollow", ""),
        "self": ("leading to the page that they are on", ""),
        "malformed": ("being no URLs", ""),
    }
    links = [
        LeftOut(
            _count(counters, f"outlinks_dropped.{reason}"),
            cause,
            keeps_them(f"{again} {words}") if words else "",
        )
        for reason, (cause, words) in causes.items()
    ]
    total, kept = _count(counters, "outlinks"), _count(counters, "outlinks_kept")
    return [
        *few_left("pages", _count(counters, "pages"), parsed, pages),
        *few_left("links", total, kept + _count(counters, "outlinks_dropped.duplicate"), links),
    ]


def pages_remarks(address: str, done: str, kept: int, counters: _Counts) -> list[str]:
    """Why no page was indexed or exported: `done` is the command."""
    causes = {
        "noindex": ("the pages themselves, which say noindex", ""),
        "parse_failed": ("their parsers, which failed", ""),
        "gone": ("being gone", ""),
        "redirect": ("redirecting elsewhere", ""),
        "orphan": ("being orphans", ""),
        "not_fetched": ("not being fetched", ""),
        "not_parsed": ("not being parsed", f"`{command('parse', address)}` first"),
        "not_in_crawldb": (
            "not being in the CrawlDb",
            f"`{command('updatedb', address)}` first",
        ),
        "duplicate": ("being duplicates", f"`{command('dedup', address)}` compares them anew"),
        "not_modified": (
            "indexer.skip.notmodified",
            keeps_them(f"{command(done, address)} --all -D indexer.skip.notmodified=false"),
        ),
        "url_filter": (f"{_URL_FILTERS}, which --filter asks", ""),
        "filtered": (_indexing_filters(counters), ""),
        "no_text": ("having no text", ""),
    }
    left_out = [
        LeftOut(
            _count(counters, f"skipped.{reason}") + _count(counters, f"deleted.{reason}"),
            cause,
            remedy,
        )
        for reason, (cause, remedy) in causes.items()
    ]
    total = kept + sum(each.count for each in left_out)
    return few_left("pages", total, kept, left_out)


def merge_remarks(address: str, others: Sequence[str], counters: _Counts) -> list[str]:
    """Why no link of other LinkDbs was taken in."""
    links, filtered = _count(counters, "links"), _count(counters, "dropped.filtered")
    if not links:
        return ["these LinkDbs have no links: their own `invertlinks` says why"]
    line = keeps_them(command("mergelinkdb", address, *others))
    return few_left(
        "links",
        links,
        links - filtered,
        [LeftOut(filtered, f"{_URL_FILTERS}, as --filter asks", line)],
    )


def scores_remarks(address: str, counters: _Counts) -> list[str]:
    """Why no URL has a score of the link graph."""
    scored, cleared = _count(counters, "urls_scored"), _count(counters, "urls_cleared")
    cause = "not being in the link graph (link.score.updater.clear.score is their score now)"
    remedy = f"`{command('webgraph', address)}` and `{command('linkrank', address)}` first"
    return few_left("URLs", scored + cleared, scored, [LeftOut(cleared, cause, remedy)])


def _indexing_filters(counters: _Counts) -> str:
    prefix = "indexing_filters_dropped."
    names = [name.removeprefix(prefix) for name in sorted(counters) if name.startswith(prefix)]
    return f"indexing filters ({', '.join(names)})" if names else "indexing filters"


def _count(counters: _Counts, name: str) -> int:
    return counters.get(name, 0)
