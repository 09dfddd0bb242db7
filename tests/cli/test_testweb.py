from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from crawl.synthetic.wicked import HOSTS, ROUTES
from tests.cli.calling import Caller

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_interrupted_and_shows_who_came(tmp_path: Path, how: int) -> None:
    hosts = tmp_path / "hosts.txt"
    arguments = ["--sites", "3", "--pages", "30", "--wicked", "--hosts", str(hosts)]
    running = subprocess.Popen(
        [sys.executable, "-m", "crawl", "testweb", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )
    try:
        assert running.stdout is not None
        assert running.stderr is not None
        seeds = [running.stdout.readline().strip() for _ in range(3 + len(ROUTES) + len(HOSTS))]
        seed = seeds[0]
        assert seed.startswith("http://site0.test:")
        assert any(line.startswith("http://drip-body.wicked.test:") for line in seeds)
        # once this line is there, all is served
        assert "30 pages on 3 sites" in running.stderr.readline()
        known = dict(line.split()[::-1] for line in hosts.read_text().splitlines())
        assert "drip-body.wicked.test" in known
        port = seed.split(":")[2].strip("/")
        request = urllib.request.Request(
            f"http://{known['site0.test']}:{port}/",
            headers={"Host": f"site0.test:{port}", "User-Agent": "badbot/1.0"},
        )
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
        os.killpg(running.pid, how)  # as Ctrl-C and `kill %1` do
        out, err = running.communicate(timeout=30)
    finally:
        running.kill()
        running.wait()
    assert running.returncode == 0
    assert out == ""  # stdout is seeds alone, to the end
    rows = [line.split() for line in err.splitlines()]
    assert ["what", "badbot"] in rows
    assert ["requests", "1"] in rows
    assert ["hosts", "1"] in rows
    assert "Traceback" not in err


def test_the_table_of_wicked_routes(crawl: Caller) -> None:
    answer = crawl("testweb", "--table")
    assert answer.code == 0
    assert "| /bomb/gzip | 1 MiB of gzip, 1 GiB unpacked |" in answer.out


def test_what_cannot_be_meant(crawl: Caller) -> None:
    answer = crawl("testweb", "--sites", 10, "--pages", 5)
    assert answer.code == 2
    assert "10 sites need at least as many pages" in answer.err
