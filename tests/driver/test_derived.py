"""Which derived tables are behind what they are made from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from crawl.driver.derived import (
    DerivedFacts,
    TableFacts,
    behind,
    behind_lines,
    is_up_to_date,
    read_facts,
)
from crawl.errors import StorageError
from crawl.model.derived_tables import LINKDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.last_runs import LAST_RUNS, last_run, note_run
from tests.phases.made import datum, make_crawldb

A, B = "20260101000000", "20260102000000"
MADE = DerivedFacts(
    crawldb=TableFacts(6, {A: 2}),
    linkdb=TableFacts(1, {A: 1}),
    webgraph=TableFacts(2, {A: 1}),
    has_scores=True,
    hostgraph=TableFacts(1, made_from=2),
    domaingraph=TableFacts(1, made_from=1),
    hostdb=TableFacts(1, {A: 1}, made_from=5),
    index=TableFacts(2, {A: 1}, made_from=5),
    fetched=frozenset({A}),
    parsed=frozenset({A}),
    runs={
        "linkrank": {"webgraph": 2},
        "scoreupdater": {"webgraph": 2, "crawldb": 4},
        "dedup": {"crawldb": 5},
        "clean": {"crawldb": 6},
    },
)
"""A crawl of one segment, of which all there is was made."""


def steps(facts: DerivedFacts) -> list[str]:
    return [each.step for each in behind(facts)]


def test_what_was_made_of_all_there_is_is_not_behind() -> None:
    assert steps(MADE) == []


def test_a_crawl_without_derived_tables_is_told_of_none() -> None:
    assert steps(DerivedFacts()) == []
    only = DerivedFacts(
        crawldb=TableFacts(9, {A: 2, B: 9}), fetched=frozenset({A, B}), parsed=frozenset({A, B})
    )
    assert steps(only) == []


def test_a_segment_that_was_fetched() -> None:
    assert steps(replace(MADE, fetched=frozenset({A, B}))) == ["updatehostdb"]


def test_a_segment_that_was_parsed() -> None:
    """Its pages are indexed when the CrawlDb knows them."""
    assert steps(replace(MADE, parsed=frozenset({A, B}))) == ["invertlinks", "webgraph"]


def test_a_segment_that_the_crawldb_took_in() -> None:
    new = replace(
        MADE,
        crawldb=TableFacts(7, {A: 2, B: 7}),
        fetched=frozenset({A, B}),
        parsed=frozenset({A, B}),
    )
    every = ["invertlinks", "webgraph", "dedup", "updatehostdb", "index", "clean"]
    assert steps(new) == every
    lines = {each.step: each.line("c") for each in behind(new)}
    assert lines["invertlinks"] == (
        "the LinkDb is behind: 1 segment parsed since; `crawl invertlinks c`"
    )
    assert "dedup is behind: the CrawlDb took in 1 segment since" in lines["dedup"]
    assert steps(replace(new, linkdb=None, index=None)) == ["webgraph", "dedup", "updatehostdb"]


def test_ranks_follow_the_link_graph() -> None:
    grown = replace(MADE, webgraph=TableFacts(3, {A: 1, B: 3}), has_scores=False)
    assert steps(grown) == ["linkrank", "hostgraph", "hostgraph"]
    assert [each.options for each in behind(grown)] == [(), (), ("--group", "domain")]
    never = replace(grown, runs={}, hostgraph=None, domaingraph=None)
    assert steps(never) == [], "who never ranked pages is not told to"
    ranked = replace(grown, has_scores=True, runs={**MADE.runs, "linkrank": {"webgraph": 4}})
    assert steps(ranked) == ["hostgraph", "hostgraph", "scoreupdater"]


def test_what_a_dedup_marked_is_to_be_counted_and_cleaned() -> None:
    marked = replace(MADE, runs={**MADE.runs, "dedup": {"crawldb": 8}})
    marked = replace(marked, crawldb=TableFacts(8, {A: 2}))
    assert steps(marked) == ["updatehostdb", "clean"]
    never = {name: run for name, run in marked.runs.items() if name != "clean"}
    assert steps(replace(marked, runs=never)) == ["updatehostdb", "clean"]
    early = replace(MADE, runs={name: run for name, run in MADE.runs.items() if name != "clean"})
    assert steps(early) == [], "what was marked before is not indexed"


def test_a_rollback_takes_marks_and_scores_back() -> None:
    assert steps(replace(MADE, crawldb=TableFacts(3, {A: 2}))) == ["scoreupdater", "dedup"]


@pytest.mark.parametrize(
    "step", ["linkrank", "hostgraph", "scoreupdater", "dedup", "updatehostdb", "clean"]
)
def test_what_is_up_to_date_need_not_be_done_again(step: str) -> None:
    assert is_up_to_date(step, MADE)
    assert not is_up_to_date(step, DerivedFacts())


def test_steps_that_take_in_segments_know_themselves_what_is_left() -> None:
    assert not any(is_up_to_date(step, MADE) for step in ("invertlinks", "webgraph", "index"))


def test_a_graph_of_domains_is_no_reason_to_make_that_of_hosts(tmp_path: Path) -> None:
    grown = replace(
        MADE, webgraph=TableFacts(3, {A: 1, B: 3}), hostgraph=TableFacts(2, made_from=3)
    )
    assert steps(replace(grown, has_scores=True)) == ["hostgraph"]
    assert is_up_to_date("hostgraph", grown)


def test_notes_of_runs(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    assert last_run(directory, "dedup") is None
    note_run(directory, "dedup", crawldb=7)
    note_run(directory, "scoreupdater", crawldb=8, webgraph=3)
    assert last_run(directory, "dedup") == {"crawldb": 7}
    assert last_run(directory, "scoreupdater") == {"crawldb": 8, "webgraph": 3}


@pytest.mark.parametrize("raw", [b"", b"{", b'{"crawldb": 9}', b'{"crawldb": 9, "seal": "0000"}'])
def test_a_damaged_note_is_as_good_as_none(tmp_path: Path, raw: bytes) -> None:
    directory = CrawlDir(str(tmp_path))
    note_run(directory, "dedup", crawldb=7)
    directory.folder.child(LAST_RUNS).write("dedup.json", raw)
    assert last_run(directory, "dedup") is None


def test_a_note_that_cannot_be_written_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Folder, name: str, data: bytes) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(Folder, "write", full)
    note_run(CrawlDir(str(tmp_path)), "dedup", crawldb=7)


def test_a_damaged_table_is_no_fault_of_who_only_looks(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    folder = directory.dataset(LINKDB).folder
    folder.write("CURRENT", b"garbage")
    assert read_facts(directory).linkdb is None
    assert behind_lines(directory, ["invertlinks"]) == ()
