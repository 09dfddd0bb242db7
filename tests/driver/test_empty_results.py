"""Remarks on results that are empty, or nearly: they name the main cause, and a line that works."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

import click
import pytest

from crawl.cli.main import crawl
from crawl.config import Config, load
from crawl.counters import Counters
from crawl.driver.empty_results import (
    fetch_remarks,
    generate_remarks,
    merge_remarks,
    pages_remarks,
    parse_remarks,
    scores_remarks,
)
from crawl.driver.few_left import LeftOut, few_left

DIR, SEGMENT = "mycrawl", "20260101000000"
PAGE_REASONS = (
    *("noindex", "parse_failed", "gone", "redirect", "orphan", "not_fetched", "not_parsed"),
    *("not_in_crawldb", "duplicate", "not_modified", "url_filter", "filtered", "no_text"),
)
SELECTION_REASONS = (
    *("schedule_rejected", "url_filters_rejected", "wait_for_update", "host_waits"),
    *("expr_rejected", "status_rejected", "score_too_low", "interval_rejected"),
    *("trap.same_signature", "hosts_not_resolved"),
)
LINK_REASONS = (
    *("filtered", "internal", "external", "limit", "parser_limit", "too_long", "rel_nofollow"),
    *("page_nofollow", "self", "malformed"),
)


FETCH_REASONS = (
    *("robots_denied", "answers.address_refused", "answers.unknown_host", "answers.http_503"),
    *("redirects_dropped.external", "redirects_dropped.internal", "redirects_dropped.filtered"),
    *("handed_back.robots_deferred", "handed_back.crawl_delay_too_long", "handed_back.time_limit"),
)


def remarks() -> list[tuple[str, list[str]]]:
    found = [
        (reason, generate_remarks(DIR, Config(), Counters({"records": 7, reason: 7})))
        for reason in SELECTION_REASONS
    ]
    for reason in FETCH_REASONS:
        moved = 7 if reason.startswith("redirects_") else 0
        brought = Counters({"fetch_redir_perm": moved, "answers.http_301": moved, reason: 7})
        found.append((reason, fetch_remarks(DIR, brought)))
    for reason in LINK_REASONS:
        counters = {"pages": 1, "parse.success": 1, "outlinks": 7, f"outlinks_dropped.{reason}": 7}
        found.append((f"link {reason}", parse_remarks(DIR, SEGMENT, Counters(counters))))
    for reason in ("skipped.not_success", "parse.failed_truncated", "parse.failed_timeout"):
        found.append((reason, parse_remarks(DIR, SEGMENT, Counters({"pages": 7, reason: 7}))))
    for reason in PAGE_REASONS:
        skipped = Counters({f"skipped.{reason}": 5, f"deleted.{reason}": 2})
        found.append((f"page {reason}", pages_remarks(DIR, "index", 0, skipped)))
    merged = Counters({"links": 7, "dropped.filtered": 7})
    found.append(("merge", merge_remarks(DIR, ["other"], merged)))
    found.append(("scores", scores_remarks(DIR, Counters({"urls_cleared": 7}))))
    return found


@pytest.mark.parametrize(("reason", "lines"), remarks())
def test_an_empty_result_names_its_cause_and_a_line_that_works(
    reason: str, lines: list[str]
) -> None:
    (line,) = lines
    assert "none of 7" in line and ": 7 were left out by " in line
    for typed in re.findall(r"`(crawl [^`]+)`", line):
        _, name, *words = shlex.split(typed)
        context = click.Context(crawl, info_name="crawl")
        command = crawl.get_command(context, name)
        assert command is not None
        command.make_context(name, words)
        load([word for before, word in pairwise(words) if before == "-D"])


def test_what_brought_something_is_not_remarked_on() -> None:
    assert not few_left("links", 100, 1, [LeftOut(99, "x")])
    assert few_left("links", 101, 1, [LeftOut(100, "x")]) == [
        "only 1 of 101 links is left: 100 were left out by x"
    ]
    assert not few_left("links", 0, 0, [])
    assert not pages_remarks(DIR, "export", 3, Counters({"skipped.gone": 3}))
    assert not parse_remarks(DIR, SEGMENT, Counters({"pages": 1, "parse.success": 1}))
    assert not fetch_remarks(DIR, Counters({"fetch_success": 1, "answers.http_404": 99}))
    assert not fetch_remarks(DIR, Counters({"fetch_redir_temp": 1, "answers.http_302": 1}))
    repeated = Counters(
        {"pages": 1, "parse.success": 1, "outlinks": 200, "outlinks_kept": 1}
        | {"outlinks_dropped.duplicate": 199}
    )
    assert not parse_remarks(DIR, SEGMENT, repeated)
    assert merge_remarks(DIR, ["other"], Counters())[0].startswith("these LinkDbs have no links")
