"""Checks what a page shows and a test cannot run: command lines are parsed by click, with every
option, value and property; scripts, jobs, extras and files that they name must exist."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator, Sequence
from configparser import ConfigParser

import click

from crawl.cli.main import crawl as program
from crawl.cli.main import main
from crawl.cli.nutch_syntax import check_nutch_syntax
from crawl.errors import CrawlError
from crawl.operations.registry import OURS
from tests.docs.pages import ROOT

_OPERATORS = {"|", "&", "&&", "||", ";", ">", ">>", "<", "2>", "2>>", "("}
_NOT_OURS = {
    "cp",
    "curl",
    "python3",
    "export",
    "kill",
    "mkdir",
    "cat",
    "hdfs",
    "kubectl",
    "grep",
    "tail",
    "nc",
    "git",
    "cd",
    "echo",
}
"""Programs of the machine, of which there is nothing to check."""


def check_commands(text: str) -> list[str]:
    """What is wrong with the command lines of a block; it may not be empty of commands."""
    faults: list[str] = []
    lines = list(command_lines(text))
    if not lines:
        faults.append("no command in it")
    for command in lines:
        fault = _fault(command)
        if fault:
            faults.append(f"{shlex.join(command)}: {fault}")
    return faults


def command_lines(text: str) -> Iterator[list[str]]:
    """The simple commands of a script, without redirections; of what is substituted in the
    quotes of another program, the command alone."""
    text = re.sub(r'(?m)^duckdb .*?\$\((crawl [^|)]*).*?\)"? .*$', r"\1", text, flags=re.DOTALL)
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        command: list[str] = []
        is_target = False
        for word in _words(line):
            if word in _OPERATORS:
                is_target = word in (">", ">>", "<", "2>", "2>>")
                if not is_target:
                    if command:
                        yield command
                    command = []
            elif is_target:
                is_target = False
            else:
                command.append(word)
        if command:
            yield command


def _words(line: str) -> list[str]:
    return shlex.split(without_comment(line))


def without_comment(line: str) -> str:
    """The line up to a # that begins a word outside of quotes."""
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (place == 0 or line[place - 1].isspace()):
            return line[:place]
    return line


def _fault(command: Sequence[str]) -> str:
    name, rest = command[0], list(command[1:])
    if rest and re.fullmatch(r"[A-Z_]+=.*", name):  # a variable for this command alone
        return _fault(rest)
    if name in ("crawl", "./scripts/crawl"):
        return crawl_fault(rest)
    if name == "spark-submit":
        return _job_fault(rest)
    if name == "pip":
        return _extras_fault(rest)
    if name == "docker":
        return _docker_fault(rest)
    if name == "watch":
        return _fault(rest)
    if name.startswith("./"):
        return "" if (ROOT / name).is_file() else "there is no such script"
    return "" if name in _NOT_OURS else "nobody knows how to check it"


def crawl_fault(arguments: Sequence[str]) -> str:
    """Parses a command line and its properties without running it."""
    if not arguments or arguments[0].startswith("-"):
        return ""
    # what a reader fills in
    completed = [argument.replace("…", "1") for argument in arguments]
    try:
        check_nutch_syntax(completed)
        context = click.Context(program, info_name="crawl")
        name, command, rest = program.resolve_command(context, completed)
        assert command is not None
        if isinstance(command, click.Group):
            inner = command.get_command(context, rest[0]) if rest else None
            if inner is None:
                return f"{name} has no such command"
            command, rest = inner, rest[1:]
        parsed = command.make_context(name, rest, parent=context)
    except click.exceptions.Exit:
        return ""
    except (click.ClickException, CrawlError) as error:
        return str(getattr(error, "message", error))
    return _settings_fault(parsed.params.get("overrides") or ())


def _settings_fault(overrides: Sequence[str]) -> str:
    if not overrides:
        return ""
    options = [option for given in overrides for option in ("-D", given)]
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        try:
            main(["showproperties", *options])
        except SystemExit as ended:
            return errors.getvalue() if ended.code else ""
    return "showproperties does not end"


def _job_fault(arguments: Sequence[str]) -> str:
    for number, argument in enumerate(arguments):
        if re.fullmatch(r"jobs/\w+\.py", argument):
            if not (ROOT / argument).is_file():
                return f"there is no {argument}"
            name, *words = arguments[number + 1 :]
            return crawl_fault([name, *words]) if name in OURS else f"there is no command {name}"
    return "it names no job"


def _extras_fault(arguments: Sequence[str]) -> str:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    known = set(parser["options.extras_require"])
    named = {
        extra
        for found in re.findall(r"(?:^|\s)\.\[([^\]]+)\]", " ".join(arguments))
        for extra in found.split(",")
    }
    return f"no extras {sorted(named - known)}" if named - known else ""


def _docker_fault(arguments: Sequence[str]) -> str:
    for argument in arguments:
        if argument.startswith("docker/") and not (ROOT / argument).exists():
            return f"there is no {argument}"
    if "crawl" in arguments:
        return crawl_fault(arguments[arguments.index("crawl") + 1 :])
    return ""
