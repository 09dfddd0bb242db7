"""The table of metrics, and all that other files write about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from crawl.telemetry.metrics import ALL, CRAWL, MetricKind, as_markdown

ROOT = Path(__file__).parents[2]
DASHBOARDS = sorted((ROOT / "docker" / "grafana" / "dashboards").glob("*.json"))
ALERTS = ROOT / "docker" / "prometheus-alerts.yml"

OF_OTHERS = {"process_resident_memory_bytes"}
"""What the library reports of every process."""

SERIES = {name: metric for metric in ALL for name in metric.series}


def panels(dashboard: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard.read_text(encoding="utf-8"))["panels"]
    return found


def queries() -> Iterator[tuple[str, str]]:
    for dashboard in DASHBOARDS:
        for panel in panels(dashboard):
            for target in panel.get("targets", ()):
                where = f"{dashboard.stem}: {panel['title']}"
                yield where, target["expr"].replace("$crawl", "c")
    for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


QUERIES = list(queries())


def selectors(query: str) -> Iterator[tuple[str, str]]:
    """Every metric that a query asks for, with the conditions on its labels."""
    yield from re.findall(r"\b((?:nutria|process)_\w+)\s*(\{[^}]*\})?", query)


def test_names_are_prometheus_own_and_each_is_there_once() -> None:
    assert len(ALL) > 25
    assert len({metric.name for metric in ALL}) == len(ALL)
    for metric in ALL:
        assert re.fullmatch(r"nutria_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") is (metric.kind is MetricKind.COUNTER)
        assert metric.about.endswith((".", "…"))
        assert list(metric.bounds) == sorted(metric.bounds)
        assert bool(metric.bounds) is (metric.kind is MetricKind.HISTOGRAM)


def test_no_label_can_hold_what_servers_or_pages_say() -> None:
    labels = {label for metric in ALL for label in metric.labels}
    assert labels.isdisjoint({"url", "host", "domain", "segment", "part", CRAWL})


def test_the_page_for_people_is_made_of_the_table() -> None:
    assert (ROOT / "docker" / "metrics.md").read_text(encoding="utf-8") == as_markdown()


@pytest.mark.parametrize(("where", "query"), QUERIES, ids=[where for where, _ in QUERIES])
def test_every_query_is_promql_about_metrics_that_there_are(where: str, query: str) -> None:
    promql_parser.parse(query)
    asked = list(selectors(query))
    assert asked, query
    for name, conditions in asked:
        assert name in SERIES or name in OF_OTHERS, f"{where}: no metric is called {name}"
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", conditions):
            known = {"job"} if name in OF_OTHERS else {CRAWL, "le", *SERIES[name].labels}
            assert label in known, f"{where}: {name} has no label {label}"


@pytest.mark.parametrize(("where", "query"), QUERIES, ids=[where for where, _ in QUERIES])
def test_every_query_groups_by_labels_that_there_are(where: str, query: str) -> None:
    known = {CRAWL, "le"}
    for name, _ in selectors(query):
        known |= set(SERIES[name].labels) if name in SERIES else set()
    for grouped in re.findall(r"\b(?:by|on)\s*\(([^)]*)\)", query):
        assert set(re.split(r",\s*", grouped.strip())) <= known, where


def test_the_dashboards_show_every_figure() -> None:
    asked = {name for _, query in QUERIES for name, _ in selectors(query)}
    shown = {SERIES[name].name for name in asked if name in SERIES}
    not_shown = {"nutria_build_info", "nutria_command_running"}
    assert {metric.name for metric in ALL} - not_shown <= shown


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_one_that_grafana_can_provision(dashboard: Path) -> None:
    text = dashboard.read_text(encoding="utf-8")
    loaded = json.loads(text)
    assert loaded["uid"] == dashboard.stem
    ids = [panel["id"] for panel in panels(dashboard)]
    assert len(set(ids)) == len(ids)
    variables = {variable["name"] for variable in loaded["templating"]["list"]}
    assert set(re.findall(r"\$\{?(\w+)\}?", text)) <= variables
    places = [panel["gridPos"] for panel in panels(dashboard)]
    for place in places:
        assert place["x"] + place["w"] <= 24
    taken = [
        (x, y)
        for place in places
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(taken)) == len(taken), "no panel covers another"


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda path: path.stem)
def test_the_crawls_to_choose_from_are_those_of_a_metric(dashboard: Path) -> None:
    (variable,) = [
        each
        for each in json.loads(dashboard.read_text(encoding="utf-8"))["templating"]["list"]
        if each["name"] == "crawl"
    ]
    found = re.fullmatch(r"label_values\((\w+), crawl\)", variable["query"]["query"])
    assert found is not None and found[1] in SERIES


def test_every_alert_says_what_is_wrong_and_how_bad_it_is() -> None:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    assert [group["name"] for group in groups] == ["nutria", "nutria-realtime"]
    names = [rule["alert"] for group in groups for rule in group["rules"]]
    assert len(set(names)) == len(names)
    for group in groups:
        assert len(group["rules"]) >= 8
        for rule in group["rules"]:
            assert rule["labels"]["severity"] in ("page", "ticket")
            assert "{{ $labels.crawl }}" in rule["annotations"]["summary"]
