"""run: whole rounds, or the plan of what they would do. One command, two operations."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from crawl.hints import command
from crawl.operations.interrupt import INTERRUPTED
from crawl.operations.operation import Asked, Operation
from crawl.operations.results import Interrupted
from crawl.operations.view import Note, Part, Table, View
from crawl.operations.work import Work
from crawl.rounds.options import PlanOptions, RunOptions
from crawl.rounds.results import PlannedStep, RunResult
from crawl.rounds.steps import STOP_FILE, RoundOptions, StopReason

if TYPE_CHECKING:
    from crawl.config import Config
    from crawl.storage.crawl_dir import CrawlDir
    from crawl.storage.folder import Folder

NOTHING_DONE = 1


def check(config: Config, options: RunOptions) -> None:
    from crawl.rounds.after import check_after
    from crawl.rounds.loop import check, round_options
    from crawl.rules.inject import require_urls

    require_urls(options.urls)
    check(config, round_options(config, options), options.files or options.urls)
    check_after(options.loop().then, config)


def run(work: Work, options: RunOptions) -> RunResult:
    from crawl.config.properties import CRAWL_ROUNDS_OVERLAP
    from crawl.driver.derived import behind, read_facts
    from crawl.driver.prechecks import require_unlocked
    from crawl.rounds.loop import round_options
    from crawl.rounds.on_spark import run_rounds
    from crawl.rounds.results import LoopResult
    from crawl.storage.seeds import seed_files

    _require_crawl(work.directory, options)
    check(work.config, options)
    directory, shape = work.directory, round_options(work.config, options)
    if directory.folder.exists(STOP_FILE):
        return RunResult(StopReason.STOP_FILE.name.lower(), (), is_started=False)
    directory.require_writable()
    for folder in _written_first(directory, shape, injects=bool(options.files or options.urls)):
        require_unlocked(folder, work.config, steal_lock=options.steal_lock)
    overlap = work.config[CRAWL_ROUNDS_OVERLAP] if options.overlap is None else options.overlap
    try:
        with seed_files(directory.folder, options.urls, options.files) as seeds:
            ended = run_rounds(
                work,
                shape,
                options.loop(),
                seeds=seeds,
                overlap=overlap,
                steal_lock=options.steal_lock,
            )
    except KeyboardInterrupt:
        ended = LoopResult(StopReason.INTERRUPTED, ())
    result = RunResult(
        ended.ending.name.lower(),
        ended.rounds,
        ended.hosts_waiting,
        ended.next_host_ms,
        after=ended.after,
        behind=tuple(behind(read_facts(directory))),
    )
    if ended.ending is StopReason.INTERRUPTED:
        raise Interrupted("interrupted", result)
    return result


def plan(work: Work, options: PlanOptions) -> list[PlannedStep]:
    from crawl.rounds.loop import round_options
    from crawl.rounds.plan import planned_steps
    from crawl.rounds.state import segment_states

    _require_crawl(work.directory, options)
    check(work.config, options)
    return planned_steps(
        work.directory.address,
        segment_states(work.directory),
        round_options(work.config, options),
        options.loop(),
        (*options.files, *options.urls),
    )


def _require_crawl(directory: CrawlDir, options: RunOptions) -> None:
    """Raises what is wrong with the crawl or the seeds, before anything is started."""
    from crawl.errors import NoSnapshot
    from crawl.rounds.after import require_needed
    from crawl.storage.seeds import plan_seeds

    if not (options.files or options.urls) and directory.crawldb.current() is None:
        how = command("run", directory.address, "--seeds SEEDS")
        raise NoSnapshot(f"{directory.address} has no CrawlDb yet: start it with `{how}`")
    require_needed(options.loop().then, directory)
    if options.files:
        plan_seeds(list(options.files))


def _written_first(directory: CrawlDir, shape: RoundOptions, *, injects: bool) -> list[Folder]:
    """The folders that the first steps will lock."""
    from crawl.rounds.state import segment_states
    from crawl.rounds.steps import build_round, next_step

    a_round = build_round(shape)
    due = next_step(segment_states(directory), a_round)
    folders = [directory.crawldb.folder] if injects else []
    if due.step in (a_round.fetch, a_round.parse):
        folders += [directory.segments.segment(name).folder for name in due.segments]
    return [*(folders or [directory.crawldb.folder]), directory.fetching_folder]


def values(result: RunResult, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {
        "ending": result.ending,
        "rounds": [asdict(each) for each in result.rounds],
        "hosts_waiting": result.hosts_waiting,
        "next_host_ms": result.next_host_ms,
        "after": [asdict(each) for each in result.after],
    }


def code(result: RunResult, asked: Asked) -> int:
    if result.ending == StopReason.INTERRUPTED.name.lower():
        return INTERRUPTED
    if not result.is_started:
        return NOTHING_DONE
    is_worked = bool(result.rounds) or any(step.is_done for step in result.after)
    return 0 if is_worked or result.ending == StopReason.STOP_FILE.name.lower() else NOTHING_DONE


def render(result: RunResult, asked: Asked) -> View:
    """What people are shown at the end; each round has been shown when it ended."""
    from crawl.rounds.shown import behind_line, ending_line, limit_lines, total_rows

    address = asked.address
    if not result.is_started:
        return [Note(f"{address}/{STOP_FILE} exists: delete it and run the same command again")]
    parts: list[Part] = []
    if len(result.rounds) > 1:
        title = f"all {len(result.rounds)} rounds"
        parts.append(Table(title, ["what", title], total_rows(result.rounds)))
    parts += [Note(line) for line in limit_lines(result.rounds, asked.config)]
    if result.behind:
        parts.append(Note(behind_line(address, result.behind)))
    return [*parts, Note(ending_line(address, result))]


def render_plan(steps: list[PlannedStep], asked: Asked) -> View:
    """What people are shown."""
    rows = [
        [each.when, each.step, command(each.command[0], shlex.join(each.command[1:]))]
        for each in steps
    ]
    return [Table("plan", ["when", "step", "as if by"], rows)]


OPERATIONS = (
    Operation(
        name="run",
        run=run,
        render=render,
        values=values,
        code=code,
        uses_spark=True,
        has_notes_for_programs=True,
        help="""
        Crawl in rounds of generate, fetch, parse and updatedb, all in one Spark session; one round,
        unless told otherwise.

        A round that was interrupted, by whatever, is finished first: run the same command again. A
        file .STOP in CRAWL_DIR ends the crawl after the step under way; Ctrl-C ends it now,
        gracefully, with exit code 130. Exit code 1: nothing was due. Hosts that do not answer are
        left alone for longer each time (`crawl status`), and do not hold up the others.

        --then takes what the rounds brought into links, ranks, duplicates and the index, each step
        as its command does it without options, in the order in which they build on each other. A
        step that has nothing to do is passed over. Nothing follows an interruption or a .STOP: run
        the same command again.
        """,
        examples=(
            "crawl run mycrawl --seeds seeds.txt --rounds 3 -D http.agent.name=mybot",
            "crawl run mycrawl --seeds seeds.txt --until-empty"
            " --then invertlinks,dedup,index,clean",
            "crawl run mycrawl --until-empty --top-n 10000",
            "crawl run mycrawl --until-empty --overlap",
            "crawl run mycrawl --until-empty --add-days 7",
            "crawl run mycrawl --rounds -1 --wait 1h",
            "crawl run mycrawl --dry-run",
        ),
        calls=(
            "web.run(rounds=2).rounds[0].fetched",
            '[step.is_done for step in web.run(then=["dedup"]).after]',
        ),
    ),
    Operation(
        name="plan_rounds",
        command="run",
        run=plan,
        render=render_plan,
        values=lambda steps, asked: [asdict(each) for each in steps],
        help="What `run` would do with these options: every step in order, and the command that"
        " does the same. Nothing is done.",
        calls=("[each.command for each in web.plan_rounds(rounds=2)]",),
    ),
)
