"""Whole crawls on a remote store end as on a disk, whatever happens to it or its connection."""

from __future__ import annotations

import base64
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import ClassVar, Protocol

from crawl.model.datum import CrawlDatum
from crawl.rounds.steps import LoopOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, running
from tests.phases.made import NOW, records_of
from tests.phases.round_jobs import HoursLater, rounds_by
from tests.phases.round_loops import SetClock, run_rounds
from tests.phases.test_rounds import parses_of, timeless
from tests.phases.test_rounds_kill import assert_each_page_once
from tests.phases.test_rounds_kill import timeless as without_times
from tests.phases.webs import web_config

DAY = 86_400_000
SHAPE = Settings(
    sites=5,
    seed=3,
    pages=40,
    size=1500,
    fanout=4,
    external=0.3,
    # which server's robots.txt is left for later depends on the parts
    robots=tuple(kind for kind in RobotsKind if kind is not RobotsKind.AWAY),
)
State = tuple[dict[str, CrawlDatum], dict[str, dict[str, object]]]

LIFE = """
import base64, pickle, sys
from tests.phases.round_jobs import run_all_rounds
run_all_rounds(*pickle.loads(base64.b64decode(sys.argv[1])))
"""


def crawled(address: str, seeds: str, web: Web) -> CrawlDir:
    """Two rounds, a day apart."""
    directory = CrawlDir(address)
    config = web_config(
        web,
        fetcher__server__delay=0,
        fetcher__max__exceptions__per__queue=-1,
        fetcher__checkpoint__records=20,
        crawldb__buckets=3,
    )
    clock = SetClock(NOW)
    for number in range(2):
        clock.set(NOW + number * DAY)
        result = run_rounds(
            directory, config, clock, LoopOptions(1), seeds=(seeds,) if number == 0 else (), parts=2
        )
        assert len(result.rounds) == 1
    return directory


def state(directory: CrawlDir) -> State:
    return timeless(records_of(directory)), parses_of(directory)


class Line(Protocol):
    """The line to a store."""

    def new_crawl(self) -> str:
        """The address of a folder that is not there yet, on this line."""

    def trouble(self, seed: int) -> None:
        """From now on messages get lost."""

    def was_troubled(self) -> bool:
        """Whether they were many, and of all kinds."""

    def calm(self) -> None:
        """Ends the trouble: no message gets lost any more."""

    def kill(self, pid: int, death: int) -> None:
        """Kills that process after a while with a message on its way; the number of its death
        decides whether that arrives."""

    def unfinished(self, crawl: CrawlDir) -> list[str]:
        """What the store itself knows of uploads that have not ended."""


class RemoteCrawlsContract:
    """A store's tests subclass it, with a fixture `line`, and one `seed` for its troubles."""

    patience_s: ClassVar[int] = 200
    sweeps_after_deaths: ClassVar[bool] = True
    """Whether an upload of who died is certain to be gone when its command has gone on."""

    def assert_as_on_disk(self, line: Line, crawl: CrawlDir, on_disk: State) -> None:
        assert len(on_disk[0]) > 30
        assert state(crawl) == on_disk
        left = crawl.folder.files()
        assert not [
            name for name in left if "LOCK" in name or "scratch" in name or "journal/" in name
        ]
        assert line.unfinished(crawl) == []

    def test_two_rounds_end_as_on_a_disk(
        self, line: Line, shaped_web: WebServer, shaped_seeds: str, on_disk: State
    ) -> None:
        crawl = crawled(line.new_crawl(), shaped_seeds, shaped_web.web)
        self.assert_as_on_disk(line, crawl, on_disk)

    def test_two_rounds_through_lost_messages_end_as_on_a_disk(
        self, line: Line, shaped_web: WebServer, shaped_seeds: str, on_disk: State, seed: int
    ) -> None:
        line.trouble(seed)
        crawl = crawled(line.new_crawl(), shaped_seeds, shaped_web.web)
        assert line.was_troubled()
        line.calm()
        self.assert_as_on_disk(line, crawl, on_disk)

    def test_rounds_killed_in_mid_upload_again_and_again(self, line: Line, tmp_path: Path) -> None:
        """The same command goes on, and nothing is missing."""
        with running(Web(Settings.plain(3, 24, port=0, size=500))) as web:
            seeds = tmp_path / "seeds.txt"
            seeds.write_text("\n".join(web.web.seeds()))
            settings = web.web.settings
            whole = CrawlDir(str(tmp_path / "whole"))
            rounds_by(HoursLater(0), whole.address, str(seeds), settings)
            wreck = CrawlDir(line.new_crawl())
            deaths = 0
            while self.is_killed(line, deaths, wreck.address, str(seeds), settings):
                deaths += 1
                assert deaths < 30, "it does not get on"
            assert deaths >= 2, "both kinds of death were met"
            assert without_times(records_of(wreck)) == without_times(records_of(whole))
            assert_each_page_once(wreck)
            left = [name for name in wreck.folder.files() if "LOCK" in name]
            assert not left, left
            assert not self.sweeps_after_deaths or line.unfinished(wreck) == []

    def is_killed(
        self, line: Line, deaths: int, address: str, seeds: str, settings: Settings
    ) -> bool:
        """Runs rounds in a process that is killed while it writes; whether it was."""
        given = base64.b64encode(pickle.dumps((deaths, address, seeds, settings))).decode()
        life = subprocess.Popen([sys.executable, "-c", LIFE, given], stderr=subprocess.PIPE)
        line.kill(life.pid, deaths)
        try:
            _, errors = life.communicate(timeout=self.patience_s)
        finally:
            line.calm()
            life.kill()
            life.wait()
        assert life.returncode in (0, -signal.SIGKILL), errors.decode()
        return life.returncode != 0
