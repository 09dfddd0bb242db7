"""file: URLs through all phases, and never by the word of a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.status import Status
from crawl.rounds.steps import UNBOUNDED, LoopOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.testing.servers.scripted_server import ScriptedServer, scripted_server
from tests.cli.calling import Caller
from tests.phases.made import records_of
from tests.phases.round_loops import Diary, run_rounds

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

SECRET = "secret.html"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder of pages, and a secret beside it."""
    root = tmp_path.resolve() / "root"
    (root / "sub folder").mkdir(parents=True)
    (root / "page.html").write_text(
        "<title>A page</title><a href='sub%20folder/deep.html'>deep</a>"
        f"<a href='../{SECRET}'>out</a><a href='/etc/passwd'>far</a><a href='#x'>self</a>"
    )
    (root / "sub folder" / "deep.html").write_text("<title>Deep</title><p>Text")
    (root / "notes.txt").write_text("Notes")
    (root.parent / SECRET).write_text("secret")
    return root


@pytest.fixture
def server() -> Any:
    with scripted_server() as server:
        yield server


def config_of(root: Path, **settings: object) -> Config:
    return Config.of(
        {
            "plugin.protocol": ["http", "file"],
            "file.root": str(root),
            "urlfilter.order": ["length"],
            "http.agent.name": "testbot",
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": "hosts.txt",
            "fetcher.threads.fetch": 4,
            "crawldb.buckets": 3,
            **{name.replace("__", "."): value for name, value in settings.items()},
        },
        {"hosts.txt": "127.0.0.1 a.test\n"},
    )


def crawl_all(
    folder: Path, config: Config, *seeds: str, diary: Diary | None = None
) -> tuple[CrawlDir, dict[str, Status]]:
    """Rounds until nothing is due."""
    listed = folder / "seeds.txt"
    listed.write_text("\n".join(seeds))
    directory = CrawlDir(str(folder / "crawl"))
    run_rounds(
        directory, config, SystemClock(), LoopOptions(UNBOUNDED), seeds=(str(listed),), diary=diary
    )
    return directory, {url: datum.status for url, datum in records_of(directory).items()}


@pytest.mark.parametrize("settings", [{}, {"fetcher__parse": True, "http__redirect__max": 3}])
def test_a_folder_is_crawled_and_nothing_beside_it(
    capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path, settings: dict[str, object]
) -> None:
    config = config_of(root, **settings)  # the usual delay of 5 s is for servers, not for files
    directory, found = crawl_all(tmp_path, config, root.as_uri())
    base = root.as_uri()
    assert {url for url, status in found.items() if status is Status.DB_FETCHED} == {
        f"{base}/",
        f"{base}/page.html",
        f"{base}/notes.txt",
        f"{base}/sub%20folder/",
        f"{base}/sub%20folder/deep.html",
    }
    assert found[base] is Status.DB_REDIR_PERM
    for outside in (f"{root.parent.as_uri()}/{SECRET}", "file:///etc/passwd"):
        assert found[outside] is Status.DB_GONE
    crawl, url = Caller(capsys), f"{base}/page.html"
    record = crawl("readdb", directory.address, "--url", url, "--json").json
    assert record["statusName"] == "db_fetched"
    explained = crawl("explain", directory.address, url, "-D", "urlfilter.order=length").out
    assert "db_fetched" in explained and "robots.txt" in explained


@pytest.mark.parametrize("mode", ["byDomain", "byIP"])
def test_however_urls_are_grouped(root: Path, tmp_path: Path, mode: str) -> None:
    modes = {"partition__url__mode": mode, "fetcher__queue__mode": mode}
    found = crawl_all(tmp_path, config_of(root, **modes), f"{root.as_uri()}/page.html")[1]
    assert found[f"{root.as_uri()}/sub%20folder/deep.html"] is Status.DB_FETCHED


def test_links_of_files_are_internal_to_files(root: Path, tmp_path: Path) -> None:
    (root / "page.html").write_text("<a href='notes.txt'>n</a><a href='http://a.test:1/'>w</a>")
    config = config_of(root, db__ignore__external__links=True)
    found = crawl_all(tmp_path, config, f"{root.as_uri()}/page.html")[1]
    assert sorted(found) == [f"{root.as_uri()}/notes.txt", f"{root.as_uri()}/page.html"]


def test_without_the_plugin_nothing_is_read(root: Path, tmp_path: Path) -> None:
    config = config_of(root, plugin__protocol=["http"])
    found = crawl_all(tmp_path, config, root.as_uri(), "file://host/share")[1]
    assert set(found.values()) == {Status.DB_GONE}


@pytest.mark.parametrize("settings", [{}, {"fetcher__parse": True, "http__redirect__max": 3}])
def test_no_server_leads_to_files(
    root: Path, tmp_path: Path, server: ScriptedServer, settings: dict[str, object]
) -> None:
    local = f"{root.as_uri()}/notes.txt"
    html = "Content-Type: text/html"
    server.page("/", f"<a href='{local}'>x</a><a href='FILE:{local[5:]}'>x</a>".encode(), html)
    server.page("/moved", b"", f"Location: {local}", code=302)
    refresh = f"<meta http-equiv=refresh content='0; url={local}'><link rel=canonical href={local}>"
    server.page("/refresh", refresh.encode(), html)
    server.page(
        "/robots.txt", f"User-agent: *\nSitemap: {local}\n".encode(), "Content-Type: text/plain"
    )
    seeds = [server.url(path) for path in ("/", "/moved", "/refresh")]
    diary = Diary()
    config = config_of(root, fetcher__server__delay=0, **settings)
    found = crawl_all(tmp_path, config, *seeds, diary=diary)[1]
    assert sorted(found) == sorted(seeds)


def test_a_checker_follows_no_redirect_to_files(
    capsys: pytest.CaptureFixture[str], root: Path, tmp_path: Path, server: ScriptedServer
) -> None:
    server.page("/moved", b"", f"Location: {root.as_uri()}/notes.txt", code=302)
    (tmp_path / "hosts.txt").write_text("127.0.0.1 a.test\n")
    settings = [
        "http.agent.name=testbot",
        "plugin.protocol=http,file",
        f"file.root={root}",
        "urlfilter.order=length",
        "http.filter.ipaddress.allow.private=true",
        "http.resolver.hosts.file=hosts.txt",
        "fetcher.server.delay=0",
    ]
    options = [word for setting in settings for word in ("-D", setting)]
    answer = Caller(capsys)(
        "parsechecker",
        "--follow-redirects",
        server.url("/moved"),
        "--dump-text",
        "--conf",
        tmp_path,
        *options,
    )
    assert "Notes" not in answer.out
    assert "redirects_dropped.local_file" in answer.out
