from __future__ import annotations

from pathlib import Path

import pytest

from crawl.telemetry.progress import LineDisplay
from tests.cli.calling import Caller
from tests.phases.made import DAY, NOW, datum, make_crawldb


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Caller:
    monkeypatch.delenv("CRAWL_CONF_DIR", raising=False)
    # what a command prints must not hang on whether a busy machine made it last for seconds
    monkeypatch.setattr(LineDisplay, "first_line_seconds", float("inf"))
    return Caller(capsys)


@pytest.fixture
def made(tmp_path: Path) -> str:
    """A crawl of ten URLs on three hosts."""
    from crawl.model.status import Status

    records = {
        f"http://h{n % 3}.org/p{n}": datum(
            status=Status.DB_FETCHED if n % 2 else Status.DB_UNFETCHED,
            score=n / 4,
            retries=n % 3,
            fetch_time=NOW - DAY * n,
            signature=bytes([n]) if n % 2 else None,
            metadata={"lang": "en"} if n == 4 else {},
        )
        for n in range(10)
    }
    return make_crawldb(str(tmp_path / "crawl"), records).address
