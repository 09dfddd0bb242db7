"""crawl demo: as a newcomer calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.model.status import Status
from crawl.rounds.steps import Stage
from crawl.showcase.demo import ROUNDS
from crawl.storage.crawl_dir import CrawlDir
from tests.cli.calling import Caller
from tests.phases.made import records_of

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def test_two_rounds_and_what_to_try_next(crawl: Caller, tmp_path: Path) -> None:
    from crawl.rounds.state import segment_states

    answer = crawl("demo", tmp_path / "demo")
    assert answer.code == 0, answer.err
    directory = CrawlDir(str(tmp_path / "demo"))
    stages = [segment.stage for segment in segment_states(directory)]
    assert stages == [Stage.UPDATED] * ROUNDS
    statuses = {datum.status for datum in records_of(directory).values()}
    assert {Status.DB_FETCHED, Status.DB_UNFETCHED, Status.DB_GONE} <= statuses
    assert statuses & {Status.DB_REDIR_TEMP, Status.DB_REDIR_PERM}
    assert "nothing leaves this machine" in answer.err
    tries = [line.split("#")[0].split() for line in answer.err.splitlines() if "  # " in line]
    assert len(tries) >= 5
    for _, *arguments in tries:
        if arguments[0] == "readdb" and "--dump" not in arguments:
            assert crawl(*arguments).code == 0

    again = crawl("demo", tmp_path / "demo")
    assert (again.code, again.out) == (2, "")
    assert "holds a crawl already" in again.err
