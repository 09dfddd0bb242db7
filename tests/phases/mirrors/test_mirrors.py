"""mirrors: copies are found, and what only looks like one is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import load
from crawl.errors import ConfigError, UsageError
from crawl.interfaces.urlnormalizer import Scope
from crawl.phases.mirrors import run as mirrors
from crawl.phases.mirrors.rules import MirrorBounds
from crawl.plugins.urlnormalizer.host import HostURLNormalizer
from crawl.plugins.urlnormalizer.protocol import ProtocolURLNormalizer
from crawl.tables.runner import InProcess
from tests.phases.dusty import crawl_of


def find(tmp_path: Path, contents: dict[str, str]) -> mirrors.MirrorsResult:
    directory = crawl_of(str(tmp_path / "crawl"), contents)
    return mirrors.run(InProcess(), directory, directory.require_crawldb(), MirrorBounds())


@pytest.fixture
def found(tmp_path: Path) -> mirrors.MirrorsResult:
    contents: dict[str, str] = {}
    for n in range(40):
        contents[f"http://www.a.test/p{n}"] = contents[f"http://a.test/p{n}"] = f"a{n}"
        if n % 2:
            contents[f"https://a.test/p{n}"] = f"a{n}"
        contents[f"http://b.test/p{n}?x=1"] = contents[f"http://copy.org/p{n}?x=1"] = f"b{n}"
        # the same paths, and a few of the same pages
        contents[f"http://c.test/p{n}"] = f"c{n}"
        contents[f"http://d.test/p{n}"] = f"c{n}" if n < 15 else f"d{n}"
        # one page for everything, here and there
        contents[f"http://soft.test/p{n}"] = contents[f"http://softer.test/p{n}"] = "not found"
        for parked in range(70):
            contents[f"http://parked{parked}.test/p{n}"] = f"parked {n}"
    return find(tmp_path, contents)


def test_copies_are_found_and_nothing_else(found: mirrors.MirrorsResult) -> None:
    assert [(each.mirror, each.site, str(each.kind)) for each in found.mirrors] == [
        ("http://copy.org", "http://b.test", "copy"),
        ("http://a.test", "https://a.test", "scheme"),
        ("http://www.a.test", "https://a.test", "www"),
    ]
    copy = found.mirrors[0]
    assert (copy.common, copy.agreeing, copy.contents) == (40, 40, 40)
    assert found.shared_pages == 40


def test_rules_are_read_by_the_normalizers(found: mirrors.MirrorsResult, tmp_path: Path) -> None:
    hosts, protocols = tmp_path / "host-urlnormalizer.txt", tmp_path / "protocols.txt"
    assert mirrors.write_rules("hosts", str(hosts), found, SystemClock()) == 2
    assert mirrors.write_rules("protocols", str(protocols), found, SystemClock()) == 1
    config = load(conf=str(tmp_path))
    host, protocol = HostURLNormalizer(config), ProtocolURLNormalizer(config)
    assert host.normalize("http://copy.org/x", Scope.DEFAULT) == "http://b.test/x"
    assert protocol.normalize("http://a.test/x", Scope.DEFAULT) == "https://a.test/x"
    # what is no longer met stays
    assert (
        mirrors.write_rules("hosts", str(hosts), mirrors.MirrorsResult(0, []), SystemClock()) == 2
    )


def test_large_sites_are_compared_by_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl.phases.mirrors.tasks._COMPARED_PATHS", 64)
    hosts = ("a.test", "www.a.test")
    found = find(tmp_path, {f"http://{host}/p{n}": f"{n}" for n in range(1000) for host in hosts})
    (only,) = found.mirrors
    assert only.sampled == 16 and 20 < only.common < 200
    assert only.agreeing == only.common


def test_nobodys_own_rules_are_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("a.test b.test\n")
    with pytest.raises(UsageError, match="is not a file that `crawl mirrors` wrote"):
        mirrors.check_files(str(own))
    with pytest.raises(UsageError, match="need a file each"):
        mirrors.check_files(str(tmp_path / "one.txt"), f"{tmp_path}/one.txt")


def test_a_learnt_file_that_was_cut_is_one_line_before_any_work(
    tmp_path: Path, found: mirrors.MirrorsResult
) -> None:
    file = tmp_path / "hosts.txt"
    mirrors.write_rules("hosts", str(file), found, SystemClock())
    file.write_text(file.read_text().rpartition(" ")[0])
    with pytest.raises(ConfigError, match=r"hosts\.txt:\d+: expected a host and what stands"):
        mirrors.check_files(str(file))
