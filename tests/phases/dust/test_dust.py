"""dust: what it learns, what it must not learn, and that its rules do what the evidence says."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import load
from crawl.errors import UsageError
from crawl.interfaces.urlnormalizer import Scope
from crawl.phases.dust import run as dust
from crawl.phases.dust.rules import DustBounds
from crawl.plugins.urlnormalizer.dust import DustURLNormalizer
from crawl.synthetic.web import Settings, Web
from crawl.tables.bucket_files import BucketTarget
from crawl.tables.runner import InProcess
from crawl.urls.dust import HostDust
from crawl.urls.parse import parse
from tests.examples import scaled
from tests.phases.dusty import crawl_of

BOUNDS = DustBounds(min_support=5)


def learn(tmp_path: Path, contents: dict[str, str], bounds: DustBounds = BOUNDS) -> dust.DustResult:
    directory = crawl_of(str(tmp_path / "crawl"), contents)
    return dust.run(InProcess(), directory, directory.require_crawldb(), bounds)


def rules(found: dust.DustResult) -> list[str]:
    return [f"{each.host} {each.rule}" for each in found.rules]


def test_what_makes_no_difference_is_found(tmp_path: Path) -> None:
    contents: dict[str, str] = {}
    for n in range(12):
        for visit in ("1a", "2b", "3c"):
            contents[f"http://a.test/p{n}?visit={visit}{n}"] = f"{n}"
            contents[f"http://a.test/p{n}?page={visit}&visit={n}"] = f"{n} {visit}"
            contents[f"http://b.test/p{n};jsession={visit}{n}?id={n}"] = f"{n}"
        contents[f"http://c.test/d{n}/index.html"] = contents[f"http://c.test/d{n}/"] = f"{n}"
        contents[f"http://d.test/d{n}/"] = contents[f"http://d.test/d{n}"] = f"{n}"
        contents[f"http://d.test/e{n}"] = f"e{n}"
        contents[f"http://e.test/D{n}"] = contents[f"http://e.test/d{n}"] = f"{n}"
    found = learn(tmp_path, contents)
    assert rules(found) == [
        "a.test param visit",
        "b.test path-param jsession",
        "c.test index index.html",
        "d.test slash -",
        "e.test case lower",
    ]
    assert {each.exceptions for each in found.rules} == {0}
    assert found.pages == len(contents)


def test_a_site_that_answers_everything_alike_has_no_dust(tmp_path: Path) -> None:
    contents = {f"http://a.test/p{n}?q={m}": "not found" for n in range(40) for m in range(5)}
    contents |= {f"http://b.test/p{n}?q={m}": f"{n % 3}" for n in range(60) for m in range(5)}
    assert learn(tmp_path, contents).rules == []


def test_a_parameter_that_was_never_seen_otherwise_is_no_dust(tmp_path: Path) -> None:
    contents = {f"http://a.test/p{n}?lang=en": f"{n}" for n in range(40)}
    assert learn(tmp_path, contents).rules == []
    contents |= {f"http://a.test/p{n}": f"{n}" for n in range(40)}
    found = learn(tmp_path / "2", contents)
    assert found.rules == []
    assert [each.values for each in found.doubtful] == [2]


def test_exceptions_refute_a_rule(tmp_path: Path) -> None:
    contents = {f"http://a.test/p{n}?v={m}": f"{n}" for n in range(40) for m in range(5)}
    contents |= {f"http://a.test/item?v={m}": f"item {m}" for m in range(5, 15)}
    found = learn(tmp_path, contents)
    assert found.rules == []
    assert [(str(each.rule), each.exceptions) for each in found.doubtful] == [("param v", 9)]
    lenient = replace(BOUNDS, max_exceptions=0.05)
    assert rules(learn(tmp_path / "2", contents, lenient)) == ["a.test param v"]


def test_two_parameters_either_of_which_is_enough_are_not_both_dropped(tmp_path: Path) -> None:
    contents: dict[str, str] = {}
    for n in range(30):
        for form in (f"id={n}&slug=s{n}", f"id={n}&slug=x{n}", f"id=x{n}&slug=s{n}"):
            contents[f"http://a.test/view?{form}"] = f"{n}"
    found = learn(tmp_path, contents, replace(BOUNDS, min_values=2))
    assert len(found.rules) == 1


def test_what_hides_behind_other_dust_is_found_too(tmp_path: Path) -> None:
    chance = random.Random(1)
    contents = {
        f"http://a.test/p{n}?tag={tag}&visit={chance.random()}": f"{n}"
        for n in range(20)
        for tag in ("x", "y", "z", "z")
    }
    contents |= {f"http://a.test/p{n}?tag=z&visit=0{n}": f"{n}" for n in range(20)}
    assert rules(learn(tmp_path, contents)) == ["a.test param visit", "a.test param tag"]


def test_a_host_of_several_files_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {f"http://a.test/p{n}?v={m}": f"{n}" for n in range(30) for m in range(4)}
    contents |= {f"http://a.test/P{n}?v={m}": f"{n}" for n in range(30) for m in range(4)}
    whole = learn(tmp_path, contents)
    monkeypatch.setattr(BucketTarget, "rows_a_file", lambda self, expected: 17)
    directory = crawl_of(str(tmp_path / "parts"), contents)
    snapshot = directory.require_crawldb()
    assert len(snapshot.files) > 10
    found = dust.run(InProcess(), directory, snapshot, BOUNDS)
    assert rules(found) == rules(whole)
    assert rules(found) == ["a.test param v", "a.test case lower"]


def test_a_large_host_is_thinned_group_by_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl.phases.dust.tasks.evidence._HOST_ROWS", 300)
    monkeypatch.setattr("crawl.phases.dust.tasks.evidence._ALL_ROWS", 900)
    contents = {f"http://a.test/p{n}?v={m}&w={n}": f"{n}" for n in range(150) for m in range(4)}
    found = learn(tmp_path, contents)
    assert rules(found) == ["a.test param v"]
    assert 20 < found.rules[0].urls < 300


NAMES = ("visit", "page", "q")


@st.composite
def sites(draw: st.DrawFn) -> dict[str, str]:
    """Pages of a site on which some parameters, forms and noise matter, and others do not."""
    chance = random.Random(draw(st.integers(0, 1 << 30)))
    matters = {name: draw(st.booleans()) for name in NAMES}
    rare = draw(st.sampled_from([0.0, 0.0, 0.005, 0.02, 0.3]))
    folded, slashed = draw(st.booleans()), draw(st.booleans())
    contents: dict[str, str] = {}
    for _ in range(draw(st.integers(50, 400))):
        page = chance.randrange(12)
        pieces = [(name, chance.randrange(4)) for name in NAMES if chance.random() < 0.6]
        query = "&".join(f"{name}={value}" for name, value in pieces)
        folder = chance.choice(["Dir", "dir"])
        path = f"/{folder}{page}" + chance.choice(["", "/", "/index.html", ";visit=3"])
        content = f"{page}" if folded else f"{folder}{page}"
        if not slashed and path.endswith("/"):
            content += "/"
        content += "".join(f" {name}={value}" for name, value in pieces if matters[name])
        if chance.random() < rare:
            content += f" {chance.random()}"
        contents[f"http://a.test{path}" + (f"?{query}" if query else "")] = content
    return contents


@settings(max_examples=scaled(60), deadline=None)
@given(sites(), st.sampled_from([0.0, 0.01, 0.1]))
def test_rules_never_merge_different_pages_beyond_the_bound(
    tmp_path_factory: pytest.TempPathFactory, contents: dict[str, str], bound: float
) -> None:
    bounds = DustBounds(min_support=3, max_exceptions=bound, min_values=2)
    found = learn(tmp_path_factory.mktemp("crawl"), contents, bounds)
    applied = HostDust.of(each.rule for each in found.rules)
    merged: dict[str, list[str]] = defaultdict(list)
    for url, content in contents.items():
        parts = parse(url)
        assert parts is not None
        clean = applied.applied(parts)
        assert applied.applied(clean) == clean
        merged[str(clean)].append(content)
    groups = [group for group in merged.values() if len(group) > 1]
    exceptions = sum(len(group) - max(Counter(group).values()) for group in groups)
    urls = sum(map(len, groups))
    assert exceptions <= bound * urls or not found.rules, (rules(found), exceptions, urls)


def test_the_session_ids_of_the_synthetic_web_and_no_others(tmp_path: Path) -> None:
    names = ("visit", ";jsid", "", "s_token")
    web = Web(Settings(8, 500, odd=0.2, charsets=False, size=300, sessions=names, skew=0.5))
    contents: dict[str, str] = {}
    waiting = web.seeds()
    while waiting:
        url = waiting.pop()
        if url in contents:
            continue
        answer = web.expected(url)
        if answer.code == 200:
            contents[url] = answer.digest
            waiting += answer.links
    found = learn(tmp_path, contents)
    kinds = {"visit": "param visit", ";jsid": "path-param jsid", "s_token": "param s_token"}
    expected = [f"site{n}.test {kinds[names[n % 4]]}" for n in range(8) if names[n % 4]]
    assert rules(found) == expected
    assert len(contents) > 1000
    assert {url for url in contents if "part=" in url}


def test_rules_are_written_and_read_by_the_normalizer(tmp_path: Path) -> None:
    contents = {f"http://a.test/p{n}?v={m}": f"{n}" for n in range(30) for m in range(4)}
    found = learn(tmp_path, contents)
    file = tmp_path / "dust-urlnormalizer.txt"
    assert dust.write_rules(str(file), found, SystemClock()) == 1
    plugin = DustURLNormalizer(load(conf=str(tmp_path)))
    assert plugin.normalize("http://a.test/p9?v=77&x=1", Scope.DEFAULT) == "http://a.test/p9?x=1"
    assert plugin.normalize("http://b.test/p9?v=77", Scope.DEFAULT) == "http://b.test/p9?v=77"
    # a crawl that no longer meets the parameter keeps the rule
    later = learn(tmp_path / "2", {f"http://a.test/p{n}": f"{n}" for n in range(30)})
    before = file.read_text()
    assert later.rules == []
    assert dust.write_rules(str(file), later, SystemClock()) == 1
    assert file.read_text() == before
    # exceptions take it away
    against = contents | {f"http://a.test/x?v={m}": f"{m}" for m in range(100)}
    assert dust.write_rules(str(file), learn(tmp_path / "3", against), SystemClock()) == 0


def test_nobodys_own_rules_are_overwritten(tmp_path: Path) -> None:
    found = dust.DustResult(0, [])
    own = tmp_path / "own.txt"
    own.write_text("a.test param mine\n")
    with pytest.raises(UsageError, match="is not a file that `crawl dust` wrote"):
        dust.write_rules(str(own), found, SystemClock())
    with pytest.raises(UsageError, match="is a folder: name a file"):
        dust.write_rules(str(tmp_path), found, SystemClock())
    assert own.read_text() == "a.test param mine\n"
    own.write_text("# only an explanation\n")
    assert dust.write_rules(str(own), found, SystemClock()) == 0
