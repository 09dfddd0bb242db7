"""readlinkdb: the LinkDb as it stands. One command, two operations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from crawl.model.dump_format import DumpFormat
from crawl.operations.operation import Asked, Operation
from crawl.operations.options import option, subject
from crawl.operations.view import Cells, Line, Note, View
from crawl.operations.work import Work
from crawl.printable import plural, printable
from crawl.readers.dumps import Overwrite, UrlRegex, checked_regex, dump_folder

NOT_FOUND = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinksOptions:
    """The options of a look-up."""

    url: Annotated[str, subject("The pages that link to this URL. Exit code 1 if there is none.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpLinksOptions:
    """The options of a dump."""

    folder: Annotated[str, dump_folder("the links")]
    format: Annotated[
        DumpFormat,
        option(
            "With --dump: of its files. parquet and csv have a row a link, json and text one a"
            " URL; csv and text escape what terminals and spreadsheets would obey."
        ),
    ] = DumpFormat.PARQUET
    regex: UrlRegex = None
    overwrite: Overwrite = False


class Inlinks(list[dict[str, Any]]):
    """The links to a URL, best-scored first."""

    def __init__(self, links: Iterable[dict[str, Any]] = (), url: str = "") -> None:
        super().__init__(links)
        self.url = url
        """The URL as the LinkDb has it, which may be the normal form of what was asked for."""


def run_inlinks(work: Work, options: InlinksOptions) -> Inlinks:
    from crawl.readers.readlinkdb.run import inlinks_of

    entry = inlinks_of(work.directory, options.url, work.config)
    if entry is None:
        work.remark(f"the LinkDb knows no link to {printable(options.url)}")
        return Inlinks()
    return Inlinks(entry["inlinks"], entry["url"])


def run_dump(work: Work, options: DumpLinksOptions) -> dict[str, Any]:
    from crawl.driver.output_folder import make_room
    from crawl.phases.invertlinks.linkdb import linkdb_of, require_linkdb
    from crawl.phases.invertlinks.tasks.dump import LinkDumpJob
    from crawl.readers.readlinkdb import run as reader
    from crawl.storage.folder import Folder, absolute

    snapshot = require_linkdb(work.directory)
    job = LinkDumpJob(
        linkdb_of(work.directory).folder,
        Folder(absolute(options.folder)),
        options.format,
        checked_regex(options.regex),
    )
    make_room(job.output, overwrite=options.overwrite)
    with work.runner(rows=snapshot.rows) as runner:
        return {"links": reader.dump(runner, work.directory, job), "folder": options.folder}


def inlinks_values(links: Inlinks, asked: Asked) -> dict[str, Any] | None:
    return {"url": links.url, "inlinks": links} if links else None


def render_inlinks(links: Inlinks, asked: Asked) -> View:
    if not links:
        return []
    lines = [
        Line(f" fromUrl: {printable(link['fromUrl'])} anchor: {printable(link['anchor'])}")
        for link in links
    ]
    return [Cells((links.url, "Inlinks:")), *lines]


def render_dump(dump: dict[str, Any], asked: Asked) -> View:
    return [Note(f"{plural(dump['links'], 'link')} in {dump['folder']}")]


OPERATIONS = (
    Operation(
        name="inlinks",
        command="readlinkdb",
        command_help="""
        Look at the LinkDb of CRAWL_DIR. One of --url and --dump.

        The pages that link to a URL come best-scored first, and from one file, however large the
        LinkDb is.
        """,
        examples=(
            "crawl readlinkdb mycrawl --url https://example.org/",
            "crawl readlinkdb mycrawl --url https://example.org/ --json",
            r"crawl readlinkdb mycrawl --dump out --format text --regex 'https://example\.org/.*'",
        ),
        result=list[dict[str, Any]],
        run=run_inlinks,
        render=render_inlinks,
        values=inlinks_values,
        code=lambda links, asked: 0 if links else NOT_FOUND,
        help="""
        The pages that link to a URL, with the texts of their links, best-scored first; from a
        LinkDb of any size.
        """,
        calls=('[link["anchor"] for link in web.inlinks("https://example.org/")]',),
    ),
    Operation(
        name="dump_linkdb",
        command="readlinkdb",
        run=run_dump,
        render=render_dump,
        uses_spark=True,
        help="Writes the links of the LinkDb to a new folder; says how many.",
        calls=('web.dump_linkdb("links-out", format="csv")["links"]',),
    ),
)
