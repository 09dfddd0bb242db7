from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.model.costs import EngineCosts
from crawl.model.report import Report
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.readers.status.phase_costs import phase_costs
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.sealed import seal
from crawl.storage.segments import FETCH, GENERATE, PARSE, PartManifest
from crawl.storage.snapshot import REPORT
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import datum, make_crawldb
from tests.phases.webs import LONG_AGO

BEFORE = 3_900_000_000_000
LATER = 4_000_000_000_000


def quiet(line: str) -> None:
    pytest.fail(line)


@pytest.fixture
def made(tmp_path: Path) -> tuple[CrawlDir, str]:
    """A crawl whose CrawlDb and one segment were made by one generate."""
    records = {f"http://h{n}.org/": datum(fetch_time=LONG_AGO) for n in range(8)}
    directory = make_crawldb(str(tmp_path / "c"), records, buckets=2, group_rows=10)
    config = Config.of({"urlfilter.order": [], "generate.update.crawldb": True})
    options = GenerateOptions(num_fetchers=1)
    done = generate.run(
        InProcess(), directory, config, options, ManualClock(BEFORE), resolver=lambda host: None
    )
    (name,) = done.segments
    return directory, name


def report_of(phase: str, started_ms: int, engine: EngineCosts | None) -> Report:
    report = Report(phase, started_ms, "", engine=engine)
    report.finished_ms = started_ms + 2500
    return report


def finish(
    directory: CrawlDir, name: str, part: str, report: Report | None, created_ms: int = LATER
) -> None:
    segment = directory.segments.segment(name)
    if report is not None:
        segment.write_report(part, report)
    manifest = PartManifest((), created_ms)
    if part == PARSE:
        segment.publish_parsed({PARSE: manifest})
    else:
        segment.publish(part, manifest)


def damage(folder: Folder, name: str) -> None:
    folder.write(name, (folder.read(name) or b"")[:-20])


def phases(directory: CrawlDir) -> list[str]:
    return [row["phase"] for row in phase_costs(directory, quiet)]


def test_a_crawl_without_segments_tells_of_its_snapshots(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {}, buckets=2, group_rows=10)
    (row,) = phase_costs(directory, quiet)
    assert row["segments"] == [] and row["jobs"] is None


def test_the_round_begins_with_the_newest_generate(made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    (row,) = phase_costs(directory, quiet)  # once, though two reports tell of it
    assert (row["phase"], row["segments"]) == ("generate", [name])
    assert row["seconds"] >= 0 and row["bytes_written"] > 0 and row["driver_bytes"] == 0
    assert "collect" in row["steps"] and row["steps"]["collect"]["bytes_read"] > 0
    engine = EngineCosts(jobs=1, task_bytes=5, result_bytes=6)
    finish(directory, name, FETCH, report_of("fetch", LATER, engine))
    finish(directory, name, PARSE, report_of("parse", LATER + 10, None))
    assert phases(directory) == ["generate", "fetch", "parse"]
    fetched, parsed = phase_costs(directory, quiet)[1:]
    assert (fetched["seconds"], fetched["jobs"], fetched["driver_bytes"]) == (2.5, 1, 11)
    assert fetched["started"].startswith("2096-")
    assert (parsed["seconds"], parsed["jobs"]) == (2.5, None)
    newer = f"{int(name) + 100}"
    finish(directory, newer, GENERATE, report_of("generate", LATER + 20, engine), LATER + 21)
    assert phases(directory) == ["generate"]
    assert phase_costs(directory, quiet)[0]["segments"] == [newer]


def test_a_fetch_that_parses_is_one_phase(made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    for part in (FETCH, PARSE):
        finish(directory, name, part, report_of("fetch", LATER, EngineCosts()))
    assert phases(directory) == ["generate", "fetch"]


def test_a_phase_whose_report_is_gone_or_damaged_is_shown_without_figures(
    made: tuple[CrawlDir, str],
) -> None:
    directory, name = made
    finish(directory, name, FETCH, None)
    finish(directory, name, PARSE, report_of("parse", LATER + 10, EngineCosts(jobs=1)), LATER + 20)
    damage(directory.segments.segment(name).folder, f"{PARSE}/{REPORT}")
    rows = phase_costs(directory, quiet)
    assert [row["phase"] for row in rows] == ["generate", "fetch", "parse"]
    for row in rows[1:]:
        known = {name for name in EngineCosts().as_dict() if row[name] is not None}
        assert (known, row["seconds"], row["steps"]) == (set(), None, {})
        assert row["started"].startswith("2096-")


@pytest.mark.parametrize("places", [("snapshot",), ("segment",), ("snapshot", "segment")])
def test_a_generate_is_listed_once_whichever_report_is_damaged(
    made: tuple[CrawlDir, str], places: tuple[str, ...]
) -> None:
    directory, name = made
    if "segment" in places:
        damage(directory.segments.segment(name).folder, f"{GENERATE}/{REPORT}")
    if "snapshot" in places:
        number = directory.require_crawldb().number
        damage(directory.crawldb.folder, f"snapshots/{number:06d}/{REPORT}")
    (row,) = [row for row in phase_costs(directory, quiet) if row["phase"] == "generate"]
    assert row["segments"] == [name]
    assert (row["bytes_written"] is None) == (len(places) == 2)


@pytest.mark.parametrize(
    "content",
    [
        {"started_ms": "noon", "finished_ms": [], "engine": [1], "engine_steps": 7, "phase": 3},
        {"started_ms": 10**30, "finished_ms": 1, "engine": {"jobs": -1, "tasks": True}},
        {"started_ms": 5, "finished_ms": 3, "engine": {"jobs": {}}, "engine_steps": {"a": None}},
    ],
)
def test_a_report_may_say_anything(made: tuple[CrawlDir, str], content: dict[str, Any]) -> None:
    directory, name = made
    finish(directory, name, FETCH, None)
    directory.segments.segment(name).folder.write(f"{FETCH}/{REPORT}", seal(content))
    (row,) = [row for row in phase_costs(directory, quiet) if row["phase"] == "fetch"]
    assert (row["seconds"], row["jobs"], row["tasks"]) == (None, None, None)


def test_a_damaged_manifest_is_passed_over_with_a_line(made: tuple[CrawlDir, str]) -> None:
    directory, name = made
    folder = directory.segments.segment(name).folder
    for each in folder.names(FETCH):
        folder.delete(f"{FETCH}/{each}")
    folder.write(f"{FETCH}/manifest.json", b"{")
    lines: list[str] = []
    rows = phase_costs(directory, lines.append)
    assert [row["phase"] for row in rows] == ["generate"]  # by the snapshot
    assert len(lines) == 1 and "manifest.json" in lines[0]
