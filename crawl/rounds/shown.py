"""What is shown of rounds: rows of their tables, and lines about how a run ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from crawl.driver.behind import BehindTable
from crawl.hints import command
from crawl.operations.shown import waiting_hosts_note
from crawl.rounds.results import RoundResult, RunResult
from crawl.rounds.steps import STOP_FILE, StopReason

if TYPE_CHECKING:
    from crawl.config import Config

_PHASES = ("inject", "generate", "fetch", "parse", "updatedb")
_COUNTS = ("fetched", "new", "gone", "retried", "redirects", "not_modified")
_LIMITS = {
    "links_over_limit": "links over db.max.outlinks.per.page",
    "pages_truncated": "pages cut at http.content.limit",
}
"""What limits took away, shown where there is any."""


def round_rows(result: RoundResult, left_for_later: str = "left for later") -> list[list[object]]:
    """What a round came to, row by row."""
    return [
        *([name.replace("_", " "), getattr(result, name)] for name in _COUNTS),
        [left_for_later, result.left_for_later],
        *(
            [label, getattr(result, name)]
            for name, label in _LIMITS.items()
            if getattr(result, name)
        ),
        ["pages/s", round(result.pages_per_s, 1)],
        ["URLs in the db", result.db_urls],
        ["MB of the db", round(result.db_bytes / 1e6, 2)],
        *([f"{name}, seconds", round(spent, 1)] for name, spent in result.seconds.items()),
    ]


def total_rows(rounds: Sequence[RoundResult]) -> list[list[object]]:
    """What the rounds came to together. A URL that one round leaves for later may be left,
    or fetched, by the next: what is left is what the last round left."""
    spent = {name: sum(each.seconds.get(name, 0.0) for each in rounds) for name in _PHASES}
    total = replace(
        rounds[-1],
        **{name: sum(getattr(each, name) for each in rounds) for name in (*_COUNTS, *_LIMITS)},
        left_for_later=rounds[-1].left_for_later,
        records=sum(each.records for each in rounds),
        fetch_s=sum(each.fetch_s for each in rounds),
        seconds={name: round(seconds, 1) for name, seconds in spent.items() if seconds},
    )
    return round_rows(total, left_for_later="left for later by the last round")


def limit_lines(rounds: Sequence[RoundResult], config: Config) -> list[str]:
    """A line about each limit that took something away, and the setting that changes it."""
    from crawl.parsing.settings import PARSER_SKIP_TRUNCATED
    from crawl.rules.links import DB_MAX_OUTLINKS

    links = sum(each.links_over_limit for each in rounds)
    pages = sum(each.pages_truncated for each in rounds)
    skips = config[PARSER_SKIP_TRUNCATED]
    lines = []
    if links:
        lines.append(
            f"{links:,} links beyond {DB_MAX_OUTLINKS.name}={config[DB_MAX_OUTLINKS]} were"
            " dropped; with a higher limit the same pages may take fewer rounds"
        )
    if pages:
        lines.append(
            f"{pages:,} pages were cut at http.content.limit"
            + (f" and not parsed ({PARSER_SKIP_TRUNCATED.name}=true)" if skips else "")
        )
    return lines


def ending_line(crawl_dir: str, result: RunResult) -> str:
    """How it ended, in a line."""
    rounds = len(result.rounds)
    count = f"{rounds} {'round' if rounds == 1 else 'rounds'} done"
    waiting = waiting_hosts_note(result.hosts_waiting, result.next_host_ms)
    match StopReason[result.ending.upper()]:
        case StopReason.INTERRUPTED:
            return f"interrupted, {count}; run the same command to resume"
        case StopReason.STOP_FILE:
            return f"{crawl_dir}/{STOP_FILE} exists, {count}; delete it to continue"
        case StopReason.NOTHING_DUE if rounds:
            return f"{count}, nothing more is due{waiting}"
        case StopReason.NOTHING_FETCHED:
            return f"{count}; the servers of what is due let nobody in for now"
    if rounds:
        return count
    is_followed = any(step.is_done for step in result.after)
    return f"nothing is due, {'no round' if is_followed else 'nothing'} was done{waiting}"


def behind_line(crawl_dir: str, tables: Sequence[BehindTable]) -> str:
    """What the rounds have left behind, in a line."""
    names = ", ".join(each.table for each in tables)
    steps = ",".join(dict.fromkeys(each.step for each in tables))
    how = command("status", crawl_dir, "--behind")
    return f"now behind: {names} (`{how}`); with --then {steps} they keep up"
