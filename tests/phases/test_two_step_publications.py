"""Commands killed between two changes that belong together, by the table of
`two_step_publications.py`; and the table held against what commands write, and what the
documentation says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.storage.folder import Folder
from tests.phases.crawl_outcome import Rows, differences, outcome
from tests.phases.every_phase import STAGES, EveryPhase, Stage, every_phase, run_stage, run_words
from tests.phases.kill_tally import Tally
from tests.phases.killed import CUT_METHODS, run_killed, writes_in_order
from tests.phases.publication_steps import Publication, Step, moments_between, pairs_of, steps_of
from tests.phases.random_phase_kills import PhaseKills
from tests.phases.two_step_publications import PUBLICATIONS, documented_table, rows_for

pytestmark = [pytest.mark.slow(seconds=60), pytest.mark.exhaustive]

_PAGE = Path(__file__).parents[2] / "docs/pages/how-it-works/failure-model.md"
_READS = frozenset(
    (
        *("address", "child", "path", "exists", "is_local", "read", "open_read", "files", "names"),
        *("size", "count", "fence", "guarded", "read_anew"),
    )
)
_MADE_OF_THOSE = frozenset(("require_writable", "delete_files"))
_SWEEPS = frozenset(("drop_uploads", "remove_if_empty", "fence_open", "shut_out"))
"""Whose effect no reader sees: of leftovers, empty folders and the fences of locks."""
_BY_NAME = {stage.name: stage for stage in STAGES}


class _Killed:
    """The stages, each with the changes that it makes and what it comes to."""

    def __init__(self, phases: EveryPhase, folder: Path) -> None:
        self.phases = phases
        self.folder = folder
        self._steps: dict[str, list[Step]] = {}
        self._outcomes: dict[Path, dict[str, Rows]] = {}

    def steps(self, stage: Stage) -> list[Step]:
        if stage.name not in self._steps:
            root = self.phases.begin(stage, self.folder / "whole")
            writes = writes_in_order(run_stage, self.phases.words(stage, root), stage.first)
            self._steps[stage.name] = steps_of(writes, root)
        return self._steps[stage.name]

    def outcome(self, root: Path) -> dict[str, Rows]:
        """Of a folder that stays as it is."""
        if root not in self._outcomes:
            self._outcomes[root] = outcome(root)
        return self._outcomes[root]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Killed]:
    with every_phase(tmp_path_factory.mktemp("stages") / "all") as phases:
        yield _Killed(phases, tmp_path_factory.mktemp("killed"))


@pytest.mark.parametrize(
    ("row", "stage"),
    [
        pytest.param(row, _BY_NAME[name], id=f"{row.name} ({name})".replace("→", "to"))
        for row in PUBLICATIONS
        for name in row.stages
    ],
)
def test_killed_between_the_steps(killed: _Killed, row: Publication, stage: Stage) -> None:
    """Readers find each dataset as it was or as it is to be. The same command comes to what it
    comes to without a kill, at once or after `check --repair`; and no damage is left by then, or
    after the next command that writes."""
    phases = killed.phases
    before, after = (killed.outcome(of(stage)) for of in (phases.before, phases.after))
    moments = moments_between(killed.steps(stage), row)
    assert moments, f"{stage.name} does not make these steps"
    for moment in moments:
        root = phases.begin(stage, killed.folder / "tried")
        assert run_killed(run_stage, phases.words(stage, root), stage.first, at=moment), moment
        seen = outcome(root)
        for area in {*seen, *before, *after}:
            found = seen.get(area, {})
            states = [before.get(area, {}), after.get(area, {})]
            # a folder beside the crawl may also say that it is not whole
            states += [{}] if area.startswith("file ") else []
            assert found in states, (moment, area)
        wreck = killed.folder / "wreck"
        shutil.rmtree(wreck, ignore_errors=True)
        shutil.copytree(root, wreck)
        _assert_mended(killed, stage, root, "", str(moment))
        shutil.rmtree(root)
        shutil.move(wreck, root)
        _assert_mended(killed, stage, root, "check --repair", str(moment))


def _assert_mended(killed: _Killed, stage: Stage, root: Path, visit: str, moment: str) -> None:
    """Runs the stage's command again, perhaps after another one, and compares."""
    phases = killed.phases

    def run(command: str) -> tuple[int, str]:
        name, *options = command.split()
        return run_words(phases.filled(" ".join((name, f"{root}/crawl", *options)), root))

    if visit and (root / "crawl").exists():
        code, text = run(visit)
        assert code == 0, (moment, visit, text)
    code, text = run_words(phases.words(stage, root))
    assert code in stage.again, (moment, visit, text)
    found = differences(killed.outcome(phases.after(stage)), outcome(root))
    assert not found, (moment, visit, found.lines)
    if run("check --deep")[0] != 0 and not visit:
        run(stage.mender)
    code, text = run("check --deep")
    assert code == 0, (moment, visit, text)


def test_commands_killed_at_random(killed: _Killed, tmp_path: Path) -> None:
    """A few cases; `./scripts/bench/run kills` has as many as one likes."""
    tally = Tally()
    PhaseKills(killed.phases, tmp_path).kill(tally, kills=12, seed=20261118)
    assert not tally.faults
    assert tally.deaths == 12


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_pair_of_changes_is_in_the_table(killed: _Killed, stage: Stage) -> None:
    """Whoever publishes in a new way adds a row, and says what a kill in it does."""
    unknown = {pair for pair in pairs_of(killed.steps(stage)) if not rows_for(*pair)}
    assert not unknown, f"no row of PUBLICATIONS has these changes of `{stage.line}`: {unknown}"


def test_every_row_has_a_test() -> None:
    folder = Path(__file__).parent
    for row in PUBLICATIONS:
        file, _, name = row.test.partition("::")
        assert f"def {name}(" in (folder / file).read_text(), row.name
        assert row.stages or file != Path(__file__).name, row.name


def test_every_way_to_write_is_cut() -> None:
    """A method of Folder that changes something and is not known here could be no moment of a
    kill test."""
    public = {name for name in dir(Folder) if not name.startswith("_")}
    known = {*CUT_METHODS, *_READS, *_MADE_OF_THOSE, *_SWEEPS}
    assert public <= known, public - known


def test_the_documentation_has_the_table() -> None:
    assert documented_table() in _PAGE.read_text()
