"""A round as data: its steps, their options, what comes next, and what ends the loop.

`crawl run` follows it in one Spark session, a scheduler with a command for each step. It knows
neither Spark nor the disk, so that it can be imported anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TypedDict

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError

UNBOUNDED = -1
STOP_FILE = ".STOP"
"""A file of this name in a crawl's folder ends the loop after the step under way."""


class Stage(IntEnum):
    """How far a segment is; a higher one is nearer to the end of its round."""

    GENERATED = 0
    FETCHING = 1
    """Begun and not finished: the fetch was interrupted, or died."""
    FETCHED = 2
    PARSED = 3
    UPDATED = 4
    """The CrawlDb has taken in what the segment brought: its round is closed."""


@dataclass(frozen=True, slots=True)
class SegmentState:
    """One segment as it was found."""

    name: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class Step:
    """One phase of a round; its name is the command's."""

    name: str
    about: str
    arguments: tuple[str, ...] = ()
    """What the command takes beside a crawl's folder and segments."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of the command and their values."""
    settings: tuple[tuple[str, str], ...] = ()
    """Properties that the step sets, and their values."""
    takes: frozenset[Stage] = frozenset()
    """The stages of a segment that the step is for; empty where it needs no segment."""
    leads_to: Stage | None = None
    """The stage of a segment after it."""

    def command_line(self, crawl_dir: str, segments: Iterable[str] = ()) -> list[str]:
        """The command line, without the program: `fetch DIR SEGMENT -D …`."""
        words = [self.name, crawl_dir, *segments, *self.arguments]
        for name, value in self.options:
            words += [name, value]
        for name, value in self.settings:
            words += ["-D", f"{name}={value}"]
        return words


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """What shapes a round; the figures are those of Nutch's `bin/crawl`."""

    top_n: int = 50_000
    num_fetchers: int | None = None
    """None: as many as the cluster has cores, which only a running session knows."""
    threads: int = 50
    time_limit_min: float = 180
    """Of a fetch; negative for none."""
    parses_in_fetch: bool = False
    add_days: float = 0.0
    """URLs are selected as if it were so many days later, each once in a run."""


@dataclass(frozen=True, slots=True)
class Round:
    """The four steps, each for the stages that the one before leads to."""

    generate: Step
    fetch: Step
    parse: Step
    updatedb: Step

    @property
    def steps(self) -> tuple[Step, ...]:
        """What one round does, in order: without a parse where the fetch parses."""
        parsing = () if self.fetch.leads_to in self.updatedb.takes else (self.parse,)
        return (self.generate, self.fetch, *parsing, self.updatedb)


def build_round(options: RoundOptions) -> Round:
    """The round with these options."""
    selecting: list[tuple[str, object]] = [("--top-n", options.top_n)]
    if options.num_fetchers is not None:
        selecting.append(("--num-fetchers", options.num_fetchers))
    if options.add_days:
        selecting.append(("--add-days", f"{options.add_days:g}"))
    return Round(
        Step(
            "generate",
            "select what is due",
            options=tuple((name, str(value)) for name, value in selecting),
            leads_to=Stage.GENERATED,
        ),
        Step(
            "fetch",
            "fetch and parse it" if options.parses_in_fetch else "fetch it",
            settings=(
                ("fetcher.threads.fetch", str(options.threads)),
                ("fetcher.timelimit.mins", f"{options.time_limit_min:g}"),
            ),
            takes=frozenset((Stage.GENERATED, Stage.FETCHING)),
            leads_to=Stage.PARSED if options.parses_in_fetch else Stage.FETCHED,
        ),
        Step(
            "parse",
            "find text, data and links",
            takes=frozenset((Stage.FETCHED,)),
            leads_to=Stage.PARSED,
        ),
        Step(
            "updatedb",
            "take it into the CrawlDb",
            takes=frozenset((Stage.PARSED,)),
            leads_to=Stage.UPDATED,
        ),
    )


def inject_step(seeds: Iterable[str]) -> Step:
    """What comes before the first round: `inject DIR SEEDS…`."""
    return Step("inject", "put seeds into the CrawlDb", tuple(seeds))


