from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl.config import Config
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response, Truncation
from crawl.plugins.protocol.ftp import FtpProtocol
from crawl.testing.protocol_contract import ProtocolContract
from tests.plugins.protocol.small_ftp import SmallFtp, small_ftp


class TestContract(ProtocolContract):
    plugin_class = FtpProtocol


@pytest.fixture
def server() -> Iterator[SmallFtp]:
    with small_ftp() as server:
        server.files = {"/page.html": b"<p>Fine", "/long": b"x" * 5000}
        server.lists = {
            "/": "total 3\r\n"
            "drwxr-xr-x    2 0        0            4096 Nov 14 22:13 sub folder\r\n"
            "-rw-r--r--    1 0        0               7 Nov 14 22:13 page.html\r\n"
            "lrwxrwxrwx    1 0        0               7 Nov 14 22:13 link -> page.html\r\n"
            "drwxr-xr-x    2 0        0            4096 Nov 14 22:13 ..\r\n",
            "/dos/": "11-14-23  10:13PM       <DIR>          docs\r\n"
            "11-14-23  10:13PM                   12 a & b.txt\r\n",
        }
        yield server


def fetch(server: SmallFtp, path: str, since: int = 0, **values: object) -> Response | Failure:
    settings = {"http.filter.ipaddress.allow.private": True, "ftp.content.limit": 1000}
    config = Config.of({**settings, **{k.replace("_", "."): v for k, v in values.items()}})
    plugin = FtpProtocol(config, resolver=lambda host: ["127.0.0.1"])
    return plugin.fetch(Request(f"ftp://f.test:{server.port}{path}", modified_since_ms=since))


def test_a_file(server: SmallFtp) -> None:
    got = fetch(server, "/page.html")
    assert isinstance(got, Response)
    assert (got.code, got.body, got.truncated) == (200, b"<p>Fine", Truncation.WHOLE)
    assert got.header("Last-Modified") == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert got.ip == "127.0.0.1" and "USER anonymous" in server.commands


def test_the_limit(server: SmallFtp) -> None:
    got = fetch(server, "/long")
    assert isinstance(got, Response)
    assert (len(got.body), got.truncated) == (1000, Truncation.LENGTH)


def test_a_file_that_breaks_off_is_a_failure(server: SmallFtp) -> None:
    server.breaks_off = {"/page.html"}
    got = fetch(server, "/page.html")
    assert isinstance(got, Failure) and got.kind is FailureKind.DISCONNECTED
    server.breaks_off = {"/long"}
    cut = fetch(server, "/long")  # after the limit nobody looks
    assert isinstance(cut, Response) and cut.truncated is Truncation.LENGTH


def test_only_what_changed(server: SmallFtp) -> None:
    got = fetch(server, "/page.html", since=1_800_000_000_000)
    assert isinstance(got, Response) and (got.code, got.body) == (304, b"")


def test_folders_are_pages(server: SmallFtp) -> None:
    got = fetch(server, "/")
    assert isinstance(got, Response) and got.code == 200
    page = got.body.decode()
    assert [part.split('"')[0] for part in page.split('href="')[1:]] == [
        "./sub%20folder/",
        "./page.html",
        "./link",
    ]
    dos = fetch(server, "/dos/")
    assert isinstance(dos, Response) and b'"./docs/"' in dos.body and b"a%20%26%20b.txt" in dos.body


def test_refusals_are_codes(server: SmallFtp) -> None:
    for path, code in (("/none", 404), ("/nowhere/", 404)):
        got = fetch(server, path)
        assert isinstance(got, Response) and got.code == code
    got = fetch(server, "/page.html", ftp_password="wrong")
    assert isinstance(got, Response) and got.code == 401


def test_another_address_that_the_server_names_is_not_believed(server: SmallFtp) -> None:
    server.named_address = "10,1,2,3"
    got = fetch(server, "/page.html")
    assert isinstance(got, Response) and got.body == b"<p>Fine"


def test_addresses_are_judged(server: SmallFtp) -> None:
    got = fetch(server, "/", http_filter_ipaddress_allow_private=False)
    assert isinstance(got, Failure) and got.kind is FailureKind.ADDRESS_REFUSED
    assert server.commands == []


def test_no_command_can_be_smuggled_in(server: SmallFtp) -> None:
    got = fetch(server, "/page.html%0D%0ADELE%20x")
    assert isinstance(got, Failure) and got.kind is FailureKind.NOT_SUPPORTED
    assert not any("DELE" in command for command in server.commands)
