"""`--if-due`: a phase as a scheduler's task, which is called again when in doubt.

Without it a phase that has nothing to do is a fault of whoever calls it. A scheduler calls
by a plan: it is to go on where the crawl stands, and to do nothing that was done before. Commands
that are no step of a round (`invertlinks`, `dedup` …) know themselves what is left to do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from crawl.cli.common.output import remark
from crawl.config import Config
from crawl.errors import NothingToDo
from crawl.rounds import NOTHING_MORE, due
from crawl.rounds.due import DueWork

if_due_option = click.option(
    "--if-due",
    is_flag=True,
    help="For schedulers: whatever was begun is finished before anything new, what is done"
    f" already is no fault; exit code {NOTHING_MORE} where nothing more is to be done.",
)

Command = TypeVar("Command", bound=Callable[..., Any])


def with_if_due(command: Command) -> Command:
    """Adds --if-due to a command that is no step of a round: nothing to do is no fault then."""

    @click.option(
        "--if-due", is_flag=True, help="For schedulers: where nothing is left to do, exit code 0."
    )
    @functools.wraps(command)
    def wrapped(*args: Any, if_due: bool, **kwargs: Any) -> Any:
        if not if_due:
            return command(*args, **kwargs)
        try:
            return command(*args, **kwargs)
        except NothingToDo as error:
            name = click.get_current_context().info_name or ""
            remark(f"{name}: {error}")
            return 0

    return wrapped  # type: ignore[return-value]


def find_due_work(phase: str, crawl_dir: str, config: Config, named: Iterable[str] = ()) -> DueWork:
    """The work of a phase in the crawl as it is now; prints the reason where there is none."""
    work = due.find_due_work(phase, crawl_dir, config, named)
    if work.code is not None:
        remark(f"{phase}: {work.reason}")
    return work
