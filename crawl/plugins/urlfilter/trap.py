"""urlfilter trap: URLs that a server makes up without end: loops of folders, parameters
heaped on parameters, calendars that know every year."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, integer
from crawl.interfaces.urlfilter import URLFilter
from crawl.plugins.urlfilter.repeated_segments import may_repeat
from crawl.plugins.urlfilter.years import YearRange
from crawl.urls.columns import column_bytes
from crawl.urls.paths import path_and_query

MAX_REPEATS = integer(
    "urlfilter.trap.max.repeats",
    2,
    "How often one folder or file name may stand in a path; numbers do not count. 0: any.",
    unit="times",
    minimum=0,
)
MAX_DEPTH = integer(
    "urlfilter.trap.max.depth",
    20,
    "Most folders and file names in a path; 0: any.",
    unit="segments",
    minimum=0,
)
MAX_PARAMETERS = integer(
    "urlfilter.trap.max.parameters",
    20,
    "Most parameters in a query; 0: any.",
    unit="parameters",
    minimum=0,
)
MAX_DATES = integer(
    "urlfilter.trap.max.dates",
    3,
    "Most dates (2024/05, 2024-05-17) in a URL; 0: any.",
    unit="dates",
    minimum=0,
)
MIN_YEAR = integer(
    "urlfilter.trap.min.year",
    1800,
    "Dates of an earlier year are a calendar's endless past; 0: none is.",
    minimum=0,
    maximum=2999,
)
MAX_YEAR = integer(
    "urlfilter.trap.max.year",
    2040,
    "Dates of a later year are a calendar's endless future; 0: none is.",
    minimum=0,
    maximum=2999,
)

_DATE = re.compile(
    r"(?<![0-9])([12][0-9]{3})[/-](?:0?[1-9]|1[0-2])(?:[/-](?:0?[1-9]|[12][0-9]|3[01]))?(?![0-9])"
)
_DATE_PARAMETER = re.compile(
    r"[?&][A-Za-z_-]*(?:date|day|week|month|year|calendar)[A-Za-z_-]*=([12][0-9]{3})", re.IGNORECASE
)
_DATE_PARAMETER_BEGINNING = r"[?&][A-Za-z_-]*(?i:date|day|week|month|year|calendar)[A-Za-z_-]*="


class TrapURLFilter(URLFilter):
    """Every limit is a property; the reason names the one that was passed."""

    def __init__(self, config: Config) -> None:
        self._max_repeats = config[MAX_REPEATS]
        self._max_depth = config[MAX_DEPTH]
        self._max_parameters = config[MAX_PARAMETERS]
        self._max_dates = config[MAX_DATES]
        self._years = YearRange(config[MIN_YEAR], config[MAX_YEAR])
        self._dubious_date = self._dubious_dates()

    def rejection(self, url: str) -> str | None:
        path, query = path_and_query(url) or ("", "")
        return self._of_path(path) or self._of_query(query) or self._of_dates(path + query)

    def _of_path(self, path: str) -> str | None:
        segments = [segment for segment in path.split("/") if segment]
        if 0 < self._max_depth < len(segments):
            return f"more than {self._max_depth} path segments"
        if 0 < self._max_repeats < len(segments):
            names = Counter(segment for segment in segments if not segment.isdecimal())
            name, times = max(names.items(), key=lambda item: item[1], default=("", 0))
            if times > self._max_repeats:
                return f"path segment {name[:40]!r} more than {self._max_repeats} times"
        return None

    def _of_query(self, query: str) -> str | None:
        if 0 < self._max_parameters <= query.count("&"):
            parameters = sum(map(bool, query[1:].split("&")))
            if parameters > self._max_parameters:
                return f"more than {self._max_parameters} parameters"
        return None

    def _of_dates(self, text: str) -> str | None:
        dates = _DATE.findall(text)
        if 0 < self._max_dates < len(dates):
            return f"more than {self._max_dates} dates"
        for year in (*dates, *_DATE_PARAMETER.findall(text)):
            if int(year) not in self._years:
                return f"a calendar's year {year}"
        return None

    def accepts_batch(self, urls: pa.Array[Any]) -> pa.Array[Any] | None:
        """True where nothing comes near a limit; whatever is dubious is asked by row."""
        characters = column_bytes(urls)
        dubious = may_repeat(characters, self._max_repeats, self._max_depth)
        if self._max_parameters:
            dubious |= characters.count("&") >= self._max_parameters
        safe = pa.array(~dubious)
        if self._dubious_date:
            safe = pc.and_not(safe, pc.match_substring_regex(urls, self._dubious_date))
        verdict: pa.Array[Any] = pc.if_else(safe, True, None)
        return verdict

    def _dubious_dates(self) -> str:
        """Found (by RE2) in every URL that a limit on dates could reject."""
        dubious = []
        if self._max_dates:
            dubious.append(f"(?s:[0-9]{{4}}[/-][0-9].*){{{self._max_dates + 1}}}")
        if outside := self._years.outside():
            dubious.append(f"(?:{outside})[/-][01]?[0-9]")
            dubious.append(f"{_DATE_PARAMETER_BEGINNING}(?:{outside})")
        return "|".join(dubious)
