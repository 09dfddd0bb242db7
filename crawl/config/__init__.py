"""Configuration: typed properties under Nutch's names, in TOML; defaults, then the site
file, then `-D`. Everything is checked before Spark starts, and travels to executors.
"""

from crawl.config.config import ChangedProperty, Config
from crawl.config.load import load
from crawl.config.property import (
    Property,
    boolean,
    boolean_or_auto,
    choice,
    duration,
    file,
    integer,
    interval,
    number,
    numbers,
    properties_in,
    size,
    string_list,
    text,
)

__all__ = [
    "ChangedProperty",
    "Config",
    "Property",
    "boolean",
    "boolean_or_auto",
    "choice",
    "duration",
    "file",
    "integer",
    "interval",
    "load",
    "number",
    "numbers",
    "properties_in",
    "size",
    "string_list",
    "text",
]
