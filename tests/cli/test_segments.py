from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Caller
from tests.phases.webs import listed

AGENT = ("-D", "http.agent.name=mybot")


@pytest.mark.parametrize("phase", ["fetch", "parse", "updatedb"])
def test_a_folder_that_is_no_crawl(crawl: Caller, tmp_path: Path, phase: str) -> None:
    answer = crawl(phase, tmp_path / "none", *AGENT)
    assert answer.code == 2
    assert "has no CrawlDb yet: start it with `crawl inject" in answer.err


@pytest.mark.parametrize("phase", ["fetch", "parse", "updatedb"])
def test_a_segment_that_is_not_there(crawl: Caller, tmp_path: Path, phase: str) -> None:
    directory, name = listed(str(tmp_path / "c"), ["http://h.org/"])
    typo = name[:-1] + ("1" if name[-1] != "1" else "2")
    answer = crawl(phase, directory.address, typo, *AGENT)
    assert answer.code == 2
    assert answer.err == (
        f"crawl: {directory.address} has no segment {typo} (did you mean '{name}'?);"
        f" `crawl status {directory.address}` lists them\n"
    )
