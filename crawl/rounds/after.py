"""What follows the rounds of `crawl run --then`: links, ranks, duplicates, hosts and the index,
each as its command does it without options.

A step that has nothing to do is no fault. Whether it has is read from what the crawl's tables say
(derived.py), so that whoever is killed between two steps goes on with the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from crawl.clock import Clock
from crawl.config import Config
from crawl.driver.derived import is_up_to_date, read_facts
from crawl.errors import NoSnapshot, NothingToDo
from crawl.hints import command
from crawl.model.derived_tables import INDEX, WEBGRAPH, WEBGRAPH_SCORES
from crawl.rounds.results import AfterResult
from crawl.rounds.steps import Step
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import Runner


@dataclass(frozen=True, slots=True)
class AfterRun:
    """What every step is run with."""

    runner: Runner
    directory: CrawlDir
    config: Config
    clock: Clock
    steal_lock: bool = False


def run_after(step: Step, work: AfterRun) -> AfterResult:
    """Runs a step that follows the rounds, unless it has nothing to do."""
    began = work.clock.monotonic()
    try:
        if is_up_to_date(step.name, read_facts(work.directory)):
            raise NothingToDo("nothing has changed since it was last done")
        if _lacks(step.name, work.directory):  # as the step that makes it had nothing to do
            raise NothingToDo(f"there is nothing yet that {_NEEDS[step.name]} has made")
        done = _run_phase(step.name, work)
    except NothingToDo as nothing:
        return AfterResult(step.name, False, reason=str(nothing))
    remarks = (*getattr(done, "remarks", ()), done.took_over)
    return AfterResult(
        step.name,
        True,
        round(work.clock.monotonic() - began, 3),
        dict(done.report.counters),
        tuple(line for line in remarks if line),
    )


def check_after(steps: Iterable[Step], directory: CrawlDir, config: Config) -> None:
    """Raises what is wrong with the settings of a step, or that nobody makes what it builds on,
    before anything is started."""
    names = [step.name for step in steps]
    for name in names:
        check = _CHECKS.get(name)
        if check is not None:
            check(config)
        needed = _NEEDS.get(name)
        if needed is not None and needed not in names and _lacks(name, directory, names):
            raise NoSnapshot(
                f"{directory.address}: {name} needs what {needed} makes: add it to --then, or run"
                f" `{command(needed, directory.address)}` before"
            )


_NEEDS = {
    "linkrank": "webgraph",
    "hostgraph": "webgraph",
    "scoreupdater": "linkrank",
    "clean": "index",
}
"""Which step makes what another works on."""


def _lacks(name: str, directory: CrawlDir, names: Iterable[str] = ()) -> bool:
    """Whether what a step works on is not there, or will not be after the others of these."""
    if name not in _NEEDS:
        return False
    if name == "clean":
        return directory.dataset(INDEX).current() is None
    graph = directory.dataset(WEBGRAPH).current()
    if name != "scoreupdater":
        return graph is None
    # scores are those of one state of the link graph
    return graph is None or WEBGRAPH_SCORES.name not in graph.attached or "webgraph" in names


_OPTIONS = {
    "invertlinks": "InvertLinksOptions",
    "webgraph": "WebGraphOptions",
    "linkrank": "LinkRankOptions",
    "hostgraph": "HostGraphOptions",
    "scoreupdater": "ScoreUpdaterOptions",
    "dedup": "DedupOptions",
    "updatehostdb": "UpdateHostDbOptions",
    "index": "IndexOptions",
    "clean": "CleanOptions",
}
"""Of each phase, by the name of its module, the class of its options."""


def _run_phase(name: str, work: AfterRun) -> Any:
    """Runs a phase as its command does without options; it is imported when it is asked for."""
    phase = import_module(f"crawl.phases.{name}.run")
    options = getattr(phase, _OPTIONS[name])(steal_lock=work.steal_lock)
    return phase.run(work.runner, work.directory, work.config, options, work.clock)


def _check_invertlinks(config: Config) -> None:
    from crawl.phases.invertlinks import run as invertlinks
    from crawl.phases.invertlinks.options import InvertLinksOptions

    invertlinks.check(config, InvertLinksOptions())


def _check_webgraph(config: Config) -> None:
    from crawl.phases.webgraph import run as webgraph

    webgraph.check(config, webgraph.WebGraphOptions())


def _check_linkrank(config: Config) -> None:
    from crawl.phases.linkrank import run as linkrank

    linkrank.kernel_of(config, linkrank.LinkRankOptions())


def _check_index(config: Config) -> None:
    from crawl.phases.index import run as index

    index.check(config)


def _check_clean(config: Config) -> None:
    from crawl.phases.clean import run as clean

    clean.check(config)


_CHECKS: dict[str, Callable[[Config], None]] = {
    "invertlinks": _check_invertlinks,
    "webgraph": _check_webgraph,
    "linkrank": _check_linkrank,
    "index": _check_index,
    "clean": _check_clean,
}
