"""Every file of a crawl flipped, cut, removed, one at a time: each command gives the right
answer or one clear line, nothing that was whole is deleted, and `check --repair` brings back
the newest whole state. With ALL_DAMAGE=1 in the environment of every file in every way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import CrawlError, NothingToDo
from crawl.rounds.state import segment_states
from crawl.rounds.steps import Stage
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.repair import repair
from crawl.synthetic.web import Settings, Web, running
from tests.cli.calling import Answer, Caller
from tests.phases.damaging import Damage, commands, config_of, copied, damages, make_crawl
from tests.phases.made import records_of

pytestmark = [pytest.mark.slow(seconds=60), pytest.mark.exhaustive]

PARTS = ("crawl_generate", "crawl_fetch", "content")
NO_STATE = ("OWNER.json", "/progress/", "report.json")
"""Files whose loss changes no state; a check names damaged reports all the same."""


class Shop:
    """A crawl, its web, and what the commands answer where nothing is damaged."""

    def __init__(self, root: Path, config: Config, seeds: str) -> None:
        self.root = root
        self.config = config
        self.seeds = seeds
        self.records = set(records_of(CrawlDir(str(root))))
        self.stages = segment_states(CrawlDir(str(root)))
        self.answers: dict[str, Answer] = {}

    @property
    def readers(self) -> list[tuple[str, ...]]:
        url = min(self.records)
        return [
            ("readdb", "--stats", "--json"),
            ("readdb", "--url", url, "--json"),
            ("readdb", "--top", "3", "--json"),
            ("snapshots", "--json"),
            ("status", "--json"),
            ("explain", url),
        ]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    place = tmp_path_factory.mktemp("damage")
    with running(Web(Settings.plain(2, 16, port=0, size=300))) as server:
        seeds = place / "seeds.txt"
        seeds.write_text("\n".join(server.web.seeds()))
        config = config_of(server.web)
        make_crawl(str(place / "whole"), config, str(seeds))
        yield Shop(place / "whole", config, str(seeds))


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str]) -> Caller:
    return Caller(capsys)


def test_a_whole_crawl_is_whole(shop: Shop, crawl: Caller) -> None:
    answer = crawl("check", shop.root, "--deep", "--json", "-q")
    assert (answer.code, answer.json["faults"]) == (0, [])
    assert answer.json["files"] > 60


def test_one_damage_at_a_time(shop: Shop, crawl: Caller, tmp_path: Path) -> None:
    failures = []
    for damage in damages(shop.root, all_files=bool(os.environ.get("ALL_DAMAGE"))):
        directory = copied(shop.root, tmp_path / "c")
        damage.do(tmp_path / "c")
        try:
            read_damaged(shop, crawl, tmp_path / "c")
            find_and_repair(shop, directory, damage)
            written = copied(shop.root, tmp_path / "c")
            damage.do(tmp_path / "c")
            write_damaged(shop, written, damage)
        except Exception as error:
            failures.append(f"{damage}: {type(error).__name__}: {error}")
    assert failures == []


def test_a_file_and_its_copy_damaged(shop: Shop, tmp_path: Path) -> None:
    """Commands stop with one line; after a repair they go on, and nothing is fetched twice."""
    names = [state.name for state in shop.stages]
    for name in names:
        for file in ("PARSED", *(f"{part}/manifest.json" for part in PARTS)):
            if not (shop.root / "segments" / name / file).exists():
                continue
            directory = copied(shop.root, tmp_path / "c")
            damage = Damage(f"segments/{name}/{file}", "cut")
            damage.do(tmp_path / "c")
            Damage(f"{damage.path}.copy", "cut").do(tmp_path / "c")
            before = whole_files(directory, damage)
            for command in commands(shop.config, shop.seeds).values():
                with suppress(CrawlError):
                    command(directory)
            assert before <= whole_files(directory, damage), damage
            repair(directory, check(directory), shop.config, SystemClock())
            assert check(directory, deep=True).faults == [], damage
            assert before <= whole_files(directory, damage), damage
            for step in (*["fetch"] * len(names) * 2, *["parse"] * len(names) * 2, "updatedb"):
                with suppress(NothingToDo):
                    commands(shop.config, shop.seeds)[step](directory)
            assert shop.records <= set(records_of(directory)), damage
            assert {state.stage for state in segment_states(directory)} == {Stage.UPDATED}, damage


def read_damaged(shop: Shop, crawl: Caller, place: Path) -> None:
    """The same answer as ever, or one line."""
    for command, *options in shop.readers:
        key = " ".join((command, *options))
        if key not in shop.answers:
            shop.answers[key] = crawl(command, shop.root, *options)
            assert shop.answers[key].code == 0
        answer, expected = crawl(command, place, *options), shop.answers[key]
        if answer.code == 0:
            if command != "explain":  # which prints the time
                assert answer.out.replace(str(place), str(shop.root)) == expected.out, key
        else:
            assert answer.code == 2, (key, answer)
            assert answer.err.startswith("crawl: "), (key, answer)
            assert answer.err.count("\n") == 1, (key, answer)


def find_and_repair(shop: Shop, directory: CrawlDir, damage: Damage) -> None:
    found = check(directory, deep=True)
    if not found.faults:
        assert is_harmless(damage), "a check finds it"
        return
    before = whole_files(directory, damage)
    repair(directory, found, shop.config, SystemClock())
    assert check(directory, deep=True).faults == []
    assert before <= whole_files(directory, damage), "nothing that was whole is deleted"
    lost = "crawldb/snapshots" in damage.path and damage.path.endswith(".parquet")
    if not lost:
        assert set(records_of(directory)) == shop.records
    if not damage.path.endswith(".parquet") and "/chunks/" not in damage.path:
        assert segment_states(directory) == shop.stages, "what has a copy costs nothing"
    assert records_of(directory).keys() <= shop.records


def is_harmless(damage: Damage) -> bool:
    """Whether it changes no state: also marks of a complete fetch, and its end, which the next
    run writes again; and a lost report, since nothing says that there was one."""
    return any(part in damage.path for part in (*NO_STATE, "/chunks/"))


def write_damaged(shop: Shop, directory: CrawlDir, damage: Damage) -> None:
    before = whole_files(directory, damage)
    for command in commands(shop.config, shop.seeds).values():
        try:
            command(directory)
        except CrawlError as error:
            assert "\n" not in str(error)
    assert before <= whole_files(directory, damage), "nothing that was whole is deleted"
    found = check(directory, deep=True)
    if found.faults:
        repair(directory, found, shop.config, SystemClock())
    assert check(directory, deep=True).faults == []
    assert records_of(directory)


def whole_files(directory: CrawlDir, damage: Damage) -> set[str]:
    """The names of table files, wherever they are; those of an attempt bear its number, so
    that no two have the same."""
    return {
        path.rpartition("/")[2]
        for path in directory.folder.files()
        if path.endswith(".parquet") and damage.path.rpartition("/")[2] not in path
    }
