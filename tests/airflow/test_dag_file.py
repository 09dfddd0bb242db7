"""The DAG file as it is parsed, without Airflow and without Spark."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from crawl.cli.main import crawl as cli
from crawl.errors import NOTHING_MORE
from crawl.operations.options import fields_of
from crawl.rounds.options import RunOptions
from crawl.rounds.steps import (
    AFTER_ROUNDS,
    CrawlParams,
    RoundOptions,
    task_graph,
)
from tests.airflow.pretended import DAG_FILE, AirflowException, AirflowSkipException, parsed

PHASES = ("generate", "fetch", "parse", "updatedb")
AFTER = [step.name for step in AFTER_ROUNDS]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLAVOUR", "MAX_ROUNDS", "RETRIES", "COMMAND", "JOBS", "SPARK_CONN"):
        monkeypatch.delenv(f"NUTRIA_{name}", raising=False)


def asked(**params: Any) -> dict[str, Any]:
    return {
        "crawl_dir": "my crawl",
        "seeds": ["a.txt", "it's; rm -rf b"],
        "rounds": 2,
        "top_n": 100,
        "num_fetchers": 4,
        "threads": 7,
        "time_limit_min": 30,
        "master": "local[2]",
        "conf": "conf",
        "settings": ["http.agent.name=my bot"],
        "after": ["dedup"],
        **params,
    }


def options_of(name: str, flag: str) -> list[click.Option]:
    """The options of a command with that flag."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return [each for each in command.params if isinstance(each, click.Option) and flag in each.opts]


@pytest.mark.parametrize("flavour", ["command", "spark-submit"])
def test_a_task_a_phase_a_round_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, flavour: str
) -> None:
    found = parsed(monkeypatch, NUTRIA_FLAVOUR=flavour, NUTRIA_MAX_ROUNDS="3")
    assert found.order == [task.name for task in task_graph(3)]
    assert found.order[-len(AFTER) - 1] == "round_3.updatedb"
    assert found.order[-len(AFTER) :] == [f"after_rounds.{name}" for name in AFTER]
    assert set(found.operators) == set(found.order)
    rules = {name: task.options["trigger_rule"] for name, task in found.operators.items()}
    # a round that is skipped has all later ones skipped, a crawl without seeds has not, and what
    # follows the rounds does not ask how many there were
    assert rules.pop("round_1.generate") == "none_failed"
    assert {rules.pop(f"after_rounds.{name}") for name in AFTER} == {"none_failed"}
    assert set(rules.values()) == {"all_success"}
    assert found.dag["default_args"]["retries"] == 2


def test_by_default_there_are_ten_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(parsed(monkeypatch).order) == 1 + 10 * len(PHASES) + len(AFTER)


def test_the_parameters_are_those_that_a_round_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    params = parsed(monkeypatch, NUTRIA_MAX_ROUNDS="5").dag["params"]
    assert set(params) == set(CrawlParams.__annotations__)
    usual = RoundOptions()
    assert (params["top_n"].default, params["threads"].default) == (usual.top_n, usual.threads)
    assert (params["rounds"].minimum, params["rounds"].maximum) == (1, 5)
    assert all(param.description for param in params.values())


def test_a_parameter_is_declared_by_the_option_of_run(monkeypatch: pytest.MonkeyPatch) -> None:
    params = parsed(monkeypatch).dag["params"]
    fields = {field.name: field for field in fields_of(RunOptions)}
    for name, option, kind in (
        ("seeds", "files", "array"),
        ("top_n", "top_n", "integer"),
        ("num_fetchers", "num_fetchers", ["null", "integer"]),
        ("threads", "threads", "integer"),
        ("time_limit_min", "time_limit_min", "number"),
        ("after", "then", "array"),
    ):
        assert (params[name].type, params[name].description) == (kind, fields[option].help)
    assert {params[name].minimum for name in ("top_n", "num_fetchers", "threads")} == {1}
    assert (params["num_fetchers"].default, params["time_limit_min"].default) == (None, 180)
    assert (params["seeds"].default, params["seeds"].items) == ([], {"type": "string"})


@pytest.mark.parametrize(
    ("crawl_dir", "accepted"),
    [
        *(("/data/crawl", True), ("s3://bucket/crawl", True), ("hdfs://nn:8020/crawl", True)),
        *(("crawl", False), ("./crawl", False), ("/", False), ("s3://", False), ("", False)),
    ],
)
def test_a_folder_that_would_be_another_for_each_task_is_refused(
    monkeypatch: pytest.MonkeyPatch, crawl_dir: str, accepted: bool
) -> None:
    pattern = parsed(monkeypatch).dag["params"]["crawl_dir"].pattern
    assert bool(re.search(pattern, crawl_dir)) is accepted


