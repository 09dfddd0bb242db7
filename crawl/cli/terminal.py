"""What a terminal shows of an operation: its events while it runs, and the view of its result."""

from __future__ import annotations

import sys

from crawl.cli.output import echo, echo_columns, echo_highlighted, print_table, remark
from crawl.operations.events import Notice, Progressed, Remark, StepBegan, StepEnded
from crawl.operations.view import Cells, Highlighted, Line, Note, Table, View
from crawl.rounds.events import AfterDone, RoundClosed, RoundStep, StepRemark, Waiting
from crawl.rounds.shown import round_rows
from crawl.telemetry import logs
from crawl.telemetry.progress import BarDisplay, LineDisplay, ProgressDisplay, display_on


class TerminalObserver:
    """Draws progress and prints remarks, on stderr; without progress where it is to be quiet."""

    def __init__(self, *, quiet: bool, command: str = "", has_tables: bool = True) -> None:
        self._quiet, self._command, self._has_tables = quiet, command, has_tables
        self.has_printed = False
        """Whether there is a table on stdout already."""
        has_bars = sys.stderr.isatty() and not logs.is_json()
        kind = BarDisplay if has_bars else LineDisplay
        self.progress_seconds: float | None = None if quiet else kind.poll_seconds
        self._displays: dict[str, ProgressDisplay] = {}

    def on_event(self, event: object) -> None:
        match event:
            case Remark(operation, text):
                remark(f"{operation}: {text}")
            case Notice(text):
                remark(text)
            case StepBegan(step):
                self._displays[step] = display_on(sys.stderr, step, lambda line: remark(line))
            case Progressed(step, view):
                self._displays[step].show(view)
            case StepEnded(step):
                if (display := self._displays.pop(step, None)) is not None:
                    display.close()
            case StepRemark(step, text):
                remark(f"{step.name}: {text}")
            case RoundClosed(result) if self._has_tables:
                title = f"round {result.number}"
                print_table(title, ["what", title], round_rows(result), first=not self.has_printed)
                self.has_printed = True
            case RoundStep(step, segments) if not self._quiet:
                remark(f"{self._command}: " + " ".join([step.name, *segments]))
            case Waiting(seconds) if not self._quiet:
                pause = _duration(seconds)
                remark(f"{self._command}: nothing to fetch now; looking again in {pause}")
            case AfterDone(result) if not self._quiet:
                ending = f"done in {_duration(result.seconds)}" if result.is_done else result.reason
                remark(f"{self._command}: {result.step}: {ending}")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def print_view(
    command: str, view: View, *, only_notes: bool = False, is_first: bool = True
) -> None:
    """Prints what there is to see. Where nothing stands above it, a table needs no empty line."""
    for part in view:
        if isinstance(part, Note):
            remark(part.text if part.is_continued else f"{command}: {part.text}")
            continue
        if only_notes:
            continue
        match part:
            case Table(title, columns, rows, is_note):
                print_table(title, columns, rows, first=is_first, err=is_note)
            case Line(text):
                echo(text)
            case Cells(cells):
                echo_columns(*cells)
            case Highlighted(text, highlights, lead):
                echo_highlighted(text, highlights, lead=lead)
        is_first = False
