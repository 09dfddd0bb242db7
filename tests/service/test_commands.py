"""`crawl serve`, `crawl submit` and `crawl keys` as a user calls them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from crawl.service.faces.submit_operation import render
from tests.cli.calling import Caller
from tests.free_port import LOOPBACK, free_port
from tests.installs import PRODUCT, only_installed
from tests.service.client.small_service import small_service

PATIENCE_S = 240.0
BOT = ("-D", "http.agent.name=mybot")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Caller:
    return Caller(capsys)


# ---- submit


def test_an_address_that_is_none_is_said_by_the_option(call: Caller) -> None:
    answer = call("submit", "http://a.test/", "--server", "127.0.0.1:8199")
    assert answer.code == 2
    assert answer.err.startswith("crawl: --server: expected an address such as http://")


@pytest.mark.parametrize("option", ["--wait", "--max-age"])
def test_a_time_that_is_none_is_said_before_anything_is_submitted(
    call: Caller, option: str
) -> None:
    with small_service() as service:
        answer = call("submit", "http://a.test/", "--server", service.address, option, "soon")
        assert service.asked == []
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"crawl: {option}: expected seconds, or a text such as 5s")


def test_who_starts_no_service_is_told_how(call: Caller) -> None:
    address = f"http://{LOOPBACK}:{free_port()}"
    answer = call("submit", "http://a.test/", "--server", address)
    assert answer.code == 2
    assert answer.err.startswith(f"crawl: {address}: the service cannot be reached")
    assert "serve CRAWL_DIR` starts one" in answer.err


def test_a_key_of_the_environment_is_named_by_its_variable(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUTRIA_KEY", "two words")
    answer = call("submit", "http://a.test/")
    assert (answer.code, answer.out) == (2, "")
    assert "NUTRIA_KEY: a key is a text without blanks" in answer.err
    assert "two words" not in answer.err


def test_jobs_are_shown_line_by_line(call: Caller) -> None:
    with small_service() as service:
        answer = call("submit", "http://a.test/", "--server", service.address)
        method, path, _, body = service.asked[0]
    assert (answer.code, method, path) == (0, "POST", "/v1/urls")
    assert body["urls"] == ["http://a.test/"]
    assert answer.out == "queued http://a.test/\n"


def test_what_is_no_page_is_told_by_what_its_server_said() -> None:
    gone = {"status": "fetch_gone", "reason": "notfound(http_404)"}
    silent = {"status": "fetch_retry", "reason": "exception(unknown_host)"}
    jobs = [
        {"state": "finished", "url": "http://a.test/", "page": {"status": "fetch_success"}},
        {"state": "finished", "url": "http://a.test/b", "page": gone},
        {"state": "finished", "url": "http://c.test/", "page": silent, "reason": "tries"},
        {"state": "refused", "url": "ftp://x/\x1b[2J", "reason": "scheme"},
    ]
    *lines, note = [each.text for each in render(jobs, None)]  # type: ignore[arg-type, union-attr]
    assert lines == [
        "finished http://a.test/",
        "finished http://a.test/b (fetch_gone: notfound(http_404))",
        "finished http://c.test/ (fetch_retry: exception(unknown_host): tries)",
        lines[3],
    ]
    assert lines[3].startswith("refused ftp://x/") and "\x1b" not in lines[3]
    assert note == "3 finished, 1 refused"


# ---- keys


_KEYS_COMMANDS = (
    ("list",),
    ("make", "newsroom"),
    ("rotate", "x"),
    ("disable", "x"),
    ("enable", "x"),
)


def test_a_path_that_is_no_crawl_is_refused_in_a_line_and_nothing_is_made(
    call: Caller, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    for path, complaint in (
        ("mistyped", "mistyped is not there: check the path"),
        ("other", "other is no crawl: check the path"),
        ("file", "file is a file: expected the folder of a crawl"),
        ("file/below", "file/below: a part of the path is a file"),
    ):
        for command, *words in _KEYS_COMMANDS:
            answer = call("keys", command, tmp_path / path, *words)
            assert (answer.code, answer.out) == (2, "")
            assert complaint in answer.err and answer.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_key_that_cannot_be_meant_makes_nothing(call: Caller, tmp_path: Path) -> None:
    for words in (["newsroom", "--scope", "write"], ["two\nlines"]):
        assert call("keys", "make", tmp_path / "web", "--new", *words).code == 2
    assert not (tmp_path / "web").exists()


def test_a_crawl_without_keys_is_told_how_to_make_one(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "web" / "crawldb").mkdir(parents=True)
    answer = call("keys", "list", tmp_path / "web")
    assert answer.code == 1
    assert "has no keys: `" in answer.err and "keys make" in answer.err
    assert not (tmp_path / "web" / "service").exists()
    assert call("keys", "make", tmp_path / "web", "newsroom").code == 0


def test_a_key_is_made_listed_and_disabled(call: Caller, tmp_path: Path) -> None:
    refused = call("keys", "make", tmp_path / "web", "newsroom", "--scope", "fetch")
    assert refused.code == 2 and "NAME --new`" in refused.err
    made = call("keys", "make", tmp_path / "web", "newsroom", "--scope", "fetch", "--new")
    assert made.code == 0 and made.out.startswith("nut_")
    (listed,) = call("keys", "list", tmp_path / "web", "--json").json
    assert (listed["name"], listed["scopes"]) == ("newsroom", ["fetch"])
    assert made.out.strip() not in json.dumps(listed)
    assert call("keys", "disable", tmp_path / "web", listed["id"]).code == 0
    (listed,) = call("keys", "list", tmp_path / "web", "--json").json
    assert listed["disabled"] is True
    assert call("keys", "make", tmp_path / "web", "another").code == 0


# ---- serve


def test_it_does_not_start_open_to_the_world(call: Caller, tmp_path: Path) -> None:
    answer = call("serve", tmp_path / "web", "--host", "0.0.0.0", "--port", 0, *BOT)
    assert answer.code == 2
    assert "there is no key" in answer.err and "keys make CRAWL_DIR NAME" in answer.err
    assert not (tmp_path / "web").exists()


def test_it_does_not_start_without_a_name(call: Caller, tmp_path: Path) -> None:
    answer = call("serve", tmp_path / "web", "--port", 0)
    assert answer.code == 2 and "http.agent.name is not set" in answer.err
    assert not (tmp_path / "web" / "service").exists()


def test_a_port_that_is_taken_is_one_line(call: Caller, tmp_path: Path) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        answer = call("serve", tmp_path / "web", "--port", port, *BOT)
    assert answer.code == 2
    assert f"cannot listen on {LOOPBACK}:{port}: Address already in use" in answer.err
    assert not (tmp_path / "web" / "service").exists()


def test_who_lacks_the_extra_is_told_its_name(call: Caller, tmp_path: Path) -> None:
    with only_installed((PRODUCT,)):
        answer = call("serve", tmp_path / "web", "--port", 0, *BOT)
    assert answer.code == 2 and "pip install '.[serve]'" in answer.err


@contextmanager
def started(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process, and its address."""
    environment = {name: each for name, each in os.environ.items() if name[:6] != "CRAWL_"}
    command = [sys.executable, "-m", "crawl", "serve", str(folder), "--port", "0", *BOT]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow(seconds=20)
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("usual_hangup")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_good_order(ending: signal.Signals, tmp_path: Path) -> None:
    with started(tmp_path / "web") as (process, address):
        assert address.startswith(f"http://{LOOPBACK}:")
        process.send_signal(ending)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    assert out == ""
    assert "no key is needed" in err and "0 wait for the next start" in err
    assert "Traceback" not in err


@pytest.mark.slow(seconds=20)
@pytest.mark.timeout(600)
def test_a_second_one_on_the_folder_says_who_has_it(call: Caller, tmp_path: Path) -> None:
    with started(tmp_path / "web") as (process, address):
        assert address
        answer = call("serve", tmp_path / "web", "--port", 0, *BOT)
    assert answer.code == 3
    assert f"process {process.pid}" in answer.err
