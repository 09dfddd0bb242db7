from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response, Truncation
from crawl.plugins.protocol.file import FileProtocol
from crawl.testing.protocol_contract import ProtocolContract


class TestContract(ProtocolContract):
    plugin_class = FileProtocol


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "root"
    (root / "sub folder").mkdir(parents=True)
    (root / "page.html").write_text("<p>Fine")
    (root / "a:b&c.txt").write_text("odd")
    (root / "sub folder" / "ü.txt").write_text("deep")
    (tmp_path / "secret.txt").write_text("secret")
    (root / "out").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "page.html")
    (root / "loop").symlink_to(root / "loop")
    return root


def fetch(root: Path, url: str, limit: int = 1000, **request: int) -> Response | Failure:
    config = Config.of({"file.root": str(root), "file.content.limit": limit})
    return FileProtocol(config).fetch(Request(url, **request))  # type: ignore[arg-type]


def test_nothing_without_a_root(root: Path) -> None:
    got = FileProtocol(Config.of()).fetch(Request((root / "page.html").as_uri()))
    assert isinstance(got, Failure) and got.kind is FailureKind.ADDRESS_REFUSED
    assert "file.root" in got.message
    with pytest.raises(ConfigError, match="file.root"):
        FileProtocol(Config.of({"file.root": str(root / "nowhere")}))


def test_a_file(root: Path) -> None:
    got = fetch(root, (root / "page.html").as_uri())
    assert isinstance(got, Response)
    assert (got.code, got.body, got.truncated) == (200, b"<p>Fine", Truncation.WHOLE)
    assert got.header("Content-Type") == "text/html" and got.header("Last-Modified")
    cut = fetch(root, (root / "page.html").as_uri(), 3)
    assert isinstance(cut, Response)
    assert (cut.body, cut.truncated) == (b"<p>", Truncation.LENGTH)


def test_a_folder_is_a_page_of_links(root: Path) -> None:
    got = fetch(root, root.as_uri() + "/")
    assert isinstance(got, Response) and got.code == 200
    page = got.body.decode()
    assert 'href="./page.html"' in page and 'href="./sub%20folder/"' in page
    assert 'href="./a%3Ab%26c.txt">a:b&amp;c.txt<' in page
    sub = fetch(root, root.as_uri() + "/sub%20folder/")
    assert isinstance(sub, Response) and b"./%C3%BC.txt" in sub.body
    deep = fetch(root, root.as_uri() + "/sub%20folder/%C3%BC.txt")
    assert isinstance(deep, Response) and deep.body == b"deep"


def test_a_folder_without_its_slash_and_an_inner_link_redirect(root: Path) -> None:
    for name, target in (("sub%20folder", "sub%20folder/"), ("in", "page.html")):
        got = fetch(root, f"{root.as_uri()}/{name}")
        assert isinstance(got, Response) and got.code == 301
        assert got.header("Location") == f"{root.as_uri()}/{target}"


@pytest.mark.parametrize(
    "path", ["out", "up/secret.txt", "%2e%2e/secret.txt", "sub%20folder%2f..%2f..%2fsecret.txt"]
)
def test_no_way_out(root: Path, path: str) -> None:
    got = fetch(root, f"{root.as_uri()}/{path}")
    assert isinstance(got, Failure) and got.kind is FailureKind.ADDRESS_REFUSED


def test_what_is_no_file(root: Path) -> None:
    os.mkfifo(root / "pipe")
    codes = {}
    for name in ("nothing", "page.html/x", "loop", "pipe", "a%00b", "x" * 5000):
        got = fetch(root, f"{root.as_uri()}/{name}")
        assert isinstance(got, Response), name
        codes[name[:9]] = got.code
    assert codes == {
        "nothing": 404,
        "page.html": 404,
        "loop": 403,
        "pipe": 403,
        "a%00b": 404,
        "xxxxxxxxx": 403,
    }
    other_host = fetch(root, "file://a.test/etc/passwd")
    assert isinstance(other_host, Failure) and other_host.kind is FailureKind.NOT_SUPPORTED


def test_only_what_changed(root: Path) -> None:
    page = root / "page.html"
    os.utime(page, (1000, 1000))
    for since, code in ((999_000, 200), (1_000_000, 304), (2_000_000, 304)):
        got = fetch(root, page.as_uri(), modified_since_ms=since)
        assert isinstance(got, Response) and got.code == code


def test_no_more_of_a_folder_is_held_than_is_listed(root: Path) -> None:
    folder = root / "many"
    folder.mkdir()
    for number in range(300):
        (folder / f"{number:03}").touch()
    listed = fetch(root, f"{root.as_uri()}/many/", limit=2000)
    assert isinstance(listed, Response) and listed.truncated is Truncation.LENGTH
    names = re.findall(r">(\d+)<", listed.body.decode())
    assert names == [f"{number:03}" for number in range(len(names))] and len(names) > 30
