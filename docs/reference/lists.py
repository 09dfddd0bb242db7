"""Pages that are one list each: properties, plugins, tables, metrics, exit codes."""

from __future__ import annotations

import ast
import inspect
import json
from itertools import groupby
from tempfile import TemporaryDirectory
from typing import Any

import crawl
from crawl import errors
from crawl.cli.main import INTERNAL_FAULT, INTERRUPTED
from crawl.errors import NOTHING_MORE
from crawl.interfaces.registry import INTERFACES, available
from crawl.model import derived_tables, tables
from crawl.model.table import SPARK_TYPES, Table
from crawl.telemetry import metrics
from reference.attributes import texts_below
from reference.markdown import code, prose, sentence, table


def properties_page() -> str:
    """Every property with its default."""
    # a folder without a site file: the values are the defaults
    with TemporaryDirectory() as empty:
        listed = crawl.list_properties(conf=empty)
    parts = [
        "# Properties\n",
        "Properties have Nutch's names where Nutch has one. Set them in `crawl-site.toml`, for one"
        " command with `-D KEY=VALUE`, or in Python with `settings=`"
        " ([configure a crawl](../how-to/configure.md)). Durations and sizes may have a unit:"
        ' `"500ms"`, `"10min"`, `"64KiB"`. `crawl showproperties` shows the values in effect and'
        " where each one comes from. Keys that begin with `spark.` go to the Spark session.\n",
    ]
    for section, members in groupby(listed, lambda each: each["key"].split(".")[0]):
        parts.append(f"## {section}\n")
        parts.append(table(["property", "default", "meaning"], map(_property, members)))
    return "\n".join(parts)


def _property(each: dict[str, Any]) -> tuple[str, str, str]:
    value = each["value"]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    shown = value if isinstance(value, str) else json.dumps(value)
    # a file's default folder is of this machine, and no property's meaning
    default = code(shown) if shown != "" else "*(empty)*"
    # a link to itself, so that a property can be sent to a colleague
    key = f'<a id="{each["key"]}" href="#{each["key"]}"><code>{each["key"]}</code></a>'
    return key, f"{default} {each['unit']}".strip(), prose(each["about"])


def plugins_page() -> str:
    """The interfaces and what is built in."""
    parts = [
        "# Plugins\n",
        "A plugin is named in the property of its interface, by name or as `module:Class`."
        " `crawl plugin list` shows which are active. See"
        " [how to write one](../how-to/plugin.md).\n",
    ]
    for each in INTERFACES:
        plugins = available(each.name)
        if not plugins:
            continue
        parts.append(f"## {each.name}\n")
        parts.append(f"{sentence(each.about)} Property: {code(each.setting)}.\n")
        rows = [(code(name), _first_line(plugin.load())) for name, plugin in plugins.items()]
        parts.append(table(["plugin", "what it does"], rows))
    return "\n".join(parts)


def tables_page() -> str:
    """Every stored table and its columns."""
    parts = [
        "# Tables\n",
        "Every byte of a crawl's state is a Parquet file with one of these tables in it. In Python"
        " and in Spark the columns `status` hold names such as `db_fetched`, in the files"
        " Nutch's codes.\n",
    ]
    for module in (tables, derived_tables):
        notes = texts_below(ast.parse(inspect.getsource(module)).body)
        for name, value in vars(module).items():
            if isinstance(value, Table):
                parts += _table_section(value, notes.get(name, ""))
    return "\n".join(parts)


def _table_section(kind: Table, note: str) -> list[str]:
    parts = [f"## {kind.name}\n"]
    if note:
        parts.append(prose(" ".join(note.split())) + "\n")
    rows = [
        (
            code(column.name),
            code(SPARK_TYPES[column.type].lower()),
            sentence(column.about) + ("" if column.required else " May be null."),
        )
        for column in kind.columns
    ]
    return [*parts, table(["column", "type", "meaning"], rows)]


def metrics_page() -> str:
    """Every metric."""
    head = (
        "# Metrics\n\nEvery metric also has the label `crawl`, the name of the crawl's folder or"
        " `metrics.crawl.label`. No label holds a URL or a host. Counters start at 0 with each"
        " command, so query them with `rate()` and `increase()`. See"
        " [how to monitor a crawl](../how-to/monitor.md).\n\n"
    )
    rows = [
        (code(each.name), str(each.kind), ", ".join(map(code, each.labels)), sentence(each.about))
        for each in metrics.ALL
    ]
    return head + table(["name", "kind", "labels", "meaning"], rows)


def exit_codes_page() -> str:
    """The exit codes, and the exceptions behind them."""
    codes = {
        0: "Done.",
        1: "Nothing to do: nothing is due, the URL is not known or is rejected; for `check`,"
        " damage was found.",
        2: "Wrong input, configuration or storage; one line says what.",
        3: "Another process is writing; the line says which, where and since when.",
        INTERNAL_FAULT: "A bug; `CRAWL_DEBUG=1` shows the traceback.",
        NOTHING_MORE: "With `--if-due`, for schedulers: nothing more is to be done.",
        INTERRUPTED: "Interrupted, in good order: the same command continues.",
    }
    raised = list(_tree(errors.CrawlError, 0))
    unknown = {each.exit_code for each, _ in raised} - set(codes)
    assert not unknown, f"exit codes without a meaning: {unknown}"
    rows = [(str(number), meaning) for number, meaning in sorted(codes.items())]
    tree = [
        ("&nbsp;" * 4 * depth + code(each.__name__), str(each.exit_code), _first_line(each))
        for each, depth in raised
    ]
    return "\n".join(
        [
            "# Exit codes and errors\n",
            "## Exit codes\n",
            table(["code", "meaning"], rows),
            "## Exceptions\n",
            "The Python API raises these; the command line prints the message and ends with the"
            " exit code. Catch `crawl.CrawlError` for all of them; the others are in"
            " `crawl.errors`. Outcomes are not errors: a 404 or a rejected URL is returned and"
            " counted.\n",
            table(["exception", "exit code", "meaning"], tree),
        ]
    )


def _tree(kind: type[errors.CrawlError], depth: int) -> Any:
    yield kind, depth
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below, depth + 1)


def _first_line(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return prose(sentence(text.split("\n\n")[0]))
