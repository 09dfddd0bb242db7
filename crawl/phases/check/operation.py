"""check: what is damaged, and the repair of it. One command, two operations."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.phases.check.options import CheckOptions, RepairOptions

if TYPE_CHECKING:
    from crawl.storage.checking import CheckResult

FAULTS_FOUND = 1


class FaultList(list[dict[str, str]]):
    """The faults that a check found, and what else it saw."""

    def __init__(
        self, checked: CheckResult, leftovers: list[dict[str, str]], advice: list[str]
    ) -> None:
        super().__init__(asdict(fault) for fault in checked.faults)
        self.files = checked.files
        self.rows = checked.rows
        self.leftovers = leftovers
        self.advice = advice
        """What is to be done about the files of index writers."""


class RepairList(list[str]):
    """What a repair did, a line each, and what there was before and is left."""

    def __init__(self, lines: list[str], before: FaultList, after: FaultList) -> None:
        super().__init__(lines)
        self.before = before
        self.after = after


def run_check(work: Work, options: CheckOptions) -> FaultList:
    from crawl.driver.prechecks import require_folder

    require_folder(work.directory)
    checked = _check(work, options.deep)
    return _fault_list(work, checked, _leftovers(work, checked))


def run_repair(work: Work, options: RepairOptions) -> RepairList:
    from crawl.driver.prechecks import require_folder
    from crawl.phases.check.run import repair_crawl

    directory = work.directory
    require_folder(directory)
    checked = _check(work, options.deep)
    leftovers = _leftovers(work, checked)
    before = _fault_list(work, checked, leftovers)
    if not (before or leftovers):
        return RepairList([], before, before)
    lines = repair_crawl(directory, checked, work.config, work.clock, steal_lock=options.steal_lock)
    return RepairList(lines, before, _fault_list(work, _check(work, options.deep), []))


def _check(work: Work, deep: bool) -> CheckResult:
    from crawl.phases.check.run import check_crawl
    from crawl.storage.checking import CheckProgress

    progress = CheckProgress()
    with work.showing("check", lambda: progress if progress.total else None):
        return check_crawl(work.directory, deep=deep, progress=progress)


def _leftovers(work: Work, checked: CheckResult) -> list[dict[str, str]]:
    """What killed commands left: copies and locks."""
    from crawl.phases.check.run import found_locks

    leftovers = [asdict(each) for each in checked.leftovers]
    for path, owner, dead in found_locks(work.directory, work.config, work.clock):
        if dead:
            leftovers.append({"path": path, "fault": f"{owner}: {dead}"})
        elif checked.faults or checked.leftovers:
            work.remark(f"somebody is writing here: {owner}")
    return leftovers


def _fault_list(work: Work, checked: CheckResult, leftovers: list[dict[str, str]]) -> FaultList:
    from crawl.phases.check.run import index_remarks

    return FaultList(checked, leftovers, index_remarks(work.directory, checked.faults))


def check_values(faults: FaultList, asked: Asked) -> dict[str, Any]:
    """The result of a check for programs, ready for JSON."""
    return {
        "files": faults.files,
        "rows": faults.rows,
        "faults": list(faults),
        "leftovers": faults.leftovers,
    }


def repair_values(repair: RepairList, asked: Asked) -> dict[str, Any]:
    """The result of a repair for programs, ready for JSON."""
    return {**check_values(repair.before, asked), "done": list(repair), "left": list(repair.after)}


def render_check(faults: FaultList, asked: Asked) -> View:
    """The damage, and what brings back an intact state."""
    mends = f"`crawl check {asked.address} --repair`"
    parts = _leftover_parts(
        faults, f"that is no damage: the next command that writes there mends it, or {mends}"
    )
    parts += _damage_parts(faults)
    if faults:
        some = f"{len(faults):,} faults in {_files_text(faults, asked)}"
        parts.append(Note(f"{some}; {mends} restores the newest intact state"))
    else:
        parts.append(Note(f"no damage in {_files_text(faults, asked)}"))
    return [*parts, *map(Note, faults.advice)]


def render_repair(repair: RepairList, asked: Asked) -> View:
    """The damage that there was, what was done, and what is left."""
    before, after = repair.before, repair.after
    parts = _leftover_parts(before, "mended what killed commands left")
    parts += [*_damage_parts(before), *map(Note, repair)]
    if not before:
        parts.append(Note(f"no damage in {_files_text(before, asked)}"))
    elif after:
        parts.append(Note(f"{len(after):,} faults remain: {after[0]['path']} …"))
    else:
        parts.append(Note(f"repaired; the {after.files:,} remaining files are intact"))
    return [*parts, *map(Note, after.advice)]


def _leftover_parts(faults: FaultList, remark: str) -> list[Part]:
    if not faults.leftovers:
        return []
    rows = [[each["path"], each["fault"]] for each in faults.leftovers]
    return [Table("left by killed commands", ["file", "what it is"], rows), Note(remark)]


def _damage_parts(faults: FaultList) -> list[Part]:
    rows = [[each["path"], each["fault"]] for each in faults]
    return [Table("damage", ["file", "problem"], rows)] if rows else []


def _files_text(faults: FaultList, asked: Asked) -> str:
    return f"{faults.files:,} files of {asked.address}"


OPERATIONS = (
    Operation(
        name="check",
        command_help="""
        Find damage in CRAWL_DIR: every pointer, manifest, mark and table file of the CrawlDb, the
        segments, LinkDb, link graph, HostDb and index, and the files of index writers. Exit code 0
        if all is intact, 1 if something is damaged. What a killed command left, such as its lock
        or a copy that it did not come to write, is told and is no damage.

        A table file is checked by its size, footer and row count; --deep reads all of it and
        verifies checksums and the order of rows. --repair deletes nothing: the CrawlDb goes back
        to the newest intact snapshot, a segment to its last intact step (lost pages are fetched
        again), and leftovers are moved to CRAWL_DIR/quarantine. Of a LinkDb, link graph, HostDb or
        index without an intact snapshot all is moved there, so that invertlinks, webgraph,
        updatehostdb or index can make it anew. Of index writers the lists of files are written
        anew, where an index was interrupted; the files themselves are not repaired: `crawl index
        CRAWL_DIR --rebuild` makes them anew. Its exit code is 0 if all is intact afterwards.
        """,
        examples=(
            "crawl check mycrawl",
            "crawl check mycrawl --deep --json",
            "crawl check mycrawl --deep --repair",
        ),
        result=list[dict[str, str]],
        run=run_check,
        render=render_check,
        values=check_values,
        code=lambda faults, asked: FAULTS_FOUND if faults else 0,
        has_progress=True,
        help="""
        What is damaged: every pointer, manifest, mark and file is looked at; --deep reads every
        page too. Nothing is changed; a repair mends.
        """,
        calls=("web.check()",),
    ),
    Operation(
        name="repair",
        command="check",
        result=list[str],
        run=run_repair,
        render=render_repair,
        values=repair_values,
        code=lambda repair, asked: FAULTS_FOUND if repair.after else 0,
        has_progress=True,
        help="""
        Goes back to the newest intact state; what is damaged goes to the folder `quarantine` of
        the crawl, and nothing is deleted. Says what was done, a line each.
        """,
        calls=("web.repair()",),
    ),
)
