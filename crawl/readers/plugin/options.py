"""What can be asked of plugin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """The options of the list of plugins."""

    active: Annotated[bool, option("Only the active ones.")] = False
