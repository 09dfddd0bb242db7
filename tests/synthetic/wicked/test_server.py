from __future__ import annotations

import os
import socket

import pytest

from crawl.errors import UsageError
from crawl.interfaces.protocol import FailureKind, Truncation
from crawl.synthetic.wicked import HOSTS, ROUTES, WickedServer, running_wicked, table
from crawl.synthetic.wicked.exchange import FINE
from crawl.synthetic.wicked.routes import find_route
from tests.synthetic.wicked.client import PATIENCE_S, How, ask


def test_every_route_is_described_in_full_and_found_by_its_path() -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    for route in ROUTES:
        assert find_route(route.path) is route
        assert route.does
        assert route.must
        assert route.ends
        assert all(isinstance(end, FailureKind | Truncation | int) for end in route.ends)
        assert f"| {route.path} | {route.does} |" in table()
    assert find_route("/finest") is None
    assert all(host in table() for host in HOSTS)


def test_hosts_that_are_wicked_before_a_path_is_known(wicked: WickedServer) -> None:
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(
            (wicked.resolve("refused.wicked.test"), wicked.port), timeout=PATIENCE_S
        )
    with pytest.raises(TimeoutError):
        socket.create_connection((wicked.resolve("deaf.wicked.test"), wicked.port), timeout=0.5)
    address = wicked.resolve("reset.wicked.test")
    with pytest.raises(ConnectionResetError):  # noqa: SIM117
        with socket.create_connection((address, wicked.port), timeout=PATIENCE_S) as client:
            client.recv(1)


def test_robots_txt_is_fine_but_where_it_is_wicked(wicked: WickedServer) -> None:
    fine = ask(wicked, f"http://fine.wicked.test:{wicked.port}/robots.txt")
    assert fine.body == b"User-agent: *\nDisallow:\n"
    for name, how in (("never", How.SILENT), ("endless-body", How.ENOUGH), ("close", How.CLOSED)):
        host = f"robots-{name}.wicked.test"
        robots = f"http://{host}:{wicked.port}/robots.txt"
        silent_after = b"" if how is How.SILENT else None
        assert ask(wicked, robots, at_most=1_000_000, silent_after=silent_after).how is how
        assert ask(wicked, wicked.url("fine", host)).body == FINE


def test_the_front_page_links_to_every_route(wicked: WickedServer) -> None:
    got = ask(wicked, f"http://wicked.test:{wicked.port}/")
    assert all(f'href="{route.path}"'.encode() in got.body for route in ROUTES)
    assert ask(wicked, f"http://wicked.test:{wicked.port}/none").head.startswith(b"HTTP/1.1 404 ")


def test_a_connection_that_is_kept_serves_again(wicked: WickedServer) -> None:
    host = "fine.wicked.test"
    with socket.create_connection(
        (wicked.resolve(host), wicked.port), timeout=PATIENCE_S
    ) as client:
        for _ in range(3):
            client.sendall(f"GET /fine HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            got = b""
            while not got.endswith(FINE):
                got += client.recv(65_536)
            assert got.startswith(b"HTTP/1.1 200 ")


def test_other_connections_keep_their_speed(wicked: WickedServer) -> None:
    flooded = [
        socket.create_connection((wicked.resolve("wicked.test"), wicked.port)) for _ in range(20)
    ]
    for number, client in enumerate(flooded):
        path = ("/endless/body", "/never", "/drip/body", "/flood/continue")[number % 4]
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: wicked.test\r\n\r\n".encode())
    assert ask(wicked, wicked.url("fine")).body == FINE
    for client in flooded:
        client.close()


@pytest.mark.slow
def test_the_log_outlives_the_server_and_the_server_leaves_nothing() -> None:
    with running_wicked() as server:
        ask(server, server.url("fine"))
        ask(server, server.url("never"), silent_after=b"")
        with pytest.raises(UsageError, match="cannot listen"):
            WickedServer(server.port)
        held = socket.create_connection((server.resolve("wicked.test"), server.port))
        held.sendall(b"GET /never HTTP/1.1\r\nHost: wicked.test\r\n\r\n")
        assert server.is_alive()
    held.close()
    assert not server.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)
    log = server.requests()
    assert [(entry.host, entry.path, entry.status) for entry in log[:2]] == [
        ("fine.wicked.test", "/fine", 200),
        ("never.wicked.test", "/never", 0),
    ]
    assert all(entry.began <= entry.ended for entry in log)
