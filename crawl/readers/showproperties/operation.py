"""showproperties: every property, its value and where that came from. One command, two operations:
the list, and all properties as a TOML file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option, selector
from crawl.operations.view import Line, Table, View
from crawl.operations.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesOptions:
    """The options of the list of properties."""

    pattern: Annotated[
        str,
        option(
            "A part of the names that are looked for, or a whole name with wildcards.",
            metavar="PATTERN",
            argument=True,
        ),
    ] = ""
    changed: Annotated[bool, option("Only those that differ from their defaults.")] = False
    show_secrets: Annotated[bool, option("Print passwords and tokens as they are.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesFileOptions:
    """The options of the properties as a file."""

    toml: Annotated[
        bool, selector("Every property documented with its default, as conf/crawl-default.toml.")
    ] = False


def run_list(work: Work, options: PropertiesOptions) -> list[dict[str, Any]]:
    from crawl.masking import MARK
    from crawl.readers.showproperties.settings import matching, settings_in_use

    settings = settings_in_use(work.config, show_secrets=options.show_secrets)
    if options.pattern:
        settings = matching(settings, options.pattern)
    if options.changed:
        names = {change.name for change in work.config.changed()}
        settings = [each for each in settings if each.key in names]
    if masked := sum(each.masked for each in settings):
        secrets = "1 value is a secret" if masked == 1 else f"{masked} values are secrets"
        work.remark(f"{secrets}, shown as {MARK}; --show-secrets prints them")
    return [asdict(each) for each in settings]


def run_file(work: Work, options: PropertiesFileOptions) -> str:
    from crawl.config.render import render
    from crawl.readers.showproperties.settings import properties_of

    return render(properties_of(work.config)).removesuffix("\n")


def render_list(settings: list[dict[str, Any]], asked: Asked) -> View:
    rows = [[each["key"], _typed(each["value"]), each["unit"], each["origin"]] for each in settings]
    return [Table("properties", ["key", "value", "unit", "origin"], rows)]


def _typed(value: object) -> str:
    """A value as it would be typed after `-D KEY=`."""
    from crawl.config.render import toml

    if isinstance(value, tuple):
        return " ".join(map(_typed, value))
    return value if isinstance(value, str) else toml(value)


OPERATIONS = (
    Operation(
        name="list_properties",
        command="showproperties",
        run=run_list,
        render=render_list,
        place=Place.NOWHERE,
        command_help="""
        List every property, its value, its unit and where the value came from.

        PATTERN is a part of the names wanted, or a whole name with wildcards. What a property
        is for: --json tells it, and so does --toml. Passwords, tokens and headers that look
        like credentials are shown as ***, unless --show-secrets is given.
        """,
        help="""
        List every property with its value, its unit, where the value came from, and what the
        property is for. Passwords, tokens and headers that look like credentials are masked as ***,
        unless --show-secrets is given.
        """,
        examples=(
            "crawl showproperties",
            "crawl showproperties delay",
            "crawl showproperties 'fetcher.*.delay'",
            "crawl showproperties --changed -D fetcher.server.delay=2",
            "crawl showproperties --toml > all.toml",
        ),
        calls=(
            '{each["key"]: each["value"] for each in crawl.list_properties()}'
            '["fetcher.server.delay"]',
        ),
    ),
    Operation(
        name="properties_file",
        command="showproperties",
        method="",
        run=run_file,
        render=lambda text, asked: [Line(text)],
        place=Place.NOWHERE,
        help="Every property, documented with its default, as a TOML file.",
    ),
)
