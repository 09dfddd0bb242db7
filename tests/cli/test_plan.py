from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from crawl.operations.amounts import format_bytes, format_count, format_time
from crawl.planning.costs import MeasuredCost, write_costs
from tests.cli.calling import Caller
from tests.planning.figures import COSTS

BILLION = ("--urls", "10e9", "--hosts", "50e6", "--pages-per-day", "1e9")


@pytest.fixture
def costs(tmp_path: Path) -> str:
    path = tmp_path / "costs.toml"
    figures = {name: MeasuredCost(value, "here") for name, value in asdict(COSTS).items()}
    path.write_text(write_costs(figures, "made up"))
    return str(path)


def test_a_billion_pages_a_day_by_the_shipped_figures(crawl: Caller) -> None:
    plan = crawl("plan", *BILLION, "--json").json
    assert plan["fits"]
    assert plan["pages_per_day"] == plan["most_pages_per_day"] == 1e9
    assert 20 < plan["hours_per_day"] <= 24
    assert [phase["phase"] for phase in plan["phases"]] == [
        *("inject", "generate", "fetch", "parse", "updatedb")
    ]
    fetch = plan["phases"][2]
    assert fetch["seconds"] >= plan["polite_s"] > 0
    assert fetch["http_requests"] == 250e6 + 50e6 / 4  # robots.txt once in a day's rounds
    updatedb = plan["phases"][4]
    assert updatedb["seconds"] < 30 * 60 and updatedb["gets"] < 2e6
    assert plan["settings"]["generate.top_n"] == 250e6
    assert plan["cost"]["per_day"] == pytest.approx(
        sum(phase["cost"] for phase in plan["phases"] if phase["runs_per_day"]), abs=0.01
    )
    assert all(phase["cost"] > 0 for phase in plan["phases"])
    assert sum(phase["kept_bytes"] for phase in plan["phases"]) == pytest.approx(
        sum(plan["storage_bytes"].values()), rel=1e-9
    )


def test_more_nodes_than_needed_are_quicker(crawl: Caller, costs: str) -> None:
    few = crawl("plan", *BILLION, "--costs", costs, "--json").json
    many = crawl("plan", *BILLION, "--costs", costs, "--nodes", 2 * few["nodes"], "--json").json
    assert many["nodes"] == 2 * few["nodes"]
    assert many["hours_per_day"] < few["hours_per_day"]


def test_people_see_phases_settings_and_money(crawl: Caller, costs: str) -> None:
    plain = crawl("plan", "--urls", "1_000_000", "--hosts", "10,000", "--costs", costs)
    assert plain.code == 0
    lines = plain.out.splitlines()
    assert lines[0].split()[:4] == ["phase", "runs", "takes", "bound"]
    assert lines[1].startswith("inject    once")
    assert "crawldb.buckets" in plain.out
    assert "cost/day" in plain.out and "cost a month" in plain.out
    assert "plan: prices are examples" in plain.err


def test_executors_are_stated_with_their_reasons(crawl: Caller, costs: str) -> None:
    here = ("plan", "--urls", "1e6", "--hosts", "1e4", "--nodes", 3, "--costs", costs)
    shape = ("--cores-per-node", 4, "--memory-per-node", "16GB")
    spark = crawl(*here, *shape, "--json").json["spark"]
    assert spark["spark.executor.instances"] == {"value": "3", "reason": "1 on each of 3 nodes"}
    assert spark["spark.executor.cores"]["value"] == "4"
    assert {"spark.executor.memoryOverhead", "spark.driver.maxResultSize"} <= spark.keys()
    plain = crawl(*here, *shape)
    for name, setting in spark.items():
        (line,) = [line for line in plain.out.splitlines() if line.startswith(name + " ")]
        assert line.split(maxsplit=name.count(" ") + 2)[-1] == setting["reason"]


def test_threads_keep_a_core_busy_unless_they_are_given(crawl: Caller, costs: str) -> None:
    """A request takes 1.08 ms here: at 0.1 s an answer, and 0.7 of a core, 65 threads."""
    here = ("plan", "--urls", "1e6", "--hosts", "1e4", "--latency", "100ms", "--costs", costs)
    threads = [
        crawl(*here, *option, "--json").json["settings"]["fetcher.threads.fetch"]
        for option in ((), ("--threads", 7))
    ]
    assert 60 <= threads[0] <= 70
    assert threads[1] == 7


def test_a_node_without_room_is_reported(crawl: Caller, costs: str) -> None:
    here = ("plan", "--urls", "1e6", "--hosts", "1e4", "--nodes", 3, "--costs", costs)
    answer = crawl(*here, "--memory-per-node", "2GB")
    assert answer.code == 1
    assert "plan: a node of 2 GB has no room for an executor" in answer.err
    assert crawl(*here, "--memory-per-node", "2GB", "--json").json["spark"] == {}