AFTER_ROUNDS = (
    Step("invertlinks", "take links into the LinkDb, for the anchors of documents"),
    Step("webgraph", "take links into the link graph"),
    Step("linkrank", "rank its pages"),
    Step("hostgraph", "make and rank the graph of its hosts"),
    Step("scoreupdater", "make the ranks the CrawlDb's scores, which decide who survives"),
    Step("dedup", "mark duplicates"),
    Step("updatehostdb", "count what each host is like, duplicates among it, for generate"),
    Step("index", "make documents of new pages"),
    Step("clean", "delete the documents of pages that are gone or duplicates"),
)
"""What may follow the rounds, each after what it builds on."""
_AFTER = {step.name: step for step in AFTER_ROUNDS}


def after_steps(names: Iterable[str]) -> tuple[Step, ...]:
    """The steps of these names, in the order in which they build on each other, whatever that of
    the names is; UsageError where one is none of them. A text may have several, with commas."""
    asked = {name.strip() for text in names for name in text.split(",") if name.strip()}
    for name in sorted(asked - _AFTER.keys()):
        choices = ", ".join(_AFTER)
        raise UsageError(
            f"--then {name}: no step that can follow the rounds{did_you_mean(name, _AFTER)};"
            f" they are {choices}"
        )
    return tuple(step for step in AFTER_ROUNDS if step.name in asked)


@dataclass(frozen=True, slots=True)
class NextStep:
    """What is to be done next, and to which segments."""

    step: Step
    segments: tuple[str, ...] = ()


def open_segments(segments: Iterable[SegmentState]) -> list[SegmentState]:
    """Those whose round is not closed."""
    return [segment for segment in segments if segment.stage < Stage.UPDATED]


def next_step(segments: Iterable[SegmentState], a_round: Round) -> NextStep:
    """What comes next for a crawl with these segments, oldest first.

    Whatever was begun is finished before anything new is selected: generate would take the
    same URLs once more. All that is parsed is taken into the CrawlDb by one update.
    """
    unfinished = open_segments(segments)
    for step in (a_round.fetch, a_round.parse):
        for segment in unfinished:
            if segment.stage in step.takes:
                return NextStep(step, (segment.name,))
    if unfinished:
        return NextStep(a_round.updatedb, tuple(segment.name for segment in unfinished))
    return NextStep(a_round.generate)


@dataclass(frozen=True, slots=True)
class NextSteps:
    """What can be done at the same time: a fetch, and what lies before and behind it."""

    fetch: NextStep | None
    beside: NextStep | None


def next_steps(
    segments: Iterable[SegmentState], a_round: Round, fetching: str | None = None
) -> NextSteps:
    """What two lanes do for a crawl with these segments, oldest first. One fetches list after list,
    never two at once. The other closes the rounds of lists that were fetched, and makes one list
    ahead; it leaves the segment that is being fetched alone."""
    unfinished = open_segments(segments)
    lists = [segment.name for segment in unfinished if segment.stage in a_round.fetch.takes]
    fetch = NextStep(a_round.fetch, (lists[0],)) if lists else None
    others = [segment for segment in unfinished if segment.name != fetching]
    for segment in others:
        if segment.stage in a_round.parse.takes:
            return NextSteps(fetch, NextStep(a_round.parse, (segment.name,)))
    parsed = tuple(segment.name for segment in others if segment.stage in a_round.updatedb.takes)
    if parsed:
        return NextSteps(fetch, NextStep(a_round.updatedb, parsed))
    is_ahead = any(segment.stage in a_round.fetch.takes for segment in others)
    return NextSteps(fetch, None if is_ahead else NextStep(a_round.generate))


