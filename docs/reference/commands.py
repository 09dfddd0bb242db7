"""Every command with its options and examples, from click."""

from __future__ import annotations

import inspect
import re

import click

from crawl.cli.main import crawl
from reference.markdown import block, code, prose, table

_INTRODUCTION = """\
# Commands

This page is written from the commands themselves; `crawl COMMAND --help` prints the same. In a
checkout, `./scripts/crawl` stands for `crawl`. Every command that reads has `--json`. Every command
that is a Spark job takes `--master`, and has a script for `spark-submit` too
([on a cluster](../tutorials/cluster.md)).
"""


def commands_page() -> str:
    """The page."""
    parts = [_INTRODUCTION]
    context = click.Context(crawl, info_name="crawl")
    for name in crawl.list_commands(context):
        command = crawl.get_command(context, name)
        assert command is not None
        parts.append(_command(command, click.Context(command, context, name), "##"))
    return "\n".join(parts)


def _command(command: click.Command, context: click.Context, heading: str) -> str:
    parts = [f"{heading} {context.command_path}\n", block(_usage(command, context))]
    parts.append(help_text(command.help or ""))
    options = [each for each in command.params if isinstance(each, click.Option)]
    if options:
        rows = [(code(_spelling(each)), _about(each, context)) for each in options]
        parts.append(table(["option", "what it does"], rows))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            parts.append(_command(inner, click.Context(inner, context, name), heading + "#"))
    return "\n".join(parts)


def help_text(text: str) -> str:
    """The help of a command: paragraphs, and examples as a block."""
    parts: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not paragraph.startswith("\b"):
            parts.append(prose(" ".join(paragraph.split())) + "\n")
            continue
        lines = paragraph.splitlines()[1:]
        if lines[0].strip().endswith(":"):
            parts.append(lines.pop(0).strip() + "\n")
        parts.append(block(inspect.cleandoc("\n".join(lines)), "sh"))
    return "\n".join(parts)


def _usage(command: click.Command, context: click.Context) -> str:
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _spelling(option: click.Option) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    return f"{names} {option.metavar or _values(option)}"


def _values(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return "[" + "|".join(map(str, option.type.choices)) + "]"
    return option.type.name.upper().replace(" RANGE", "")


def _about(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    return prose(record[1]) if record else ""
