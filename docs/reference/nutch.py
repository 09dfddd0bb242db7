"""Nutch's commands and properties that are spelt otherwise here, or are not there."""

from __future__ import annotations

from crawl.cli.nutch_syntax import NOT_YET, check_nutch_syntax
from crawl.config.nutch_names import NUTCH_NAMES
from crawl.errors import UsageError
from reference.markdown import code, prose, sentence, table


def nutch_page() -> str:
    """The answers that the command line gives to Nutch's words, as lists."""
    commands = [(code(name), prose(sentence(_answer(name)))) for name in sorted(NOT_YET)]
    properties = [
        (code(name), prose(sentence(instead))) for name, instead in sorted(NUTCH_NAMES.items())
    ]
    return "\n".join(
        [
            "# Nutch's names\n",
            "Whoever types a command or sets a property as Nutch spells it gets a line that says"
            " what to use here. These are all of those lines; see"
            " [Coming from Nutch](../coming-from-nutch.md) for the whole picture.\n",
            "## Commands that are not there\n",
            table(["Nutch's command", "answer"], commands),
            "## Properties with another name, or none\n",
            "Properties that are not in this list have the same name here"
            " ([properties](properties.md)).\n",
            table(["Nutch's property", "instead"], properties),
        ]
    )


def _answer(command: str) -> str:
    try:
        check_nutch_syntax([command])
    except UsageError as error:
        return str(error)
    raise AssertionError(f"{command} is there")
