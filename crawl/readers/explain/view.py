"""What people are shown of an explanation: the URL's record, its host, and a table for each of the
steps that decide about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crawl.clock import moment
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY
from crawl.model.status import Status
from crawl.operations.view import Line, Row, Table, View
from crawl.printable import plural, printable
from crawl.readers.explain.bounds import HostLimit
from crawl.storage.segments import CONTENT, PARSE_DATA
from crawl.tables.dump import record_paragraph

Values = Mapping[str, Any]
"""What JSON has."""

_STATUSES = (
    *("unfetched", "fetched", "gone", "redir_temp", "redir_perm", "not_modified"),
    *("duplicate", "orphan", "parse_failed"),
)
_ANSWERS = (
    *("succeeded", "unchanged", "redirected", "refused", "failed", "dns_failures"),
    "robots_denied",
)


def explanation_view(values: Values) -> View:
    """By what `explanation_values` (url.py) gives."""
    tables = [each for each in _tables(values) if each.rows]
    return [*map(Line, _lines(values)), *tables]


def _lines(values: Values) -> Iterator[str]:
    if values["record"] is not None:
        yield record_paragraph(values["record"])
    else:
        yield f"{printable(values['url'])}\n  not in the CrawlDb"
    yield f"  next            {printable(values['next'])}"
    robots = values["robots"]
    delay = robots["crawl_delay_s"]
    delay_text = "" if delay is None else f", Crawl-delay {delay:g} s"
    hint = "; --robots asks" if robots["allowed"] is None else ""
    yield f"  robots.txt      {printable(robots['told'])}{delay_text}{hint}"
    yield from _host_lines(values["host"])


def _tables(values: Values) -> Iterator[Table]:
    history = values["history"]
    if any(state["record"] is not None for state in history):
        columns = ["snapshot", "by", "status", "due", "interval", "retries", "score"]
        yield Table("CrawlDb by snapshot", columns, [_history_row(state) for state in history])
    mentions: list[Row] = [
        [each["segment"], each["part"], _mention_text(each)] for each in values["segments"]
    ]
    yield Table("segments", ["segment", "part", "what"], mentions)
    links: list[Row] = [
        [each["segment"], each["url"], each["anchor"]] for each in values["inlinks"]
    ]
    yield Table("links to it", ["segment", "linked from", "anchor"], links)
    normalizing: list[Row] = [
        [step["round"], step["plugin"], _normalized_text(step)] for step in values["normalizers"]
    ]
    yield Table("normalizers", ["round", "normalizer", "makes"], normalizing)
    filtering: list[Row] = [
        [step["plugin"], step["fault"] or step["reason"] or "accepted"]
        for step in values["filters"]
    ]
    yield Table("filters", ["filter", "says"], filtering)
    generating: list[Row] = [
        [step["reason"], _PASSES[step["passes"]], step["detail"]] for step in values["generate"]
    ]
    yield Table("generate", ["generate's step", "passes", "because"], generating)


def _host_lines(host: Values) -> Iterator[str]:
    """What the HostDb knows of the host."""
    values, snapshot, name = host["values"], host["hostdb"], printable(host["host"])
    if values is None:
        where = "" if snapshot is None else f" (HostDb, snapshot {snapshot})"
        hint = "; `crawl updatehostdb` makes the HostDb" if snapshot is None else ""
        yield f"  host            nothing is known of {name}{where}{hint}"
    else:
        counts = f"{values['urls']:,} URLs{_listed(values, _STATUSES)}"
        yield f"  host            {name}: {counts} (HostDb, snapshot {snapshot})"
        yield f"  requests        {values['requests']:,}{_listed(values, _ANSWERS)}"
        times = [
            f"{name.removeprefix('response_ms_')} {value:,.0f} ms"
            for name, value in values.items()
            if name.startswith("response_ms_p") and value is not None
        ]
        if times:
            yield f"  response time   {', '.join(times)}"
        yield f"  duplicates      {values['duplicates_share']:.1%} of {values['pages']:,} pages"
        if values["failures"]:
            trouble = printable(values["trouble"])
            yield f"  failures        {values['failures']:,} rounds in a row: {trouble}"
    count = HostLimit(host["max_count"], host["max_count_because"])
    yield f"  bound           {_limit_text(count, 'URLs a segment')}"
    delay = HostLimit(host["fetch_delay_ms"], host["fetch_delay_because"])
    if delay.why:
        yield f"  pause           {_limit_text(delay, 'ms between requests')}"


def _listed(values: Values, names: tuple[str, ...]) -> str:
    counts = [f"{values[name]:,} {name}" for name in names if values[name]]
    return f": {', '.join(counts)}" if counts else ""


def _limit_text(limit: HostLimit, unit: str) -> str:
    if not limit.is_known:
        return f"not known: {printable(limit.why)}"
    if limit.value is None:
        return f"none of the host's own ({printable(limit.why)})"
    what = "no limit" if limit.value < 0 else f"{limit.value:,} {unit}"
    return f"{what} ({printable(limit.why)})"


def _history_row(state: Values) -> Row:
    record = state["record"]
    if record is None:
        return [state["snapshot"], state["phase"], "not there", "", "", "", ""]
    return [
        state["snapshot"],
        state["phase"],
        record["statusName"],
        record["fetchTime"],
        f"{record['retryIntervalSeconds'] / 86_400:.3g} d",
        record["retriesSinceFetch"],
        record["score"],
    ]


def _normalized_text(step: Values) -> str:
    if step["fault"]:
        return f"nothing, it failed: {step['fault']}"
    if step["url"] is None:
        return "no URL"
    return str(step["url"]) if step["changed"] else "no change"


_PASSES = {True: "yes", False: "NO", None: "?"}


def _mention_text(mention: Values) -> str:
    facts = mention["facts"]
    if mention["part"] == CONTENT:
        truncated = f", truncated ({facts['truncated']})" if facts["truncated"] else ""
        fetched = moment(facts["fetch_time"])
        return f"{facts['code']} {facts['content_type']}, {fetched}{truncated}"
    if mention["part"] == PARSE_DATA:
        words = [facts["status"], facts["message"], facts["mime_type"], facts["language"]]
        words += [facts["directives"], f"{facts['outlinks']} links", repr(facts["title"])]
        return ", ".join(word for word in words if word)
    texts = [_record_text(record) for record in mention["records"]]
    if mention["links"]:  # the last record is the best of them
        pages, best = plural(mention["links"], "page"), mention["records"][-1]["score"]
        texts[-1] = f"linked from {pages}, best score {best:g}"
    return "; ".join(texts)


def _record_text(record: Values) -> str:
    status = record["metadata"].get(PROTOCOL_STATUS_KEY)
    words = [record["statusName"], f"score {record['score']:g}"]
    if Status(record["statusCode"]).is_fetch:
        words.append(record["fetchTime"])
    return ", ".join([*words, status] if status else words)
