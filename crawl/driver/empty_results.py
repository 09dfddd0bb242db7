"""What phases say of a result that is empty, or nearly so: a table of causes for each of them.

Each cause is a counter of the phase's report; `few_left` names the one that weighs most.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from math import ceil

from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_DEFAULT
from crawl.counters import Counters
from crawl.driver.few_left import LeftOut, all_left_out, few_left, keeps_them
from crawl.hints import command
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, PARSE

_DAY_S = 86_400
_URL_FILTERS = "the URL filters (urlfilter.order)"


def generate_remarks(address: str, config: Config, counters: Counters) -> list[str]:
    """Why no URL was selected."""
    days = ceil(config[DB_FETCH_INTERVAL_DEFAULT] / _DAY_S)
    line = command("generate", address)

    def selects(words: str) -> str:
        return f"`{line} {words}` selects them"

    causes = {
        "schedule_rejected": (
            "the schedule, as they are not due yet",
            f"`{line} --add-days {days}` selects what is due within {days} days",
        ),
        "url_filters_rejected": (_URL_FILTERS, selects("--no-filter")),
        "wait_for_update": (
            "an earlier generate, which has put them on a list",
            f"fetch its segment and `{command('updatedb', address)}`",
        ),
        "host_waits": ("their hosts, which are to be left alone for now", ""),
        "expr_rejected": ("--expr", ""),
        "status_rejected": ("generate.restrict.status", selects("-D generate.restrict.status=")),
        "score_too_low": ("generate.min.score", selects("-D generate.min.score=0")),
        "interval_rejected": ("generate.min.interval", selects("-D generate.min.interval=-1")),
        "trap.same_signature": ("repeating themselves, as traps do", ""),
        "hosts_not_resolved": ("DNS, which does not know their hosts", ""),
    }
    return few_left("URLs", counters["records"], 0, all_left_out(counters, "", causes))


def fetch_remarks(address: str, counters: Counters) -> list[str]:
    """Why hardly a page was fetched."""
    every = shlex.quote("*")
    again = f"`{command('refresh', address, every, '--gone')}`, then"

    def run(words: str) -> str:
        return f"`{command('run', address)} {words}`"

    answers, handed_back = _by_name(counters, "answers."), _by_name(counters, "handed_back.")
    refused = answers.pop("address_refused", 0)
    redirects = {"external": "db.ignore.external.links", "internal": "db.ignore.internal.links"}
    left_out = [
        LeftOut(counters["robots_denied"], "robots.txt, which forbids them"),
        LeftOut(
            refused,
            "http.filter.ipaddress.*, by which private and loopback addresses are not asked",
            f"{again} {run('-D http.filter.ipaddress.allow.private=true')} asks them",
        ),
        *(
            LeftOut(
                counters[f"redirects_dropped.{reason}"],
                f"{name}, as they redirect and db.ignore.also.redirects is set",
                f"{again} {run('-D db.ignore.also.redirects=false')} follows them",
            )
            for reason, name in redirects.items()
        ),
        LeftOut(
            counters["redirects_dropped.filtered"],
            f"{_URL_FILTERS}, which reject what they redirect to",
        ),
        *(
            LeftOut(count, _answered(answer), f"`{command('explain', address)} URL` tells more")
            for answer, count in answers.items()
            if not answer.startswith(("http_2", "http_3"))
        ),
        LeftOut(
            handed_back.pop("robots_deferred", 0),
            "robots.txt, which their hosts do not give at the moment",
            f"`{command('status', address)}` tells when they are asked again",
        ),
        LeftOut(
            handed_back.pop("crawl_delay_too_long", 0),
            "fetcher.max.crawl.delay, as their hosts want longer pauses",
            f"{run('-D fetcher.max.crawl.delay=-1')} keeps them",
        ),
        *(
            LeftOut(count, f"being put off ({reason.replace('_', ' ')})", "they stay due")
            for reason, count in handed_back.items()
        ),
    ]
    moved = counters["fetch_redir_temp"] + counters["fetch_redir_perm"]
    dropped = sum(counters[f"redirects_dropped.{reason}"] for reason in (*redirects, "filtered"))
    kept_count = counters["fetch_success"] + counters["fetch_notmodified"]
    kept_count += max(0, moved - dropped)
    total = kept_count + sum(each.count for each in left_out)
    return few_left("URLs", total, kept_count, left_out, "fetched")


def _answered(answer: str) -> str:
    """What a server's answer, by the name under which it is counted, is called as a cause."""
    is_code = answer.startswith("http_")
    words = answer.removeprefix("http_") if is_code else answer.replace("_", " ")
    return f"their servers, which answered {words}" if is_code else f"their servers: {words}"


