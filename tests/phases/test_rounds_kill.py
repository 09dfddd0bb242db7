"""kill -9 in the middle of rounds: the same command goes on, and nothing is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.rounds.state import segment_states
from crawl.rounds.steps import (
    RoundOptions,
    Stage,
    StopReason,
    build_round,
    next_step,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, running
from tests.phases.fetch_commands import Command, assert_polite, pages_asked, write_conf
from tests.phases.killed import run_killed
from tests.phases.made import records_of, urls_of
from tests.phases.round_jobs import HoursLater, rounds_by, run_all_rounds

pytestmark = [pytest.mark.slow(seconds=25), pytest.mark.exhaustive]

LIVES = (79, 97, 107, 119, 131)
"""How many writes the first life of a crawl lasts; each later one lasts one more. As they have
nothing to do with the steps, death comes in the middle of any of them, and at another write of
the same step where that takes several lives. What is written beside the steps (seeds, dead locks,
progress) differs from life to life, so a fixed number may lie below what a step needs."""


def timeless(records: dict[str, CrawlDatum]) -> dict[str, CrawlDatum]:
    """The records without times and response times."""
    return {
        url: replace(
            datum,
            fetch_time=0,
            modified_time=0,
            metadata={key: text for key, text in datum.metadata.items() if key != "_rs_"},
        )
        for url, datum in records.items()
    }


def test_rounds_killed_again_and_again(tmp_path: Path) -> None:
    """The same command, killed at its n-th write each time, comes to its end all the same."""
    with running(Web(Settings.plain(3, 24, port=0, size=500))) as server:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(server.web.seeds()))
        settings = server.web.settings
        whole = CrawlDir(str(tmp_path / "whole"))
        untouched = rounds_by(HoursLater(0), whole.address, str(seeds), settings)
        assert untouched.ending is StopReason.NOTHING_DUE
        assert len(untouched.rounds) >= 3
        expected = timeless(records_of(whole))
        assert len(expected) == 24
        died_in: Counter[str] = Counter()
        for writes in LIVES:
            wreck = CrawlDir(str(tmp_path / f"killed-{writes}"))
            hours = 0
            while run_killed(
                run_all_rounds, hours, wreck.address, str(seeds), settings, at=writes + hours
            ):
                due = next_step(segment_states(wreck), build_round(RoundOptions()))
                died_in[due.step.name] += 1
                hours += 1
                assert hours < 50, "it does not get on"
            assert timeless(records_of(wreck)) == expected
            assert_each_page_once(wreck)
        assert len(died_in) >= 3, died_in


def assert_each_page_once(directory: CrawlDir) -> None:
    names = [segment.name for segment in directory.segments.generated()]
    listed = Counter(urls_of(directory, names))
    assert set(listed.values()) == {1}, "a page is selected once, whichever process died"


@pytest.mark.spark
@pytest.mark.slow(seconds=55)
def test_run_killed_with_all_its_processes(tmp_path: Path) -> None:
    """As a machine that loses its power, at two moments; and as a terminal at Ctrl-C. From the
    second life on, rounds overlap."""
    with running(Web(Settings.plain(3, 60, port=0, size=500, latency=0.02))) as server:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(server.web.seeds()))
        conf = write_conf(tmp_path / "conf", server)
        directory = CrawlDir(str(tmp_path / "c"))
        line = ("run", directory.address, "--until-empty", "--seeds", seeds, "--conf", conf)

        def stages() -> list[Stage]:
            return [segment.stage for segment in segment_states(directory)]

        def started(overlap: str = "--overlap") -> Command:
            shape = ("--top-n", 25, "--num-fetchers", 2, "--master", "local[2]")
            return Command(*line, *shape, overlap)

        def killed_when(reached: Callable[[], bool], overlap: str = "--overlap") -> None:
            command = started(overlap)
            command.wait_for(reached)
            command.kill_group()
            assert command.end() != 0

        killed_when(lambda: pages_asked(server) >= 2, "--no-overlap")
        killed_when(lambda: Stage.FETCHED in stages())
        before = stages()
        interrupted = started()
        # a change shows that its rounds are on their way: there is nothing to resume before
        interrupted.wait_for(lambda: len(stages()) > 2 and stages() != before)
        interrupted.interrupt_group()
        assert interrupted.end() == 130, interrupted.err
        assert "run the same command to resume" in interrupted.err.splitlines()[-1]
        assert "Traceback" not in interrupted.err
        last = started()
        assert last.end() == 0, last.err
        assert set(stages()) == {Stage.UPDATED}
        records = records_of(directory)
        assert set(records) == set(server.web.urls())
        assert {datum.status for datum in records.values()} == {Status.DB_FETCHED}
        assert_each_page_once(directory)
        assert_polite(server)
