"""plugin as an operation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Table, View
from crawl.operations.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginOptions:
    """The options of the list of plugins."""

    active: Annotated[bool, option("Only the active ones.")] = False


def run(work: Work, options: PluginOptions) -> list[dict[str, Any]]:
    from crawl.readers.plugin.plugins import list_plugins_of

    lines = list_plugins_of(work.config)
    if options.active:
        lines = [line for line in lines if line.active[:1].isdigit()]
    return [asdict(line) for line in lines]


def render(plugins: list[dict[str, Any]], asked: Asked) -> View:
    columns = ["interface", "plugin", "active", "why"]
    return [Table("plugins", columns, [[each[name] for name in columns] for each in plugins])]


OPERATION = Operation(
    name="list_plugins",
    command="plugin",
    word="list",
    run=run,
    render=render,
    place=Place.NOWHERE,
    summary="every plugin, which are active, and why",
    help="""
    List what can be plugged into the crawler: every interface's plugins, which are active, in what
    order, and why.
    """,
    examples=("crawl plugin list", "crawl plugin list --active -D urlfilter.order=regex,domain"),
    calls=(
        '[each["plugin"] for each in crawl.list_plugins() if each["interface"] == "urlfilter"]',
    ),
)