def parse_remarks(address: str, segment: str, counters: Counters) -> list[str]:
    """Why no page was parsed, or no link of the pages is left."""
    again = command("parse", address, segment, "--reparse")

    def keeps(words: str) -> str:
        return keeps_them(f"{again} {words}")

    parsed = counters["parse.success"] + counters["parse.success_redirect"]
    pages = [
        LeftOut(counters["skipped.not_success"], "their fetch, which brought no page"),
        LeftOut(
            counters["parse.failed_truncated"],
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
    links = {
        "filtered": (_URL_FILTERS, keeps("--no-filter")),
        "internal": ("db.ignore.internal.links", keeps("-D db.ignore.internal.links=false")),
        "external": ("db.ignore.external.links", keeps("-D db.ignore.external.links=false")),
        "limit": ("db.max.outlinks.per.page", keeps("-D db.max.outlinks.per.page=-1")),
        "parser_limit": ("parser.html.outlinks.max", keeps("-D parser.html.outlinks.max=100000")),
        "too_long": ("db.max.outlink.length", keeps("-D db.max.outlink.length=65536")),
        "rel_nofollow": ("parse.outlinks.ignore.rel", keeps("-D parse.outlinks.ignore.rel=")),
        "page_nofollow": ("the pages themselves, which say nofollow", ""),
        "self": ("leading to the page that they are on", ""),
        "malformed": ("being no URLs", ""),
    }
    kept_count = counters["outlinks_kept"] + counters["outlinks_dropped.duplicate"]
    dropped = all_left_out(counters, "outlinks_dropped.", links)
    return [
        *few_left("pages", counters["pages"], parsed, pages),
        *few_left("links", counters["outlinks"], kept_count, dropped),
    ]


def no_links_remarks(crawl_dir: CrawlDir, phase: str, names: Sequence[str]) -> list[str]:
    """What a phase that takes links says where the pages of the segments have none: the reason,
    too, where their fetch or their parse has told one."""
    fetched, parsed = Counters(), Counters()
    for name in names:
        segment = crawl_dir.segments.segment(name)
        fetched.update(segment.report(FETCH).get("counters", {}))
        parsed.update(segment.report(PARSE).get("counters", {}))
    address = crawl_dir.address
    one = names[0] if len(names) == 1 else "SEGMENT"
    why = [*fetch_remarks(address, fetched), *parse_remarks(address, one, parsed)]
    line = "the pages of these segments have no links"
    if why:
        again = command(phase, address, *names, "--again")
        line += f"; once a parse keeps some, `{again}` takes them in"
    return [line, *why]


def pages_remarks(
    address: str, command_name: str, kept_count: int, counters: Counters
) -> list[str]:
    """Why no page was indexed or exported: `command_name` is the phase that says so."""
    causes = {
        "noindex": ("the pages themselves, which say noindex", ""),
        "parse_failed": ("their parsers, which failed", ""),
        "gone": ("being gone", ""),
        "redirect": ("redirecting elsewhere", ""),
        "orphan": ("being orphans", ""),
        "not_fetched": ("not being fetched", ""),
        "not_parsed": ("not being parsed", f"`{command('parse', address)}` first"),
        "not_in_crawldb": ("not being in the CrawlDb", f"`{command('updatedb', address)}` first"),
        "duplicate": ("being duplicates", f"`{command('dedup', address)}` compares them anew"),
        "not_modified": (
            "indexer.skip.notmodified",
            keeps_them(f"{command(command_name, address)} --all -D indexer.skip.notmodified=false"),
        ),
        "url_filter": (f"{_URL_FILTERS}, which --filter asks", ""),
        "filtered": (_indexing_filters(counters), ""),
        "no_text": ("having no text", ""),
    }
    left_out = [
        LeftOut(counters[f"skipped.{reason}"] + counters[f"deleted.{reason}"], cause, remedy)
        for reason, (cause, remedy) in causes.items()
    ]
    total = kept_count + sum(each.count for each in left_out)
    return few_left("pages", total, kept_count, left_out)


def merge_remarks(address: str, others: Sequence[str], counters: Counters) -> list[str]:
    """Why no link of other LinkDbs was taken in."""
    links, filtered = counters["links"], counters["dropped.filtered"]
    if not links:
        return ["these LinkDbs have no links: their own `invertlinks` says why"]
    line = keeps_them(command("mergelinkdb", address, *others))
    return few_left(
        "links",
        links,
        links - filtered,
        [LeftOut(filtered, f"{_URL_FILTERS}, as --filter asks", line)],
    )


def scores_remarks(address: str, counters: Counters) -> list[str]:
    """Why no URL has a score of the link graph."""
    scored, cleared = counters["urls_scored"], counters["urls_cleared"]
    cause = "not being in the link graph (link.score.updater.clear.score is their score now)"
    remedy = f"`{command('webgraph', address)}` and `{command('linkrank', address)}` first"
    return few_left("URLs", scored + cleared, scored, [LeftOut(cleared, cause, remedy)])


def _indexing_filters(counters: Counters) -> str:
    prefix = "indexing_filters_dropped."
    names = [name.removeprefix(prefix) for name in sorted(counters) if name.startswith(prefix)]
    return f"indexing filters ({', '.join(names)})" if names else "indexing filters"


def _by_name(counters: Counters, prefix: str) -> Counters:
    """Those that are not zero whose names begin so, by the rest of their names."""
    return Counters(
        {
            name.removeprefix(prefix): count
            for name, count in counters.items()
            if name.startswith(prefix) and count
        }
    )
