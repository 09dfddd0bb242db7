"""What follows the rounds: in which order, when, and when not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.driver.derived import behind, read_facts
from crawl.errors import NoSnapshot, PluginError, UsageError
from crawl.operations.operation import Due
from crawl.phases.dedup import run as dedup
from crawl.phases.index import run as index
from crawl.rounds.after import check_after, operation_of, require_needed
from crawl.rounds.lanes import Beside
from crawl.rounds.options import RunOptions
from crawl.rounds.overlap import overlapping
from crawl.rounds.steps import (
    AFTER_ROUNDS,
    STOP_FILE,
    UNBOUNDED,
    LoopOptions,
    StopReason,
    after_steps,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.phases.indexed import committed_outputs
from tests.phases.made import DAY, NOW, datum, make_crawldb
from tests.phases.round_loops import Diary
from tests.phases.scripted_web import PLAYED, Scene
from tests.rounds.test_loop import FRONT, ROUND, Played

USUAL = ("invertlinks", "dedup", "index", "clean")
SETTINGS = {
    "index.writers": "jsonl",
    "linkdb.ignore.internal.links": False,
    "link.ignore.internal.host": False,
    "link.ignore.internal.domain": False,
}
EVERY = [step.name for step in AFTER_ROUNDS]


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    crawl = Played(tmp_path)
    crawl.config = crawl.config.with_values(SETTINGS)
    yield crawl
    del PLAYED[str(tmp_path)]


def then(*names: str, rounds: int = UNBOUNDED, wait_s: float | None = None) -> LoopOptions:
    return LoopOptions(rounds, wait_s, after_steps(names))


def test_their_order_is_that_in_which_they_build_on_each_other() -> None:
    assert [step.name for step in after_steps(["clean", "index", "dedup", "invertlinks"])] == [
        *USUAL
    ]
    assert [step.name for step in after_steps(reversed(EVERY))] == EVERY
    assert after_steps([]) == ()
    assert after_steps(["index, clean"]) == after_steps(["index", "clean"])


def test_a_name_that_is_none_of_them() -> None:
    with pytest.raises(UsageError, match=r"--then indx: .* \(did you mean 'index'\?\); they are"):
        RunOptions(then=("indx",)).loop()
    with pytest.raises(UsageError, match="they are invertlinks, webgraph, .*, index, clean$"):
        after_steps(["export"])


def test_what_a_step_builds_on_must_be_there_or_be_made_by_another(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()})
    config = Played(tmp_path).config.with_values(SETTINGS)
    for names, lacking in (
        (["linkrank"], "webgraph"),
        (["hostgraph"], "webgraph"),
        (["scoreupdater"], "linkrank"),
        (["webgraph", "scoreupdater"], "linkrank"),
        (["dedup", "clean"], "index"),
    ):
        with pytest.raises(NoSnapshot, match=rf"{names[-1]} needs what {lacking} makes: add it to"):
            require_needed(after_steps(names), directory)
    require_needed(after_steps(EVERY), directory)
    check_after(after_steps(EVERY), config)
    del PLAYED[str(tmp_path)]


def test_wrong_settings_of_a_step_are_told_before_anything_is_started(tmp_path: Path) -> None:
    config = Played(tmp_path).config.with_values({"index.writers": "jsnol"})
    with pytest.raises(PluginError, match="jsnol"):
        check_after(after_steps(["index"]), config)
    del PLAYED[str(tmp_path)]


def documents(played: Played) -> int:
    found = 0
    for path in committed_outputs(played.directory, "jsonl"):
        found += len(Path(path).read_text().splitlines())
    return found


@pytest.mark.slow
def test_from_seeds_to_an_index(played: Played) -> None:
    diary = Diary()
    result = played.run_rounds(then(*USUAL), seeded=True, diary=diary)
    assert diary.names == ["inject", *ROUND, *ROUND, "generate", *USUAL]
    assert result.ending is StopReason.NOTHING_DUE
    assert [(step.step, step.is_done) for step in result.after] == [(name, True) for name in USUAL]
    assert tuple(diary.after) == result.after
    assert result.after[1].counters["duplicates"] == 2, "three pages are the same"
    assert documents(played) == 2
    assert behind(read_facts(played.directory)) == []

    again = played.run_rounds(then(*USUAL))
    assert [(step.step, step.is_done) for step in again.after] == [(name, False) for name in USUAL]
    assert all(step.reason for step in again.after)


@pytest.mark.slow
def test_every_step_there_is(played: Played) -> None:
    result = played.run_rounds(then(*EVERY), seeded=True)
    assert [(step.step, step.is_done) for step in result.after] == [(name, True) for name in EVERY]
    assert behind(read_facts(played.directory)) == []
    played.clock.set(played.clock.now_ms() + 31 * DAY)
    PLAYED[str(played.seeds.parent)].pages[FRONT] = lambda now: Scene(text="changed")
    played.run_rounds(LoopOptions(UNBOUNDED))
    assert [each.step for each in behind(read_facts(played.directory))] == [
        *("invertlinks", "webgraph", "dedup", "updatehostdb", "index", "clean")
    ], "ranks follow the link graph, which is behind itself"
    played.run_rounds(then(*EVERY))
    assert behind(read_facts(played.directory)) == []


@pytest.mark.slow
def test_a_step_with_nothing_to_do_is_no_fault(played: Played) -> None:
    PLAYED[str(played.seeds.parent)].pages[FRONT] = lambda now: Scene(404)
    result = played.run_rounds(then(*EVERY), seeded=True)
    (lacking,) = [step for step in result.after if not step.is_done]
    assert lacking.step == "dedup"
    assert "no record has a signature" in lacking.reason


def test_what_builds_on_a_step_with_nothing_to_do_has_nothing_to_do_either(played: Played) -> None:
    make_crawldb(played.directory.address, {FRONT: datum(fetch_time=NOW + DAY)})
    diary = Diary()
    steps = ("webgraph", "linkrank", "hostgraph", "scoreupdater", "index", "clean")
    result = played.run_rounds(then(*steps), diary=diary)
    assert diary.names == ["generate", *steps]
    reasons = {step.step: step.reason for step in result.after if not step.is_done}
    assert tuple(reasons) == steps
    assert reasons["linkrank"] == "there is nothing yet that webgraph has made"
    assert reasons["clean"] == "there is nothing yet that index has made"


def _stops(directory: CrawlDir, run: Callable[..., Any]) -> Callable[..., Any]:
    def stopped(*arguments: Any) -> Any:
        directory.folder.write(STOP_FILE, b"")
        return run(*arguments)

    return stopped


@pytest.mark.slow
def test_nothing_follows_a_stop_and_the_same_command_goes_on(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(dedup, "run", _stops(played.directory, dedup.run))
        result = played.run_rounds(then(*USUAL), seeded=True)
    assert result.ending is StopReason.STOP_FILE
    assert [step.step for step in result.after] == ["invertlinks", "dedup"]
    played.directory.folder.delete(STOP_FILE)
    result = played.run_rounds(then(*USUAL))
    assert result.rounds == ()
    assert [step.step for step in result.after if step.is_done] == ["index", "clean"]
    assert documents(played) == 2

    signalled = False

    def interrupted() -> bool:
        return signalled

    class Signalled(Diary):
        def on_round(self, done: Any) -> None:
            nonlocal signalled
            signalled = True

    played.clock.set(played.clock.now_ms() + 31 * DAY)
    result = played.run_rounds(then(*USUAL), diary=Signalled(), interrupted=interrupted)
    assert (result.ending, result.after) == (StopReason.INTERRUPTED, ())


class _Dies(Exception):
    pass


@pytest.mark.slow
def test_a_death_between_two_steps_is_gone_on_from(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*arguments: Any) -> None:
        raise _Dies

    with monkeypatch.context() as patched:
        patched.setattr(index, "run", dies)
        with pytest.raises(_Dies):
            played.run_rounds(then(*USUAL), seeded=True)
    result = played.run_rounds(then(*USUAL))
    assert (result.ending, result.rounds) == (StopReason.NOTHING_DUE, ())
    assert [step.step for step in result.after if step.is_done] == ["index", "clean"]


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
def test_a_crawl_that_waits_is_followed_round_by_round(played: Played, overlap: bool) -> None:
    """It may have no end; and once more where nothing was due at first, for a death before."""

    class Ends(Diary):
        def on_wait(self, seconds: float) -> None:
            super().on_wait(seconds)
            if len(self.waited) == 2:
                played.directory.folder.write(STOP_FILE, b"")

    diary = Ends()
    beside = overlapping(Beside(InProcess())) if overlap else None
    played.run_rounds(then("invertlinks", wait_s=0.0), seeded=True, diary=diary, overlapping=beside)
    followed = [name for name in diary.names if name in ("updatedb", "invertlinks")]
    assert followed == ["updatedb", "invertlinks"] * 2
    played.directory.folder.delete(STOP_FILE)
    again = Ends()
    played.run_rounds(then("invertlinks", wait_s=0.0), diary=again)
    assert again.names == ["generate", "invertlinks", "generate"]
    assert [step.is_done for step in again.after] == [False]


def test_every_step_after_the_rounds_is_an_operation_that_needs_no_options() -> None:
    for step in AFTER_ROUNDS:
        operation = operation_of(step)
        assert operation.options(steal_lock=True).steal_lock
        assert operation.due is Due.IF_ANY
