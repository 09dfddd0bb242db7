"""What follows the rounds of `crawl run --then`: links, ranks, duplicates, hosts and the index,
each as its operation does it without options.

A step that has nothing to do is no fault. Whether it has is read from what the crawl's tables say
(crawl/driver/derived.py), so that whoever is killed between two steps goes on with the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crawl.config import Config
from crawl.driver.derived import is_up_to_date, read_facts
from crawl.errors import NoSnapshot, NothingToDo
from crawl.hints import command
from crawl.model.derived_tables import INDEX, WEBGRAPH, WEBGRAPH_SCORES
from crawl.operations.operation import Operation
from crawl.operations.registry import operations_of
from crawl.operations.results import PhaseResult
from crawl.operations.work import Work
from crawl.rounds.results import AfterResult
from crawl.rounds.steps import Step
from crawl.storage.crawl_dir import CrawlDir


def run_after(step: Step, work: Work, *, steal_lock: bool = False) -> AfterResult:
    """Runs a step that follows the rounds, unless it has nothing to do."""
    began = work.clock.monotonic()
    operation = operation_of(step)
    try:
        if is_up_to_date(step.name, read_facts(work.directory)):
            raise NothingToDo("nothing has changed since it was last done")
        if _lacks(step.name, work.directory):  # as the step that makes it had nothing to do
            raise NothingToDo(f"there is nothing yet that {_NEEDS[step.name]} has made")
        options = operation.options(steal_lock=steal_lock)
        result: PhaseResult = operation.run(replace(work, operation=step.name), options)
    except NothingToDo as nothing:
        return AfterResult(step.name, False, reason=str(nothing))
    return AfterResult(
        step.name,
        True,
        round(work.clock.monotonic() - began, 3),
        dict(result.counters),
        result.remarks,
    )


def operation_of(step: Step) -> Operation:
    """What a step does: the operation of its name."""
    (operation,) = [each for each in operations_of(step.name) if each.name == step.name]
    return operation


def check_after(steps: Iterable[Step], config: Config) -> None:
    """Raises what is wrong with the settings of a step, before anything is started."""
    for step in steps:
        operation = operation_of(step)
        if operation.check is not None:
            operation.check(config, operation.options())


def require_needed(steps: Iterable[Step], directory: CrawlDir) -> None:
    """Raises that nobody makes what a step builds on, before anything is started."""
    names = [step.name for step in steps]
    for name in names:
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
