"""What is said of tables that are behind, where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.rounds.steps import UNBOUNDED, LoopOptions, after_steps
from crawl.spark.engine import SparkEngine
from tests.cli.calling import Caller
from tests.phases.every_phase import _in_process
from tests.phases.linked_crawl import make_linked_crawl
from tests.phases.made import DAY, NOW, datum, make_crawldb
from tests.phases.scripted_web import PLAYED, Scene
from tests.rounds.test_loop import BELOW, FRONT, Played

USED = ("invertlinks", "webgraph", "linkrank", "dedup", "index", "clean")


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkEngine, "runner", _in_process)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    """A crawl with all that its commands make, and a round more since."""
    crawl = Played(tmp_path)
    crawl.config = crawl.config.with_values(
        {"index.writers": "tantivy", "linkdb.ignore.internal.links": False}
    )
    pages = PLAYED[str(tmp_path)].pages
    pages[FRONT] = lambda now: Scene(text="the front of it ", links=BELOW)
    crawl.run_rounds(LoopOptions(UNBOUNDED, then=after_steps(USED)), seeded=True)
    crawl.clock.set(NOW + 31 * DAY)
    pages[FRONT] = lambda now: Scene(text="another front of it")
    crawl.run_rounds(LoopOptions(UNBOUNDED))
    yield crawl
    del PLAYED[str(tmp_path)]


@pytest.mark.slow
@pytest.mark.usefixtures("no_spark")
def test_where_they_are_used_and_until_they_are_made(
    crawl: Caller, played: Played, tmp_path: Path
) -> None:
    where = played.directory.address
    found = crawl("search", where, "front")
    assert found.code == 0, found.err
    assert "search: the index is behind: 1 segment of pages are not in it" in found.err
    assert f"`crawl index {where}`" in found.err
    assert "search: the index's clean-up is behind" in found.err
    assert "behind" not in found.out

    exported = crawl("export", where, tmp_path / "dataset")
    assert exported.code == 0, exported.err
    assert "export: dedup is behind: the CrawlDb took in 1 segment since" in exported.err
    ranked = crawl("linkrank", where)
    assert "linkrank: the link graph is behind: 1 segment parsed since" in ranked.err

    listed = crawl("status", where, "--behind", "--json")
    steps = [row["step"] for row in listed.json]
    assert steps == ["invertlinks", "webgraph", "dedup", "index", "clean"]
    for row in listed.json:
        assert set(row) == {"table", "step", "reason", "command"}
    written = ["-D", "index.writers=tantivy", "-D", "linkdb.ignore.internal.links=false"]
    told = crawl("index", where, *written)
    assert told.code == 0, told.err
    assert "index: the LinkDb is behind: 1 segment parsed since" in told.err
    assert "index: dedup is behind: the CrawlDb took in 1 segment since" in told.err
    for step in ("invertlinks", "webgraph", "dedup", "clean"):
        made = crawl(step, where, *(written if step in ("clean", "invertlinks") else ()))
        assert made.code == 0, made.err
    left = [row["step"] for row in crawl("status", where, "--behind", "--json").json]
    assert left == ["linkrank"], "the link graph has grown since the rank"
    assert crawl("linkrank", where).code == 0
    assert crawl("status", where, "--behind", "--json").json == []
    assert "behind" not in crawl("search", where, "front").err


def test_status_lists_them_with_the_command(crawl: Caller, tmp_path: Path) -> None:
    make_linked_crawl(str(tmp_path / "c"))
    where = tmp_path / "c"
    alone = crawl("status", where, "--behind")
    assert alone.code == 0, alone.err
    assert f"crawl invertlinks {where}" in alone.out
    assert "1 segment parsed since" in alone.out
    assert alone.out.strip() in crawl("status", where).out
    for other in ("--hosts", "--phases"):
        refused = crawl("status", where, "--behind", other)
        assert refused.code == 2
        assert "--hosts, --phases and --behind exclude each other" in refused.err


def test_a_crawl_that_has_none_is_not_told_of_any(crawl: Caller, tmp_path: Path) -> None:
    where = make_crawldb(str(tmp_path / "c"), {"http://a.org/": datum()}).address
    assert "behind" not in crawl("status", where).out
    assert crawl("status", where, "--behind", "--json").json == []
    assert crawl("status", where, "--behind").out.split() == ["behind", "why", "command"]
