from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from crawl.cli.derived import command_of
from crawl.config import Config
from crawl.config.properties import CORE
from crawl.config.render import render
from crawl.declared import declared_properties
from crawl.errors import ConfigError, UsageError
from crawl.operations.registry import commands


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command_of(commands()["showproperties"]), arguments)


def as_json(*arguments: str) -> list[dict[str, Any]]:
    result = run("--json", *arguments)
    assert result.exit_code == 0, result.output
    answer: list[dict[str, Any]] = json.loads(result.stdout)
    return answer


def test_every_property_by_key() -> None:
    keys = [line["key"] for line in as_json()]
    assert keys == sorted(keys)
    assert set(CORE) <= set(keys)


def test_a_line_says_value_unit_and_origin(tmp_path: Path) -> None:
    site = tmp_path / "crawl-site.toml"
    site.write_text('"crawl.gen.delay" = "1d"\n')
    options = ["--conf", str(tmp_path), "-D", "fetcher.server.delay=500ms"]
    lines = {line["key"]: line for line in as_json(*options)}
    delay = lines["fetcher.server.delay"]
    assert (delay["value"], delay["unit"], delay["origin"]) == (0.5, "s", "-D")
    reserved = lines["crawl.gen.delay"]
    assert (reserved["value"], reserved["unit"], reserved["origin"]) == (86400000, "ms", str(site))
    mode = lines["generate.count.mode"]
    assert (mode["value"], mode["unit"], mode["origin"]) == ("host", "", "default")
    assert mode["kind"] == "choice"
    assert mode["about"]


SECRETS = [
    *("-D", "http.proxy.password=s4711"),
    *("-D", "ftp.password=s4711"),
    *("-D", "spark.hadoop.fs.s3a.secret.key=s4711"),
    *("-D", "http.custom.headers=X-Api-Key: s4711\nX-Colour: red"),
    *("-D", "metrics.pushgateway.url=http://me:s4711@gw:9091"),
]


@pytest.mark.parametrize("more", [[], ["--json"], ["--changed"], ["--toml"]])
def test_secrets_are_masked(more: list[str]) -> None:
    result = run(*SECRETS, *more)
    assert result.exit_code == 0
    assert "4711" not in result.output
    if "--toml" not in more:
        assert "5 values are secrets, shown as ***; --show-secrets prints them" in result.stderr
        assert "X-Colour: red" in result.stdout


def test_secrets_are_shown_on_request() -> None:
    properties = {line["key"]: line for line in as_json(*SECRETS, "--show-secrets")}
    assert properties["http.proxy.password"]["value"] == "s4711"
    assert not properties["http.proxy.password"]["masked"]
    masked = {line["key"]: line for line in as_json(*SECRETS)}
    assert (masked["http.proxy.password"]["value"], masked["http.proxy.password"]["masked"]) == (
        "***",
        True,
    )
    assert masked["http.proxy.username"]["masked"] is False


def test_no_fault_repeats_a_secret(tmp_path: Path) -> None:
    site = tmp_path / "crawl-site.toml"
    site.write_text('"http.proxy.password" = 4711\n')
    for wrong in (["--conf", str(tmp_path)], ["-D", "http.proxy.password:4711"]):
        result = run(*wrong)
        assert isinstance(result.exception, ConfigError)
        assert "4711" not in str(result.exception) and "***" in str(result.exception)
    digests = {Config.of({"http.proxy.password": word}).digest() for word in ("a", "b")}
    assert len(digests) == 1


def test_as_text_on_one_line_each(tmp_path: Path) -> None:
    result = run("generate.count.mode", "--conf", str(tmp_path))
    assert result.exit_code == 0
    (line,) = [line for line in result.stdout.splitlines() if "generate.count.mode" in line]
    assert line.split() == ["generate.count.mode", "host", "default"]


def test_values_as_they_would_be_typed() -> None:
    result = run("-D", "scoring.filter.order=opic,depth", "scoring.filter.order")
    assert "opic depth" in result.stdout
    assert "false" in run("db.injector.update").stdout


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("INJECTOR", {"db.injector.overwrite", "db.injector.update"}),
        ("db.*.update", {"db.injector.update"}),
        ("fetcher.threads.fetch", {"fetcher.threads.fetch"}),
    ],
)
def test_a_pattern(pattern: str, wanted: set[str]) -> None:
    assert {line["key"] for line in as_json(pattern)} == wanted


def test_a_pattern_that_fits_nothing() -> None:
    result = run("fetcher.server.dealy")
    assert isinstance(result.exception, UsageError) or result.exit_code == 2
    assert "did you mean 'fetcher.server.delay'?" in f"{result.exception}{result.output}"


def test_only_what_was_changed(tmp_path: Path) -> None:
    options = ["--conf", str(tmp_path), "--changed"]
    assert as_json(*options) == []
    options += ["-D", "db.injector.update=true", "-D", "generate.max.count=-1", "-D", "spark.x=y"]
    assert [(line["key"], line["value"]) for line in as_json(*options)] == [
        ("db.injector.update", True),
        ("spark.x", "y"),
    ]


def test_the_documented_defaults() -> None:
    result = run("--toml")
    assert result.stdout == render([*CORE.values(), *declared_properties()])
    assert set(CORE) <= set(tomllib.loads(result.stdout))


def test_a_wrong_setting_is_a_fault() -> None:
    result = run("-D", "generate.max.count=many")
    assert isinstance(result.exception, ConfigError) or result.exit_code == 2
    assert "generate.max.count: expected an integer" in f"{result.exception}{result.output}"
