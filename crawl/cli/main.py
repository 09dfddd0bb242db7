"""The command `crawl`: finds the command's file, and turns faults into one line.

click, because it parses, documents and completes command lines and lets a group load
its commands lazily: `crawl --help` imports none of them.

Exit codes: 0 done, 1 nothing to do, not found or (check) damage found, 2 wrong input,
configuration or storage, 3 locked by somebody else, 70 an internal error, 99 nothing more to
do (for schedulers, see due.py), 130 interrupted.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from crawl.cli.nutch_syntax import check_nutch_syntax
from crawl.cli.output import echo, remark
from crawl.did_you_mean import did_you_mean
from crawl.errors import CrawlError
from crawl.hints import program
from crawl.masking import masked_text
from crawl.operations.registry import commands, find_command
from crawl.printable import one_line
from crawl.telemetry import logs
from crawl.version import __version__

_log = logging.getLogger(__name__)

_WITHOUT_PANDAS = frozenset({"serve", "mcp"})
"""Commands that somebody waits for until they can be asked, and that hand no table to pandas."""
INTERNAL_FAULT = 70
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        listed = find_command(cmd_name)
        if listed is None:
            return None
        from crawl.cli.derived import command_of

        return command_of(listed)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and find_command(args[0]) is None:
            near = did_you_mean(args[0], commands())
            raise click.UsageError(f"no command {args[0]!r}{near}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(each.name, each.summary) for each in commands().values()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Run `crawl COMMAND --help` for a command's options and examples.",
)
@click.version_option(__version__, prog_name="crawl")
def crawl() -> None:
    """Nutria: crawl the web in rounds; each phase is a Spark job, all state is Parquet.

    \b
    A first crawl:
      crawl run mycrawl --seeds seeds.txt --rounds 3 -D http.agent.name=mybot

    \b
    The same by hand:
      crawl inject mycrawl seeds.txt                   add seeds to mycrawl/crawldb
      crawl generate mycrawl --top-n 1000              select what to fetch
      crawl fetch mycrawl -D http.agent.name=mybot     fetch it
      crawl parse mycrawl                              extract text and links
      crawl updatedb mycrawl                           merge it into the CrawlDb
      crawl readdb mycrawl --stats                     look at it
    """


def main(arguments: Sequence[str] | None = None, notice: str = "") -> None:
    """Runs a command line and exits; `notice` is said first."""
    try:
        _run(arguments, notice)
    finally:
        logs.use_text()


def main_of_job(file: str) -> None:
    """The command after which a job is called, as each was before jobs/nutria.py ran all."""
    name = Path(file).stem
    notice = f"jobs/{name}.py goes with the next version: jobs/nutria.py {name} is the same"
    main([name, *sys.argv[1:]], notice)


def _run(arguments: Sequence[str] | None, notice: str) -> None:
    logs.escape_text()
    if logs.json_requested(sys.argv[1:] if arguments is None else arguments):
        logs.use_json()  # errors of the command line are JSON too
    if notice:
        remark(notice)
    if arguments is None and sys.argv[1:2] and sys.argv[1] in _WITHOUT_PANDAS:
        _leave_pandas_out()
    try:
        check_nutch_syntax(sys.argv[1:] if arguments is None else arguments)
        code = crawl.main(
            args=None if arguments is None else list(arguments),
            prog_name=program(),
            standalone_mode=False,
        )
    except CrawlError as error:
        _fail(str(error), error.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _fail("interrupted", INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _fail(_usage_message(error), error.exit_code)
    except BrokenPipeError:
        # whoever read us has seen enough; do not complain when flushing either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        _fail(f"internal error: {type(error).__name__}: {error}", INTERNAL_FAULT, bug=True)
    sys.exit(code if isinstance(code, int) else 0)


def _leave_pandas_out() -> None:
    """For the rest of the process: so it is done where the command is the process."""
    from crawl.parsing.process.pandas_left_out import leave_pandas_out

    leave_pandas_out()


def _usage_message(error: click.ClickException) -> str:
    """What is wrong with a command line, and where to look."""
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption) and error.option_name == "--force":
        message = _meanings_of_force(error)
    message = message.replace("a valid integer range", "a whole number").replace(
        "a valid float range", "a number"
    )
    context = error.ctx if isinstance(error, click.UsageError) else None
    return message if context is None else f"{message}; see `{context.command_path} --help`"


_FORCED = {
    "--again": "takes segments once more",
    "--steal-lock": "takes the lock from whoever has it",
    "--overwrite": "replaces what is there",
}
"""What people may mean by --force, which Nutch's commands and older lines have."""
_NEVER_FORCED = {"inject": "--overwrite"}
"""Whose option of that name is about something else: inject's replaces records of known URLs."""


def _meanings_of_force(error: click.NoSuchOption) -> str:
    command = error.ctx.command if error.ctx else None
    flags = {name for each in command.params for name in each.opts} if command else set()
    flags.discard(_NEVER_FORCED.get(command.name or "", "") if command else "")
    meant = [f"{name} {what}" for name, what in _FORCED.items() if name in flags]
    return "there is no --force" + (f": {', '.join(meant)}" if meant else "")


def _fail(message: str, code: int, *, bug: bool = False) -> None:
    if logs.is_json():
        is_stack_wanted = bug or bool(os.environ.get("CRAWL_DEBUG"))
        error = sys.exception()
        exception = {"type": type(error).__name__, "message": str(error)}
        fields = {"exit_code": code, "exception": exception}
        _log.error(message, exc_info=is_stack_wanted, extra={"fields": fields})
        sys.exit(code)
    if os.environ.get("CRAWL_DEBUG"):
        echo(masked_text(traceback.format_exc()), err=True)
    elif bug:
        message += " (set CRAWL_DEBUG=1 for the traceback, and please report it)"
    echo(f"crawl: {one_line(masked_text(message))}", err=True)
    sys.exit(code)
