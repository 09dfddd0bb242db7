"""What one unit of each phase's work costs, as `scripts/bench/run costs` measured it.

The figures are a file (conf/costs.toml) that says of each where it was measured, so that
a plan for other machines begins with measuring there.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields

from crawl.did_you_mean import did_you_mean
from crawl.errors import ConfigError

FILE = "costs.toml"


@dataclass(frozen=True, slots=True)
class Costs:
    """Processor time in microseconds, sizes in bytes; a field `inject_seed_us` is the key
    `seed_us` of the table `inject`."""

    inject_seed_us: float
    inject_record_us: float
    """A record of the CrawlDb that lies in a bucket that seeds go to."""
    inject_task_us: float
    """A bucket, however small."""
    generate_record_us: float
    generate_selected_us: float
    generate_task_us: float
    fetch_page_us: float
    fetch_kilobyte_us: float
    fetch_connection_us: float
    """A new connection with a verified certificate."""
    fetch_start_us: float
    """Before a task's first page."""
    parse_page_us: float
    parse_kilobyte_us: float
    parse_link_us: float
    parse_start_us: float
    updatedb_record_us: float
    updatedb_page_us: float
    updatedb_link_us: float
    updatedb_task_us: float
    exchange_row_us: float
    """That Spark adds to a row which one task sends to another."""
    exchange_task_us: float
    """That Spark adds to a task which sends or receives."""
    exchange_row_bytes: float
    """Of a row on its way."""
    disk_record: float
    """A URL of the CrawlDb."""
    disk_listed: float
    """A URL of a fetch list."""
    disk_fetched: float
    """A page in crawl_fetch."""
    disk_content_kilobyte: float
    disk_parsed_page: float
    """A page in parse_data and crawl_parse, without its links."""
    disk_parsed_link: float
    disk_text_kilobyte: float
    """Of text, for each kilobyte of the page."""
    memory_bucket_record: float
    """Of the bucket that a task works on."""
    memory_fetch_task: float
    memory_parse_task: float


UNITS: Mapping[str, str] = {
    "us": "microseconds of processor time",
    "disk": "bytes in Parquet",
    "memory": "bytes of memory",
}


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """A figure and where it is from."""

    value: float
    measured: str


def read_costs(text: str, origin: str) -> Costs:
    """The figures of such a file; ConfigError where one is missing or cannot be right."""
    return Costs(**{name: each.value for name, each in read_measured(text, origin).items()})


def read_measured(text: str, origin: str) -> dict[str, MeasuredCost]:
    """Every figure by the name of its field, with what was measured."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin}: {error}") from None
    names = [field.name for field in fields(Costs)]
    costs: dict[str, MeasuredCost] = {}
    for section, keys in content.items():
        if not isinstance(keys, dict):
            raise ConfigError(f"{origin}: {section} is not in a table")
        for key, value in keys.items():
            name = f"{section}_{key}"
            if name not in names:
                hint = did_you_mean(name, names)
                raise ConfigError(f"{origin}: there is no figure {section}.{key}{hint}")
            costs[name] = _measured(value, f"{origin}: {section}.{key}")
    for name in names:
        if name not in costs:
            raise ConfigError(f"{origin}: {name.replace('_', '.', 1)} is missing")
    return costs


def _measured(figure: object, where: str) -> MeasuredCost:
    match figure:
        case {"value": int() | float() as value, "measured": str() as measured}:
            if not isinstance(value, bool) and math.isfinite(value) and value >= 0:
                return MeasuredCost(float(value), measured)
    raise ConfigError(
        f'{where}: {{ value = …, measured = "…" }} is wanted, with a number of at least 0'
    )


def write_costs(costs: Mapping[str, MeasuredCost], heading: str) -> str:
    """The file, with a comment at its top."""
    lines = [f"# {line}".rstrip() for line in heading.splitlines()]
    section = ""
    for field in fields(Costs):
        table, _, key = field.name.partition("_")
        if table != section:
            section = table
            unit = UNITS.get(section, UNITS["us"])
            lines += ["", f"# {unit}", f"[{section}]"]
        each = costs[field.name]
        measured = each.measured.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'{key} = {{ value = {each.value:.5g}, measured = "{measured}" }}')
    return "\n".join(lines) + "\n"
