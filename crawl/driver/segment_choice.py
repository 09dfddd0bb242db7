"""Which segments a phase takes in: those that were named, or every one that it does not have yet.

The phases that read segments differ in what they need of one and in their words for it; the
order of the questions is the same for all of them, and stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from crawl.errors import NothingToDo, UsageError
from crawl.hints import command
from crawl.model.table import Table
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, PARSE, PARSE_DATA, Segment, segment_name


@dataclass(slots=True)
class ChosenSegments:
    """The segments to take in, oldest first, and lines to tell about others."""

    segments: list[Segment] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    """The names of those that were taken in before."""
    remarks: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(segment.name for segment in self.segments)


@dataclass(frozen=True, slots=True)
class SegmentRule:
    """What a phase needs of a segment, and how it speaks of that."""

    lacks: Callable[[Segment], str]
    """Why there is nothing in the segment that could be taken in; empty where there is."""
    unready: Callable[[Segment], str]
    """Why it should not be taken in yet; empty where it should."""
    destination: str
    """Where it is taken in: "the LinkDb"."""
    verb: str
    """"invert": for "nothing to invert"."""
    third_person: str
    """"inverts": for "--again inverts it all the same"."""
    participle: str
    """"inverted": for "inverted all the same"."""
    ready: str = "parsed"
    """What a segment must be: for "every segment that was parsed"."""
    can_repeat: bool = True
    """Whether --again takes in what should not be, or was already."""


def choose_segments(
    crawl_dir: CrawlDir,
    names: Iterable[str],
    inside: Mapping[str, int],
    rule: SegmentRule,
    *,
    again: bool = False,
) -> ChosenSegments:
    """The named segments or, where none is named, every one that is ready and not inside yet.

    `inside` maps the segments that are taken in already to the snapshot since which they are.
    Raises UsageError where a named one cannot be meant. Without names nothing may be left to
    choose: `require_some` is for phases that have nothing to do then.
    """
    named = sorted({segment_name(name) for name in names})
    choice = ChosenSegments()
    for name in named:
        segment = crawl_dir.segments.segment(name)
        if lack := rule.lacks(segment):
            raise UsageError(lack)
        fault = _already(name, inside, rule) or rule.unready(segment)
        if fault and not (again and rule.can_repeat):
            hint = f"; --again {rule.third_person} it all the same" if rule.can_repeat else ""
            raise UsageError(f"{fault}{hint}")
        if fault:
            choice.remarks.append(f"{fault}; {rule.participle} all the same")
        if name in inside:
            choice.again.append(name)
        choice.segments.append(segment)
    if named:
        return choice
    for segment in crawl_dir.segments.generated():
        lack = rule.lacks(segment)
        if segment.name in inside or (lack and not segment.is_done(FETCH)):
            continue
        fault = lack or rule.unready(segment)
        if fault:
            choice.remarks.append(f"passed over: {fault}")
        else:
            choice.segments.append(segment)
    return choice


def choose_new(
    crawl_dir: CrawlDir, table: Table, names: Iterable[str], rule: SegmentRule, *, again: bool
) -> ChosenSegments:
    """The named segments, or every one that is ready and not in a table yet; raises what
    `choose_segments` and `require_some` do."""
    snapshot = crawl_dir.dataset(table).current()
    inside = snapshot.applied if snapshot else {}
    return require_some(
        choose_segments(crawl_dir, names, inside, rule, again=again), crawl_dir, rule
    )


def require_some(choice: ChosenSegments, crawl_dir: CrawlDir, rule: SegmentRule) -> ChosenSegments:
    """The same; raises NothingToDo, with the reasons, where no segment is left."""
    if not choice.segments:
        why = choice.remarks or [
            f"every segment that was {rule.ready} is in {rule.destination} already"
        ]
        raise NothingToDo(f"{crawl_dir.address}: nothing to {rule.verb} ({'; '.join(why)})")
    return choice


def _already(name: str, inside: Mapping[str, int], rule: SegmentRule) -> str:
    if name not in inside:
        return ""
    return f"{name} is in {rule.destination} already, since snapshot {inside[name]}"


def no_fetch(segment: Segment, purpose: str) -> str:
    """Why a segment that was never fetched gives nothing; empty where it was."""
    if segment.is_done(FETCH):
        return ""
    return f"{segment.folder.address} has no finished fetch: there is nothing to {purpose}"


def not_parsed(crawl_dir: CrawlDir, segment: Segment) -> str:
    """Why a segment without a parse has no links and no text; empty where it has one."""
    if segment.is_done(PARSE_DATA):
        return ""
    hint = command("parse", crawl_dir.address, segment.name)
    return f"{segment.folder.address} is not parsed: `{hint}` finds its links and its text"


def interrupted(crawl_dir: CrawlDir, segment: Segment, *parts: str) -> str:
    """Which work on the segment is not at its end; empty where all of it is, or has not begun."""
    for part in parts:
        manifest = segment.manifest(part)
        if manifest is not None and not manifest.complete:
            phase = "parse" if part in (PARSE, PARSE_DATA) else "fetch"
            go_on = f"`{command(phase, crawl_dir.address, segment.name)}` goes on with it"
            return f"the {phase} of {segment.name} was interrupted ({go_on})"
    return ""