def test_prices_are_the_users(crawl: Caller, costs: str) -> None:
    here = ("plan", "--urls", "1e6", "--hosts", "1e4", "--costs", costs)
    dear = crawl(*here, "--price-per-node-hour", "1.4", "--price-per-GB-month", "0.046", "--json")
    usual = crawl(*here, "--json").json
    assert dear.json["cost"]["storage_per_month"] == pytest.approx(
        2 * usual["cost"]["storage_per_month"], abs=0.02
    )
    assert usual["cost"]["per_day"] < dear.json["cost"]["per_day"]
    assert "examples" not in crawl(*here, "--price-per-node-hour", "1").err
    units = ("node-hour", "GB-month", "million-puts", "million-gets")
    free = crawl(*here, *(word for unit in units for word in (f"--price-per-{unit}", "0")))
    assert "cost" not in free.out and "examples" not in free.err


def test_units_are_those_of_people(crawl: Caller, costs: str) -> None:
    here = ("plan", "--urls", "1e6", "--hosts", "1e4", "--costs", costs, "--json")
    plain = crawl(*here, "--delay", "5", "--page-size", "84000", "--revisit", "30").json
    spelt = crawl(*here, "--delay", "5000ms", "--page-size", "84 kB", "--revisit", "720h").json
    assert spelt == plain
    slower = crawl(*here, "--bandwidth-per-node", "10kbit").json
    assert {phase["bound"] for phase in slower["phases"]} == {"network"}


def test_a_web_of_ones_own_needs_no_pause(crawl: Caller, costs: str) -> None:
    asked = ("plan", "--urls", "1e6", "--hosts", "1", "--delay", "0", "--latency", "0")
    plan = crawl(*asked, "--costs", costs, "--json").json
    assert plan["polite_s"] == plan["left_behind"] == 0
    assert plan["settings"]["generate.max.count"] == 1e6


def test_what_politeness_forbids_is_reported(crawl: Caller, costs: str) -> None:
    asked = ("plan", "--urls", "1e9", "--hosts", "100", "--skew", "0", "--costs", costs)
    answer = crawl(*asked, "--pages-per-day", "1e7")
    assert answer.code == 1
    assert "not possible with any number of nodes: fetch is bound by politeness" in answer.err
    assert "1.57 M pages a day are, at 4 rounds a day" in answer.err
    assert "100 hosts are too large to be visited wholly in 30 days: 95% of the" in answer.err


def test_too_few_nodes_are_reported(crawl: Caller, costs: str) -> None:
    answer = crawl("plan", *BILLION, "--nodes", 1, "--costs", costs)
    assert answer.code == 1
    assert "--nodes 1 is not enough" in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--urls", "many"], "crawl: --urls: 'many' is no number (such as 10e9)"),
        (["--urls", "0"], "crawl: --urls: '0': above 0 and finite is wanted"),
        (["--urls", "1e999"], "crawl: --urls: '1e999': above 0 and finite is wanted"),
        (["--urls", "-5"], "crawl: --urls: '-5' is no number (such as 10e9)"),
        (["--page-size", "84 kX"], "crawl: --page-size: '84 kX' is no size (such as 84kB, with"),
        (["--delay", "5 Gbit"], "crawl: --delay: '5 Gbit' is no duration (such as 500ms, with"),
        (["--hosts", "1e10"], "crawl: 10,000,000,000 hosts cannot have 1,000 URLs"),
        (["--pages-per-day", "1e6"], "crawl: a round of 250,000 pages of 1,000 URLs would"),
        (["--costs", "/no/such/file"], "crawl: --costs: /no/such/file cannot be read: No such"),
    ],
)
def test_wrong_input_is_one_line(crawl: Caller, arguments: list[str], complaint: str) -> None:
    answer = crawl("plan", "--urls", "1000", "--hosts", "10", *arguments)
    assert answer.code == 2
    assert answer.err.startswith(complaint)
    assert answer.err.count("\n") == 1


def test_a_costs_file_that_lacks_a_figure_is_reported(crawl: Caller, costs: str) -> None:
    path = Path(costs)
    path.write_text(path.read_text().replace("seed_us", "# seed_us"))
    answer = crawl("plan", "--urls", "1000", "--hosts", "10", "--costs", costs)
    assert answer.code == 2
    assert answer.err == f"crawl: {costs}: inject.seed_us is missing\n"


def test_amounts_are_shown_short() -> None:
    assert [format_bytes(999), format_bytes(1e6), format_bytes(5.98e14)] == [
        "999 B",
        "1 MB",
        "598 TB",
    ]
    assert [format_count(0), format_count(1000), format_count(1e20)] == ["0", "1 k", "1e+08 T"]
    assert [format_time(1.5), format_time(600), format_time(7200), format_time(1e6)] == [
        *("1.5 s", "10 min", "2 h", "11.6 d")
    ]