def test_commands_are_quoted_for_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    found = parsed(monkeypatch, NUTRIA_COMMAND="nice /opt/crawl")
    for task in task_graph(10):
        line = found.rendered(task.name, asked())
        assert shlex.split(line)[:2] == ["nice", "/opt/crawl"]
        arguments = task.command_line(asked())  # type: ignore[arg-type]
        assert shlex.split(line)[2:] == arguments
        assert found.operators[task.name].options["skip_on_exit_code"] == NOTHING_MORE
    assert "'it'\"'\"'s; rm -rf b'" in found.rendered("inject", asked())
    assert not found.dag["render_template_as_native_obj"]


def test_jobs_get_the_same_arguments_but_the_master(monkeypatch: pytest.MonkeyPatch) -> None:
    found = parsed(monkeypatch, NUTRIA_FLAVOUR="spark-submit", NUTRIA_PY_FILES="nutria.zip")
    # a list, not its text
    assert found.dag["render_template_as_native_obj"]
    for task in task_graph(10):
        options = found.operators[task.name].options
        assert Path(options["application"]) == DAG_FILE.parents[2] / "jobs" / "nutria.py"
        assert Path(options["application"]).is_file()
        assert options["conn_id"] == "spark_default"
        assert options["py_files"] == "nutria.zip"
        arguments = task.command_line(asked(master=None))  # type: ignore[arg-type]
        assert found.rendered(task.name, asked()) == arguments


@pytest.mark.parametrize("flavour", ["command", "spark-submit"])
def test_a_fetch_is_told_of_further_rounds(monkeypatch: pytest.MonkeyPatch, flavour: str) -> None:
    """But for the last that was asked for, however many the graph has; nothing else is."""
    found = parsed(monkeypatch, NUTRIA_FLAVOUR=flavour, NUTRIA_MAX_ROUNDS="4")

    def tasks_told(rounds: int) -> set[str]:
        lines = {name: found.rendered(name, asked(rounds=rounds)) for name in found.operators}
        words = {
            name: line if isinstance(line, list) else shlex.split(line)
            for name, line in lines.items()
        }
        return {name for name in found.order if "--more-rounds" in words[name]}

    assert tasks_told(3) == {"round_1.fetch", "round_2.fetch"}
    assert tasks_told(1) == set()
    (option,) = options_of("fetch", "--more-rounds")
    assert option.is_flag


def test_what_nobody_asked_for_is_skipped_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    found = parsed(monkeypatch)

    def skipped(name: str, **params: Any) -> bool:
        try:
            found.operators[name].options["pre_execute"]({"params": asked(**params)})
        except AirflowSkipException:
            return True
        return False

    assert not skipped("inject")
    assert skipped("inject", seeds=[])
    assert not skipped("round_1.generate", seeds=[])
    assert not skipped("round_2.generate")
    assert skipped("round_3.generate")
    assert not skipped("after_rounds.dedup")
    assert skipped("after_rounds.index")
    assert not skipped("after_rounds.index", after=AFTER, rounds=1, seeds=[])


def test_what_follows_the_rounds_is_in_the_order_in_which_one_needs_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = parsed(monkeypatch)
    place = {name.removeprefix("after_rounds."): at for at, name in enumerate(found.order)}
    for first, then in (
        ("webgraph", "linkrank"),
        ("linkrank", "scoreupdater"),
        ("scoreupdater", "dedup"),  # the score decides who survives
        ("dedup", "updatehostdb"),  # which counts duplicates
        ("dedup", "index"),
        ("invertlinks", "index"),  # whose documents have anchors
        ("index", "clean"),
    ):
        assert place[first] < place[then]
    line = found.rendered("after_rounds.dedup", asked(settings=[], conf=None, master=None))
    assert line == "crawl dedup 'my crawl' --if-due"
    assert found.dag["params"]["after"].default == [], "nobody has it who does not ask"
    assert found.dag["params"]["after"].items["enum"] == AFTER


@pytest.mark.parametrize("name", AFTER)
def test_a_command_that_is_called_again_is_no_fault(name: str) -> None:
    (option,) = options_of(name, "--if-due")
    assert option.is_flag


def test_the_exit_code_of_a_submitted_job(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = parsed(monkeypatch, NUTRIA_FLAVOUR="spark-submit").operators["round_2.generate"]

    def ends_with(code: int) -> None:
        def run() -> None:
            raise AirflowException(f"Cannot execute: spark-submit. Error code is: {code}.")

        operator.options["run"] = run

    ends_with(NOTHING_MORE)
    with pytest.raises(AirflowSkipException):
        operator.execute({})
    ends_with(1)
    with pytest.raises(AirflowException) as raised:
        operator.execute({})
    assert raised.type is AirflowException
    operator.options["run"] = lambda: None
    operator.execute({})


def test_a_flavour_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="'submit': give one of command, spark-submit"):
        parsed(monkeypatch, NUTRIA_FLAVOUR="submit")
