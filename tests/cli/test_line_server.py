"""Checkers that listen, asked by real clients on loopback."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from crawl.cli.line_server import MAX_CLIENTS, MAX_LINE_BYTES, LineServer, Listen, started
from crawl.errors import EnvironmentFault
from crawl.synthetic.web import PageKind, Settings, Web, before_robots, concurrency, gaps, running
from tests.cli.calling import Caller
from tests.cli.typing_in import type_in
from tests.phases.fetch_commands import DELAY_S, write_conf

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
RULES = ("-D", "urlfilter.regex.rules=-[.]gif\n+^http")

# the server, with a checker that shouts


@contextmanager
def shouting(listen: Listen) -> Iterator[LineServer]:
    printed = io.StringIO()

    def shout(server: LineServer) -> None:
        for line in server.lines(printed):
            printed.write(f"{line.upper()}\n")

    with started(listen) as server:
        threading.Thread(target=shout, args=(server,), daemon=True).start()
        yield server


def connected(name: str) -> socket.socket:
    address, _, port = name.rpartition(":")
    return socket.create_connection((address.strip("[]"), int(port)), timeout=PATIENCE_S)


def received(client: socket.socket) -> bytes:
    """All until the server closes; one that closes on unread bytes may also reset."""
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def asked(name: str, typed: bytes, *, ends: bool = True) -> bytes:
    with connected(name) as client:
        with suppress(OSError):  # it may have heard enough and be gone
            client.sendall(typed)
            if ends:
                client.shutdown(socket.SHUT_WR)
        return received(client)


def test_one_line_one_answer_and_the_connection_is_closed() -> None:
    with shouting(Listen(0)) as server:
        assert server.name.startswith("127.0.0.1:")
        assert asked(server.name, b"first\r\nsecond\n", ends=False) == b"FIRST\n"
        assert asked(server.name, b"again\n", ends=False) == b"AGAIN\n"
        assert asked(server.name, b"no end") == b"NO END\n"
        assert asked(server.name, b"\n", ends=False) == b"\n"
        assert asked(server.name, b"") == b""
        assert asked(server.name, b"\xff\n") == "\N{REPLACEMENT CHARACTER}\n".encode()


def test_a_connection_that_is_kept_open() -> None:
    with shouting(Listen(0, keep_open=True)) as server, connected(server.name) as client:
        answers = client.makefile("rb")
        client.sendall(b"one\n")
        assert answers.readline() == b"ONE\n"
        client.sendall(b"tw")
        client.sendall(b"o\nthree\nfour")
        assert answers.readline() == b"TWO\n"
        client.shutdown(socket.SHUT_WR)
        assert answers.read() == b"THREE\nFOUR\n"


def test_clients_at_once_get_their_own_answers() -> None:
    with shouting(Listen(0, keep_open=True)) as server:

        def talk(number: int) -> bytes:
            return asked(server.name, b"".join(b"c%d-%d\n" % (number, n) for n in range(200)))

        with ThreadPoolExecutor(8) as clients:
            for number, answer in enumerate(clients.map(talk, range(8))):
                assert answer.split() == [b"C%d-%d" % (number, n) for n in range(200)]


def test_a_line_has_a_longest_length() -> None:
    longest = b"x" * MAX_LINE_BYTES
    with shouting(Listen(0, keep_open=True)) as server:
        assert asked(server.name, longest + b"\n") == longest.upper() + b"\n"
        assert asked(server.name, b"a\n" + longest + b"y\nb\n").split() in ([b"A"], [])
        assert asked(server.name, longest + b"y", ends=False) == b""
        assert asked(server.name, b"still there\n") == b"STILL THERE\n"


def test_who_says_nothing_is_left() -> None:
    with shouting(Listen(0, keep_open=True, patience_seconds=0.05)) as server:
        assert asked(server.name, b"", ends=False) == b""
        assert asked(server.name, b"one\nnever end", ends=False) in (b"ONE\n", b"")


def test_a_slow_drip_does_not_keep_the_place() -> None:
    with shouting(Listen(0, patience_seconds=0.05)) as server, connected(server.name) as client:
        client.settimeout(0.005)
        with pytest.raises(OSError):  # reset or broken pipe, as it happens
            while True:
                client.sendall(b"x")
                try:
                    if not client.recv(1):
                        raise ConnectionResetError
                except TimeoutError:
                    pass


def test_who_goes_or_does_not_read_harms_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    with shouting(Listen(0, keep_open=True, patience_seconds=1.0)) as server:
        connected(server.name).close()
        gone = connected(server.name)
        gone.sendall(b"gone\n")
        gone.close()
        with connected(server.name) as deaf, pytest.raises(OSError):
            while True:
                deaf.sendall(b"x" * 10_000 + b"\n")
        assert asked(server.name, b"still there\n") == b"STILL THERE\n"
    assert "Traceback" not in capsys.readouterr().err


def test_there_is_room_for_so_many() -> None:
    with shouting(Listen(0, keep_open=True)) as server, ExitStack() as stack:
        clients = [stack.enter_context(connected(server.name)) for _ in range(MAX_CLIENTS)]
        for client in clients:
            client.sendall(b"in\n")
            assert client.recv(10) == b"IN\n"
        with connected(server.name) as one_more:
            assert received(one_more) == b""
        clients[0].sendall(b"still\n")
        assert clients[0].recv(10) == b"STILL\n"


def test_other_addresses() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with shouting(Listen(0, "::1")) as server:
        assert server.name.startswith("[::1]:")
        assert asked(server.name, b"six\n") == b"SIX\n"


@pytest.mark.parametrize("address", ["a..b", "203.0.113.1"])
def test_an_address_that_is_none(address: str) -> None:
    with (
        pytest.raises(EnvironmentFault, match=f"cannot listen on {address}:0: "),
        started(Listen(0, address)),
    ):
        pass


# the commands


@dataclass(frozen=True, slots=True)
class Serving:
    process: subprocess.Popen[str]
    name: str

    def end(self, how: int = signal.SIGINT) -> tuple[int, str, str]:
        """As a terminal does: all of the group hear it."""
        os.killpg(self.process.pid, how)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


@contextmanager
def serving(*arguments: object) -> Iterator[Serving]:
    process = subprocess.Popen(
        [sys.executable, "-m", "crawl", *map(str, arguments), "--listen", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("listening on 127.0.0.1:"), line + process.stderr.read()
        yield Serving(process, line.split()[-1])
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_filterchecker_answers_until_interrupted(how: int) -> None:
    with (
        serving("filterchecker", *RULES, "--keep-client-cnx-open") as server,
        connected(server.name) as idle,
    ):
        answer = asked(server.name, b"http://a.org/\n\nhttp://a.org/\xff.gif\nhttp://b.org/")
        first, empty, third, last = answer.decode().splitlines()
        assert (first, last) == ("+http://a.org/", "+http://b.org/")
        assert empty.startswith("-\tregex: ")
        assert third.startswith("-http://a.org/\N{REPLACEMENT CHARACTER}.gif\tregex: ")
        assert server.end(how) == (0, "", "")
        assert received(idle) == b""


def test_answers_are_those_of_stdin(crawl: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = b"HTTP://a.org/../b\n:\n\nhttp://a.org/\x1b[2J\xc3\xa9\n"
    for options in (["--json"], ["--steps"], []):
        type_in(monkeypatch, typed)
        expected = crawl("normalizerchecker", "--stdin", *options)
        with serving("normalizerchecker", "--keep-client-cnx-open", *options) as server:
            assert asked(server.name, typed).decode() == expected.out


def test_parsechecker_is_one_visitor_for_all_clients(tmp_path: Path) -> None:
    with running(Web(Settings.plain(1, 30, port=0))) as web:
        conf = write_conf(tmp_path / "conf", web)
        pages = [url for url in web.web.urls() if web.web.expected(url).kind is PageKind.PAGE][:6]
        with (
            serving("parsechecker", "--conf", conf, "--json", "--normalize") as server,
            ThreadPoolExecutor(len(pages)) as clients,
        ):
            answers = list(clients.map(lambda url: asked(server.name, f"{url}\n".encode()), pages))
            none = json.loads(asked(server.name, b"mailto:a@b.org\n"))
            code, out, err = server.end()
        log = web.requests()
    for url, answer in zip(pages, map(json.loads, answers), strict=True):
        assert (answer["url"], answer["parsed"]) == (url, True)
        assert answer["documents"][0]["title"] == web.web.expected(url).title
    assert (none["url"], none["parsed"], none["fetch"]) == ("mailto:a@b.org", False, None)
    assert len(log) == 1 + len(pages)
    assert not before_robots(log)
    assert max(concurrency(log).values()) == 1
    assert gaps(log)[0].seconds >= DELAY_S
    assert (code, out, err) == (0, "", "parsechecker: mailto:a@b.org is no URL\n")


def test_a_port_that_is_taken_is_one_line(crawl: Caller) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for name in ("filterchecker", "normalizerchecker", "parsechecker"):
            answer = crawl(name, "--listen", port)
            assert (answer.code, answer.out) == (2, "")
            assert answer.err == (
                f"crawl: cannot listen on 127.0.0.1:{port}: Address already in use\n"
            )


def test_wrong_input_is_one_line(crawl: Caller) -> None:
    alone = "crawl: give either URLs or --stdin or --listen\n"
    with_listen = "crawl: --listen-address and --keep-client-cnx-open go with --listen\n"
    wrong: list[tuple[list[object], str]] = [
        (["--listen", 0, "http://a.org/"], alone),
        (["--listen", 0, "--stdin"], alone),
        ([], alone),
        (["--keep-client-cnx-open", "--stdin"], with_listen),
        (["--listen-address", "::1", "http://a.org/"], with_listen),
    ]
    for name in ("filterchecker", "normalizerchecker", "parsechecker"):
        for arguments, expected in wrong:
            answer = crawl(name, *arguments)
            assert (answer.code, answer.out, answer.err) == (2, "", expected), arguments
    file = crawl("parsechecker", "--file", "x", "--listen", 0)
    assert file.err == "crawl: --file goes without URLs, --stdin and --listen\n"
    unnamed = crawl("parsechecker", "--listen", 0)
    assert unnamed.code == 2
    assert unnamed.err.startswith("crawl: http.agent.name is not set")
    assert crawl("filterchecker", "--listen", 65536).code == 2
