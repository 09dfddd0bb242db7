"""What `crawl run` prints: its plan, a table a round, and the summary."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from crawl.cli.common.output import print_json, print_table, remark
from crawl.cli.common.waiting_hosts import waiting_hosts_note
from crawl.config import Config
from crawl.driver.derived import BehindTable
from crawl.facade.results import RunResult
from crawl.hints import command
from crawl.parsing.settings import PARSER_SKIP_TRUNCATED
from crawl.rounds import (
    STOP_FILE,
    UNBOUNDED,
    LoopOptions,
    RoundOptions,
    SegmentState,
    Step,
    StopReason,
    build_round,
    inject_step,
    next_step,
)
from crawl.rounds.results import AfterResult, RoundResult
from crawl.rules.links import DB_MAX_OUTLINKS

_PHASES = ("inject", "generate", "fetch", "parse", "updatedb")


class TerminalObserver:
    """Prints on a terminal how the rounds go."""

    def __init__(self, command: str, *, quiet: bool, tables: bool = True) -> None:
        self._command = command
        self._quiet = quiet
        self._tables = tables

    def on_step(self, step: Step, segments: tuple[str, ...]) -> None:
        if not self._quiet:
            remark(f"{self._command}: {step.name}" + "".join(f" {name}" for name in segments))

    def on_remark(self, step: Step, line: str) -> None:
        remark(f"{step.name}: {line}")

    def on_wait(self, seconds: float) -> None:
        if not self._quiet:
            remark(f"{self._command}: nothing to fetch now; looking again in {_duration(seconds)}")

    def on_after(self, done: AfterResult) -> None:
        if not self._quiet:
            told = f"done in {_duration(done.seconds)}" if done.is_done else done.reason
            remark(f"{self._command}: {done.step}: {told}")

    def on_round(self, done: RoundResult) -> None:
        if not self._tables:
            return
        title = f"round {done.number}"
        print_table(title, ["what", title], round_rows(done), first=done.number == 1)


def show_plan(
    crawl_dir: str,
    found: Iterable[SegmentState],
    options: RoundOptions,
    loop: LoopOptions,
    seeds: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Every step in the order in which it would be done, as the command that does the same."""
    rows: list[tuple[str, str, list[str]]] = []
    if seeds:
        rows.append(("first", "inject", inject_step(seeds).command_line(crawl_dir)))
    rows += [
        ("to finish what was begun", step.name, step.command_line(crawl_dir, names))
        for step, names in unfinished_steps(list(found), options)
    ]
    rows += [
        (
            _which_rounds(loop),
            step.name,
            step.command_line(crawl_dir, ["SEGMENT"] if step.takes else []),
        )
        for step in build_round(options).steps
    ]
    when = "after the rounds" if loop.wait_s is None else "after each round"
    rows += [(when, step.name, step.command_line(crawl_dir)) for step in loop.then]
    if as_json:
        columns = ("when", "step", "command")
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    shown = [(when, step, command(words[0], shlex.join(words[1:]))) for when, step, words in rows]
    print_table("plan", ["when", "step", "as if by"], shown)


def unfinished_steps(
    found: list[SegmentState], options: RoundOptions
) -> list[tuple[Step, tuple[str, ...]]]:
    """What finishes the rounds that were begun."""
    a_round = build_round(options)
    left: list[tuple[Step, tuple[str, ...]]] = []
    while (due := next_step(found, a_round)).segments:
        left.append((due.step, due.segments))
        stage = due.step.leads_to
        assert stage is not None
        found = [
            replace(segment, stage=stage) if segment.name in due.segments else segment
            for segment in found
        ]
    return left


def print_totals(rounds: Sequence[RoundResult]) -> None:
    """All rounds together, where there is more than one."""
    if len(rounds) < 2:
        return
    title = f"all {len(rounds)} rounds"
    print_table(title, ["what", title], total_rows(rounds), first=False)


def total_rows(rounds: Sequence[RoundResult]) -> list[list[object]]:
    """What the rounds came to together. A URL that one round leaves for later may be left,
    or fetched, by the next: what is left is what the last round left."""
    spent = {name: sum(done.seconds.get(name, 0.0) for done in rounds) for name in _PHASES}
    total = replace(
        rounds[-1],
        **{name: sum(getattr(done, name) for done in rounds) for name in (*_COUNTS, *_LIMITS)},
        left_for_later=rounds[-1].left_for_later,
        records=sum(done.records for done in rounds),
        fetch_s=sum(done.fetch_s for done in rounds),
        seconds={name: round(seconds, 1) for name, seconds in spent.items() if seconds},
    )
    return round_rows(total, left_for_later="left for later by the last round")


_COUNTS = ("fetched", "new", "gone", "retried", "redirects", "not_modified")
_LIMITS = {
    "links_over_limit": f"links over {DB_MAX_OUTLINKS.name}",
    "pages_truncated": "pages cut at http.content.limit",
}
"""What limits took away, shown where there is any."""


def round_rows(done: RoundResult, left_for_later: str = "left for later") -> list[list[object]]:
    """What a round came to, row by row."""
    return [
        *([name.replace("_", " "), getattr(done, name)] for name in _COUNTS),
        [left_for_later, done.left_for_later],
        *([label, getattr(done, name)] for name, label in _LIMITS.items() if getattr(done, name)),
        ["pages/s", round(done.pages_per_s, 1)],
        ["URLs in the db", done.db_urls],
        ["MB of the db", round(done.db_bytes / 1e6, 2)],
        *([f"{name}, seconds", round(spent, 1)] for name, spent in done.seconds.items()),
    ]


def limit_lines(rounds: Sequence[RoundResult], config: Config) -> list[str]:
    """A line about each limit that took something away, and the setting that changes it."""
    links = sum(done.links_over_limit for done in rounds)
    pages = sum(done.pages_truncated for done in rounds)
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
    done = f"{rounds} {'round' if rounds == 1 else 'rounds'} done"
    waiting = waiting_hosts_note(result.hosts_waiting, result.next_host_ms)
    match StopReason[result.ending.upper()]:
        case StopReason.INTERRUPTED:
            return f"interrupted, {done}; run the same command to resume"
        case StopReason.STOP_FILE:
            return f"{crawl_dir}/{STOP_FILE} exists, {done}; delete it to continue"
        case StopReason.NOTHING_DUE if rounds:
            return f"{done}, nothing more is due{waiting}"
        case StopReason.NOTHING_FETCHED:
            return f"{done}; the servers of what is due let nobody in for now"
    if rounds:
        return done
    followed = any(step.is_done for step in result.after)
    return f"nothing is due, {'no round' if followed else 'nothing'} was done{waiting}"


def behind_line(crawl_dir: str, tables: Sequence[BehindTable]) -> str | None:
    """What the rounds have left behind, in a line; None where that is nothing."""
    if not tables:
        return None
    names = ", ".join(each.table for each in tables)
    steps = ",".join(dict.fromkeys(each.step for each in tables))
    how = command("status", crawl_dir, "--behind")
    return f"now behind: {names} (`{how}`); with --then {steps} they keep up"


def _which_rounds(loop: LoopOptions) -> str:
    if loop.rounds == UNBOUNDED:
        return "each round"
    return "the round" if loop.rounds == 1 else f"each of {loop.rounds} rounds"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