class StopReason(StrEnum):
    """Why there is no further step."""

    ROUNDS_DONE = "as many rounds as asked for are done"
    NOTHING_DUE = "nothing is due"
    NOTHING_FETCHED = "what is due cannot be fetched now"
    """Not a URL of a whole round: its servers let nobody in, and the next round's are these."""
    STOP_FILE = f"there is a file {STOP_FILE}"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """How many rounds are run, and whether to wait for URLs that become due."""

    rounds: int = 1
    wait_s: float | None = None
    """How long to wait where nothing is due; None to end then."""
    then: tuple[Step, ...] = ()
    """What follows the rounds: at their end, or after each where the loop waits for more."""

    def ends(self, rounds: int) -> StopReason | None:
        """Whether so many rounds are enough; one in which nothing was due is one, too."""
        return StopReason.ROUNDS_DONE if 0 <= self.rounds <= rounds else None


class CrawlParams(TypedDict):
    """What is asked for when a scheduler's crawl is started; all of it goes to all rounds."""

    crawl_dir: str
    seeds: list[str]
    """Files or folders to inject first; none to go on with a crawl."""
    rounds: int
    top_n: int
    num_fetchers: int | None
    threads: int
    time_limit_min: float
    master: str | None
    """None: what the configuration or spark-submit says."""
    conf: str | None
    settings: list[str]
    """KEY=VALUE, as after -D."""
    after: list[str]
    """Which of `AFTER_ROUNDS` follow; their order is that one, whatever the list's."""


@dataclass(frozen=True, slots=True)
class Task:
    """One step of one round, as a node of a scheduler's graph; the names are known before
    anybody asks for a crawl, the command line is not."""

    step: str
    round: int = 0
    """From 1 on; 0 for what comes before the first, or after the last."""

    @property
    def is_after(self) -> bool:
        """Whether it follows the rounds."""
        return not self.round and self.step in _AFTER

    @property
    def group(self) -> str | None:
        if self.is_after:
            return "after_rounds"
        return f"round_{self.round}" if self.round else None

    @property
    def name(self) -> str:
        return f"{self.group}.{self.step}" if self.group else self.step

    @property
    def follows_skipped(self) -> bool:
        """Whether it is due also where what comes before it was skipped: the inject, of which
        there need not be any, or rounds that nobody asked for."""
        return self.is_after or (self.round == 1 and self.step == "generate")

    def skipped(self, params: CrawlParams) -> str | None:
        """Why it is not asked for, if so."""
        if self.is_after:
            return None if self.step in params["after"] else "it was not asked for"
        if not self.round:
            return None if params["seeds"] else "there are no seeds"
        rounds = params["rounds"]
        return f"{rounds} rounds were asked for" if self.round > rounds else None

    def command_line(self, params: CrawlParams) -> list[str]:
        """The command line, without the program. It can be given again and again."""
        words = self._step(params).command_line(params["crawl_dir"])
        if self.round or self.is_after:
            words.append("--if-due")
        if self.step == "fetch" and self.round < params["rounds"]:
            words.append("--more-rounds")
        for option, value in ("--master", params["master"]), ("--conf", params["conf"]):
            words += [option, value] if value else []
        for setting in params["settings"]:
            words += ["-D", setting]
        return words

    def _step(self, params: CrawlParams) -> Step:
        if self.is_after:
            return _AFTER[self.step]
        if not self.round:
            return inject_step(params["seeds"])
        options = RoundOptions(
            top_n=params["top_n"],
            num_fetchers=params["num_fetchers"],
            threads=params["threads"],
            time_limit_min=params["time_limit_min"],
        )
        (step,) = [step for step in build_round(options).steps if step.name == self.step]
        return step


def task_graph(rounds: int) -> list[Task]:
    """The tasks of a crawl of at most so many rounds and of what may follow them, each after the
    one before."""
    steps = build_round(RoundOptions()).steps
    return [
        Task(inject_step(()).name),
        *(Task(step.name, number) for number in range(1, rounds + 1) for step in steps),
        *(Task(step.name) for step in AFTER_ROUNDS),
    ]


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_wait(wait: str) -> float:
    """`90`, `90s`, `10m`, `2h` or `1d`; UsageError for anything else."""
    match = re.fullmatch(r"([0-9]+)([smhd]?)", wait.strip(), re.ASCII)
    if match is None:
        raise UsageError(f"{wait!r} is no time to wait: give a number with s, m, h or d, as 10m")
    return float(int(match[1]) * _SECONDS[match[2] or "s"])
