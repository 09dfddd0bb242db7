"""Whether a crawl's links have to do with one site: asked of the segments that are taken in, and
remembered with the snapshot that is made of them, so that each is asked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from crawl.rules.sites import SITES, UNKNOWN_SITES, Sites
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import PARSE_DATA, Segment
from crawl.tables.link_sites import find_sites, sites_tasks
from crawl.tables.runner import Runner

_RULES = "rules"


def find_link_sites(
    runner: Runner, base: Snapshot | None, segments: Iterable[Segment], step: str
) -> Sites:
    """The sites of the links that the base has, and of those that the segments bring. What is
    several stays so, and the segments need not be read."""
    sites = known_sites(base)
    if sites.are_several:
        return sites
    files = [
        (segment.part_folder(PARSE_DATA), file.path)
        for segment in segments
        for file in segment.require(PARSE_DATA).files
        if file.rows
    ]
    for file_sites in runner.run(find_sites, sites_tasks(files), f"{step}: sites"):
        sites |= file_sites
    return sites


def known_sites(base: Snapshot | None) -> Sites:
    """The sites that a snapshot's links have to do with."""
    if base is None:
        return Sites()
    note = base.notes.get(SITES)
    return UNKNOWN_SITES if note is None else Sites.from_note(note)


def sites_note(sites: Sites, rules: Mapping[str, bool]) -> dict[str, Any]:
    """The note of a snapshot that was made by these rules, of which those alone are told that
    `auto` has decided."""
    return {SITES: {**sites.as_note(), _RULES: dict(rules)}}


def rules_before(base: Snapshot | None) -> Mapping[str, bool]:
    """The rules by which `auto` has decided for a snapshot."""
    note: Mapping[str, Any] = {} if base is None else base.notes.get(SITES) or {}
    rules: Mapping[str, bool] = note.get(_RULES, {})
    return rules


def is_outgrown(base: Snapshot | None, decision: Mapping[str, bool]) -> bool:
    """Whether `auto` has decided for a rule that it decided against for a snapshot."""
    before = rules_before(base)
    return any(value and before.get(name) is False for name, value in decision.items())


def carried_note(base: Snapshot | None) -> dict[str, Any]:
    """What a new snapshot of the same links says of them."""
    return {} if base is None or SITES not in base.notes else {SITES: base.notes[SITES]}
