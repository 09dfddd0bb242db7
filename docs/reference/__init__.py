"""The reference as Markdown, written from the code, so that it cannot go stale."""

from reference.api import api_page
from reference.commands import commands_page
from reference.lists import (
    exit_codes_page,
    metrics_page,
    plugins_page,
    properties_page,
    tables_page,
)
from reference.nutch import nutch_page

PAGES = {
    "commands": commands_page,
    "properties": properties_page,
    "api": api_page,
    "plugins": plugins_page,
    "tables": tables_page,
    "metrics": metrics_page,
    "exit-codes": exit_codes_page,
    "nutch": nutch_page,
}
"""The name of each page and the function that writes it."""

__all__ = ["PAGES"]
