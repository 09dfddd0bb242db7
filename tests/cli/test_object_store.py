"""What the commands say of an object store that is not as it should be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.storage import s3_server
from tests.storage.s3_server import S3Server

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    with s3_server.running() as server:
        yield server


def error_line(arguments: list[str], variables: dict[str, str]) -> str:
    """The one line of a command that fails."""
    done = subprocess.run(
        [sys.executable, "-m", "crawl", *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode not in (0, 1), "a fault that is known has an exit code of its own"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_each_fault_is_one_line(s3: S3Server) -> None:
    usual = s3.variables()
    crawl = f"{s3.new_bucket()}/crawl"
    assert "has no CrawlDb yet" in error_line(["readdb", crawl, "--stats"], usual)
    wrong = ["readdb", "s3://there-is-none/crawl", "--stats"]
    assert "there is no such bucket" in error_line(wrong, usual)
    nobody = {**usual, "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    assert "no credentials" in error_line(["readdb", crawl, "--stats"], nobody)
    nowhere = {**usual, "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_MAX_ATTEMPTS": "2"}
    line = error_line(["readdb", crawl, "--stats"], nowhere)
    assert "cannot reach the store at http://127.0.0.1:1" in line
