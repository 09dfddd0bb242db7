"""What a terminal shows of rounds while they run: lines about their steps, and a table a round."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.cli.output import print_table, remark
from crawl.rounds.events import AfterDone, RoundClosed, RoundStep, StepRemark, Waiting
from crawl.rounds.shown import round_rows


@dataclass(slots=True)
class RoundsView:
    """Prints the events of a command that runs rounds."""

    command: str
    quiet: bool
    has_tables: bool = True
    """False where the answer is JSON."""
    has_printed: bool = False
    """Whether there is a table already."""

    def on_event(self, event: object) -> None:
        match event:
            case StepRemark(step, text):
                remark(f"{step.name}: {text}")
            case RoundClosed(result) if self.has_tables:
                title = f"round {result.number}"
                print_table(title, ["what", title], round_rows(result), first=not self.has_printed)
                self.has_printed = True
            case RoundStep(step, segments) if not self.quiet:
                remark(f"{self.command}: " + " ".join([step.name, *segments]))
            case Waiting(seconds) if not self.quiet:
                pause = _duration(seconds)
                remark(f"{self.command}: nothing to fetch now; looking again in {pause}")
            case AfterDone(result) if not self.quiet:
                ending = f"done in {_duration(result.seconds)}" if result.is_done else result.reason
                remark(f"{self.command}: {result.step}: {ending}")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
