"""nodereader as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from crawl.operations.operation import Asked, Operation
from crawl.operations.options import Natural, option
from crawl.operations.view import Line, View
from crawl.operations.work import Work
from crawl.printable import printable

NOT_FOUND = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReaderOptions:
    """The options of nodereader."""

    url: Annotated[str, option("The page.", metavar="URL", argument=True)]
    links: Annotated[
        Natural, option("Also name up to N of the pages that link there, and that it links to.")
    ] = 0


def run(work: Work, options: NodeReaderOptions) -> dict[str, Any] | None:
    from dataclasses import asdict

    from crawl.readers.nodereader.graph import find_node

    node = find_node(work.directory, options.url, options.links)
    if node is None:
        work.remark(f"{printable(options.url)} is not in the link graph")
        return None
    return asdict(node)


def render(node: dict[str, Any] | None, asked: Asked) -> View:
    """What people are shown."""
    return [] if node is None else [Line(text) for text in _lines(node)]


def _lines(node: dict[str, Any]) -> Iterator[str]:
    score = node["score"]
    yield printable(node["url"])
    yield f"  score     {'none, see `crawl linkrank`' if score is None else format(score, '.10g')}"
    for count, pages in (("inlinks", "linked_from"), ("outlinks", "links_to")):
        yield f"  {count:<8}  {node[count]:,}"
        yield from (f"    {printable(url)}" for url in node[pages])


OPERATION = Operation(
    name="nodereader",
    run=run,
    render=render,
    code=lambda node, asked: NOT_FOUND if node is None else 0,
    help="""
    Show what the link graph of CRAWL_DIR knows of a page. Where it is not there, the exit code is
    1, and in Python the answer is None.
    """,
    examples=(
        "crawl nodereader mycrawl https://example.org/",
        "crawl nodereader mycrawl https://example.org/ --links 10 --json",
    ),
    calls=('web.nodereader("https://example.org/", links=5)',),
)
