"""dust and mirrors on the command line: what they show, and the files that they write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.dust import run as dust
from crawl.phases.dust.operation import NOTHING_FOUND
from crawl.phases.mirrors import run as mirrors
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.cli.calling import Caller
from tests.phases.dusty import crawl_of


@pytest.fixture
def dusty(tmp_path: Path) -> str:
    """A host with a parameter that makes no difference, and one where it may: two values."""
    contents = {f"http://a.test/p{n}?v={m}": f"{n}" for n in range(30) for m in range(4)}
    contents |= {f"http://b.test/p{n}?w={m}": f"b{n}" for n in range(6) for m in range(3)}
    contents |= {f"http://c.test/p{n}?x={m}": f"c{n}" for n in range(30) for m in range(2)}
    return crawl_of(str(tmp_path / "crawl"), contents).address


def rules_in(file: Path) -> list[list[str]]:
    lines = file.read_text().splitlines()
    return [line.split()[:3] for line in lines if not line.startswith("#")]


def test_dust_applies_what_it_shows(crawl: Caller, dusty: str, tmp_path: Path) -> None:
    file = tmp_path / "conf" / "dust.txt"
    answer = crawl("dust", dusty, "--apply", file)
    assert answer.code == 0
    assert "dust: 1 rules for 1 hosts, from 198 pages\n" in answer.err
    assert f"dust: 1 rules in {file}; they take effect with urlnormalizer.order=" in answer.err
    assert rules_in(file) == [["a.test", "param", "v"]]
    # what holds with less support comes beside it, and what is there stays
    found = crawl(
        *("dust", dusty, "--host", "B.test", "--min-support", 5, "--apply", file, "--json")
    ).json
    assert (found["written"], found["file"]) == (2, str(file))
    assert [each["host"] for each in found["rules"]] == ["b.test"]
    assert rules_in(file) == [["a.test", "param", "v"], ["b.test", "param", "w"]]
    found = crawl("dust", dusty, "--min-values", 2, "--apply", file, "--json").json
    assert [each["host"] for each in found["rules"]] == ["a.test", "c.test"]
    assert [rule[0] for rule in rules_in(file)] == ["a.test", "b.test", "c.test"]


def test_dust_shows_what_is_doubtful_where_asked(crawl: Caller, dusty: str) -> None:
    without, with_it = crawl("dust", dusty), crawl("dust", dusty, "--doubtful")
    assert "c.test" not in without.out and "c.test" in with_it.out
    assert without.out.count("a.test") == with_it.out.count("a.test") == 1
    assert crawl("dust", dusty, "--host", "c.test").code == NOTHING_FOUND
    strict = crawl("dust", dusty, "--min-values", 9)
    assert strict.code == NOTHING_FOUND


def test_dust_writes_over_nobodys_own_rules(crawl: Caller, dusty: str, tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("a.test param mine\n")
    answer = crawl("dust", dusty, "--apply", own)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "is not a file that `crawl dust` wrote" in answer.err
    assert own.read_text() == "a.test param mine\n"


@pytest.fixture
def mirrored(tmp_path: Path) -> str:
    """http and https of a host, a copy of it on another, and a copy that half agrees."""
    contents: dict[str, str] = {}
    for n in range(40):
        contents[f"http://a.test/p{n}"] = contents[f"https://a.test/p{n}"] = f"a{n}"
        contents[f"https://copy.org/p{n}"] = f"a{n}"
        contents[f"https://half.org/p{n}"] = f"a{n}" if n % 4 else f"other {n}"
    return crawl_of(str(tmp_path / "crawl"), contents).address


def test_mirrors_writes_what_was_asked_for(crawl: Caller, mirrored: str, tmp_path: Path) -> None:
    hosts, protocols = tmp_path / "hosts.txt", tmp_path / "protocols.txt"
    answer = crawl("mirrors", mirrored, "--hosts-file", hosts)
    assert answer.code == 0 and f"mirrors: 1 rules in {hosts}\n" in answer.err
    assert not protocols.exists()
    assert [rule[:2] for rule in rules_in(hosts)] == [["copy.org", "a.test"]]
    found = crawl("mirrors", mirrored, "--protocols-file", protocols, "--json").json
    assert found["protocols"] == 1 and "hosts" not in found
    assert rules_in(protocols) == [["a.test", "https"]]
    lenient = ("--min-agreement", 0.7, "--hosts-file", hosts, "--protocols-file", protocols)
    both = crawl("mirrors", mirrored, *lenient, "--json").json
    assert (both["hosts"], both["protocols"]) == (2, 1)
    assert sorted(rule[0] for rule in rules_in(hosts)) == ["copy.org", "half.org"]
    strict = crawl("mirrors", mirrored, "--min-contents", 41, "--hosts-file", hosts)
    assert strict.code == NOTHING_FOUND
    assert len(rules_in(hosts)) == 2, "what an earlier crawl has found stays"


def test_hosts_and_protocols_need_a_file_each(crawl: Caller, mirrored: str, tmp_path: Path) -> None:
    one = tmp_path / "one.txt"
    answer = crawl("mirrors", mirrored, "--hosts-file", one, "--protocols-file", one)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "hosts and protocols need a file each" in answer.err
    assert not one.exists()


@pytest.mark.parametrize("name", ["dust", "mirrors"])
def test_a_reader_whose_state_is_forgotten_meanwhile_reads_the_next(
    crawl: Caller,
    dusty: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """A writer publishes twice and collects garbage between the look and the reading."""
    phase = {"dust": dust, "mirrors": mirrors}[name]
    run, read_states = phase.run, []

    def run_late(*given: Any) -> Any:
        directory, state = given[1], given[2]
        read_states.append(state.number)
        if len(read_states) == 1:
            rewrite(directory)
        return run(*given)

    monkeypatch.setattr(phase, "run", run_late)
    file = tmp_path / "rules.txt"
    option = {"dust": "--apply", "mirrors": "--hosts-file"}[name]
    answer = crawl(name, dusty, option, file, "--json")
    assert answer.code == (0 if name == "dust" else NOTHING_FOUND), answer.err
    assert read_states == [1, 2] and answer.json["pages"] == 198
    assert len(rules_in(file)) == (1 if name == "dust" else 0)


def rewrite(directory: CrawlDir) -> None:
    """Another state of the same records, in new files, and nothing left of the one before."""
    rebucket.run(InProcess(), directory, Config(), RebucketOptions(8), SystemClock())
    with directory.writing_crawldb("gc", Config(), SystemClock()) as transaction:
        assert transaction.keep_newest(1) == (1,)
