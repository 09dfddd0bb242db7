"""The OpenAPI description: its examples do what they say, and nothing that is tried breaks it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from prometheus_client.parser import text_string_to_metric_families

from tests.service.api.served import Running, running

MADE = {
    "/v1/crawls/{crawl}": "/v1/crawls",
    "/v1/webhooks/{webhook}": "/v1/webhooks",
    "/v1/jobs/{job}": "/v1/urls",
}
"""Where what a path names is made."""


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Every name of the examples leads to loopback, where nobody asks for anything; streams are
    short."""
    settings = (
        "http.filter.ipaddress.allow.private=false",
        "service.webhooks.allow.private=true",
        "service.http.stream.time=50ms",
    )
    with running(tmp_path_factory.mktemp("described"), *settings) as service:
        yield service


@pytest.fixture(scope="module")
def description(described: Running) -> dict[str, Any]:
    value: dict[str, Any] = described.ask("GET", "/openapi.json").value
    return value


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def made(service: Running, description: dict[str, Any], path: str) -> str:
    """The path with the id of a thing that there is."""
    for template, maker in MADE.items():
        if path.startswith(template):
            body = description["paths"][maker]["post"]["requestBody"]["content"]
            wish = body["application/json"]["example"]
            if maker == "/v1/urls":
                wish = {"url": "https://waiting.example/", "priority": "low"}
            value = service.ask("POST", maker, wish).value
            of = value["jobs"][0]["id"] if maker == "/v1/urls" else value["id"]
            return str(of).join(path.split(template[template.index("{") :]))
    return path


def test_each_example_does_what_is_said(described: Running, description: dict[str, Any]) -> None:
    tried = 0
    for method, path, operation in operations(description):
        asked = made(described, description, path)
        examples = {
            each["name"]: each["example"]
            for each in operation["parameters"]
            if "example" in each and each["in"] == "query"
        }
        if examples:
            asked += "?" + urlencode(examples, quote_via=quote)
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        assert bool(content) == ("requestBody" in operation)
        answer = described.ask(method, asked, content.get("example"))
        status = str(answer.status)
        assert status in operation["responses"], (method, asked, answer)
        if answer.status not in (404, 422, 501):  # of what was not fetched
            assert answer.status < 300, (method, asked, answer)
        kind = answer.headers.get("content-type", "").partition(";")[0]
        said = operation["responses"][status].get("content", {})
        assert (kind in said) == bool(said), (method, asked, kind)
        if kind == "application/json":
            schema = {**said[kind].get("schema", {}), "components": description["components"]}
            Draft202012Validator(schema).validate(answer.value)
        tried += 1
    assert tried >= 20


def test_a_deleted_webhook_is_gone(described: Running, description: dict[str, Any]) -> None:
    path = made(described, description, "/v1/webhooks/{webhook}")
    assert described.ask("DELETE", path).status == 204
    for method, of in (("GET", path), ("DELETE", path), ("POST", f"{path}/resume")):
        assert described.ask(method, of).code == "not_found"


def test_every_operation_is_described(description: dict[str, Any]) -> None:
    ids = []
    for method, path, operation in operations(description):
        ids.append(operation["operationId"])
        assert operation["summary"], (method, path)
        for parameter in operation["parameters"]:
            assert parameter["description"], (method, path, parameter)
            if parameter["required"]:
                assert "example" in parameter, (method, path, parameter)
        if "requestBody" in operation:
            assert "example" in operation["requestBody"]["content"]["application/json"]
        for status in ("429", "503"):
            if status in operation["responses"] and operation["responses"][status].get("content"):
                assert "Retry-After" in operation["responses"][status]["headers"], (method, path)
    assert len(ids) == len(set(ids))


def test_metrics_are_read_by_the_parser_of_prometheus(described: Running) -> None:
    described.ask("GET", "/v1/crawls", headers={"Host": "evil.example"})
    answer = described.ask("GET", "/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = {each.name: each for each in text_string_to_metric_families(answer.body.decode())}
    codes = {
        sample.labels["code"]: sample.value
        for sample in families["nutria_service_api_errors"].samples
    }
    assert codes["host_refused"] >= 1
    assert families["nutria_service_jobs"].samples


def test_health_and_readiness(described: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    assert described.ask("GET", "/healthz").value == {"status": "ok"}
    assert described.ask("GET", "/readyz").value["status"] == "ready"
    # a probe asks by an address that no setting names
    assert described.ask("GET", "/healthz", headers={"Host": "10.1.2.3:80"}).status == 200

    def broken() -> None:
        from crawl.errors import StorageError

        raise StorageError("/var/lib/secret is full")

    monkeypatch.setattr(described.crawl.service.store, "check", broken, raising=False)
    answer = described.ask("GET", "/readyz")
    assert (answer.status, answer.code) == (503, "storage_unavailable")
    assert answer.headers["retry-after"] and b"secret" not in answer.body


@pytest.mark.slow(seconds=60)
def test_schemathesis_finds_nothing(described: Running, tmp_path: Path) -> None:
    """Right and wrong requests by the thousand, written from the description: none breaks it."""
    config = Path(__file__).with_name("schemathesis.toml")
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    command += [f"{described.address}/openapi.json", "--checks=all", "--max-examples=5"]
    # to delete a crawl ends it, and its pages are there for whoever wants them; to delete a
    # webhook's dead letters empties the list of them
    command += ["--exclude-checks=use_after_free"]
    command += ["--seed=27", "--workers=1", "--continue-on-failure", "--no-color"]
    command += ["--generation-database=none", "--request-timeout=120"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert ended.returncode == 0, ended.stdout[-8000:]
    counters = described.crawl.service.counters
    assert not counters["api_errors.internal_error"]
    assert described.ask("GET", "/readyz").status == 200
