"""Rule files of dust and mirrors: two commands at once lose nothing, and a killed one leaves the
rules as they were, or as they are to be."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread

import pytest

from crawl.clock import SystemClock
from crawl.driver import rule_files
from crawl.phases.dust import run as dust
from crawl.phases.dust.rules import RuleEvidence
from crawl.phases.mirrors import run as mirrors
from crawl.phases.mirrors.rules import MirrorEvidence
from crawl.urls.dust import DustKind, DustRule
from crawl.urls.rule_lines import RuleLine
from tests.phases.killed import run_killed

Writer = Callable[[str, range], int]


def write_dust(address: str, hosts: range) -> int:
    rules = [RuleEvidence(f"h{n}.test", DustRule(DustKind.PARAM, "v"), 9, 9, 9, 0) for n in hosts]
    return dust.write_rules(address, dust.DustResult(0, rules), SystemClock())


def write_mirrors(address: str, hosts: range) -> int:
    found = [MirrorEvidence("http://a.org", f"http://h{n}.test", 9, 9, 9, 9, 9) for n in hosts]
    return mirrors.write_rules("hosts", address, mirrors.MirrorsResult(0, found), SystemClock())


def hosts_in(file: Path) -> list[str]:
    lines = file.read_text().splitlines()
    return sorted(line.split()[0] for line in lines if not line.startswith("#"))


def named(hosts: range) -> list[str]:
    return sorted(f"h{n}.test" for n in hosts)


@pytest.mark.parametrize("write", [write_dust, write_mirrors])
def test_whoever_comes_while_another_writes_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Writer
) -> None:
    file = tmp_path / "rules.txt"
    write(str(file), range(3))
    second = Thread(target=write, args=(str(file), range(3, 7)))
    read = rule_files.read_learnt

    def read_while_another_begins(address: str, command: str) -> list[RuleLine]:
        found = read(address, command)
        if second.ident is None:
            second.start()
            second.join(0.3)  # in vain: it waits until this one has written
        return found

    monkeypatch.setattr(rule_files, "read_learnt", read_while_another_begins)
    assert write(str(file), range(7, 9)) == 5
    second.join()
    assert hosts_in(file) == named(range(9))
    assert [path.name for path in tmp_path.iterdir()] == ["rules.txt"]


@pytest.mark.parametrize("write", [write_dust, write_mirrors])
def test_the_rules_of_many_at_once_are_all_there(tmp_path: Path, write: Writer) -> None:
    file = tmp_path / "rules.txt"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: write(str(file), range(10 * n, 10 * n + 10)), range(8)))
    assert hosts_in(file) == named(range(80))


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_dust, write_mirrors])
def test_a_killed_writer_leaves_the_rules_before_or_after(tmp_path: Path, write: Writer) -> None:
    file = tmp_path / "rules.txt"
    write(str(file), range(4))
    at, killed, met = 1, True, []
    while killed:
        killed = run_killed(write, str(file), range(4, 50), at=at)
        met.append(len(hosts_in(file)))
        assert hosts_in(file) in (named(range(4)), named(range(50)))
        at += 1
    assert met == sorted(met) and {4, 50} == set(met)
    # the locks of the dead are gone, and what is left of their writes is not shown
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] == ["rules.txt"]
