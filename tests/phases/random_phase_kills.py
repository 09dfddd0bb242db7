"""Single commands killed at random: each of `every_phase.py` begins with what those before it
left, dies once or a few times, is run again, and must come to what an undisturbed run comes to.

Between its lives others may come by: `check --repair`, or `gc`. All dice of a case are thrown by
its seed, which also says what command it is.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.phases.crawl_outcome import Rows, differences, outcome
from tests.phases.every_phase import CRAWL, STAGES, EveryPhase, Stage, run_stage, run_words
from tests.phases.kill_tally import Tally
from tests.phases.killed import run_killed, run_killed_after, writes_in_order

WRITE, MOMENT = "write", "moment"
_MAX_LIVES = 3
_VISITS = ("", "", "check --repair", "gc")
"""Commands that may come by between two lives."""


@dataclass
class PhaseKills:
    """Kills stages; remembers what they come to without."""

    phases: EveryPhase
    folder: Path
    _writes: dict[str, int] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _outcomes: dict[str, dict[str, Rows]] = field(default_factory=dict)

    def kill(self, tally: Tally, kills: int, seed: int) -> None:
        """Cases of successive seeds, until there were so many kills."""
        wanted = tally.deaths + kills
        while tally.deaths < wanted:
            self.case(tally, seed, wanted - tally.deaths)
            seed += 1

    def case(self, tally: Tally, seed: int, most: int) -> None:
        """The case of a seed, with so many kills at most."""
        chance = random.Random(seed)
        stage = STAGES[seed % len(STAGES)]
        root = self.phases.begin(stage, self.folder / "tried")
        story: list[str] = []
        for _ in range(min(most, chance.randint(1, _MAX_LIVES))):
            way = chance.choice((WRITE, MOMENT))
            if not self._killed(stage, root, way, chance, story):
                break
            tally.kills[stage.name, way] += 1
            visit = chance.choice(_VISITS)
            if visit:
                story.append(visit)
                self._run(visit, root)
        where = f"seed {seed}, {stage.name} ({'; '.join(story)})"
        code, text = run_words(self.phases.words(stage, root))
        if code not in stage.again:
            tally.damaged.append(f"{where}: exit code {code}: {text.strip()[-300:]}")
        self._compare(tally, stage, root, where)
        if self._run("check --deep", root)[0] != 0:
            self._run(stage.mender, root)
            code, text = self._run("check --deep", root)
            if code != 0:
                tally.damaged.append(f"{where}: {text.strip()[-300:]}")
        tally.phases += 1

    def _killed(
        self, stage: Stage, root: Path, way: str, chance: random.Random, story: list[str]
    ) -> bool:
        words = self.phases.words(stage, root)
        if way == WRITE:
            at = chance.randint(1, self._writes_of(stage))
            story.append(f"write {at}")
            return run_killed(run_words, words, at=at)
        seconds = chance.uniform(0.0, self._seconds_of(stage))
        story.append(f"after {seconds:.3f} s")
        return run_killed_after(run_words, words, seconds=seconds)

    def _run(self, command: str, root: Path) -> tuple[int, str]:
        name, *options = command.split()
        return run_words(self.phases.filled(" ".join((name, str(root / CRAWL), *options)), root))

    def _compare(self, tally: Tally, stage: Stage, root: Path, where: str) -> None:
        if stage.name not in self._outcomes:
            self._outcomes[stage.name] = outcome(self.phases.after(stage))
        found = differences(self._outcomes[stage.name], outcome(root))
        tally.lost += [f"{where}: {line}" for line in found.lost]
        tally.doubled += [f"{where}: {line}" for line in found.doubled]
        tally.stale += [f"{where}: {line}" for line in found.stale]

    def _writes_of(self, stage: Stage) -> int:
        if stage.name not in self._writes:
            self._measure(stage)
        return self._writes[stage.name]

    def _seconds_of(self, stage: Stage) -> float:
        if stage.name not in self._seconds:
            self._measure(stage)
        return self._seconds[stage.name]

    def _measure(self, stage: Stage) -> None:
        root = self.phases.begin(stage, self.folder / "whole")
        began = time.monotonic()
        writes = writes_in_order(run_stage, self.phases.words(stage, root), stage.first)
        self._seconds[stage.name] = time.monotonic() - began
        self._writes[stage.name] = len(writes)
