from __future__ import annotations

import json

from crawl.model.report import Report


def test_as_json() -> None:
    report = Report("inject", 5, "digest", options={"update": True})
    report.counters["b"] += 2
    report.counters["a"] += 1
    report.details["odd"] = {1, 2} - {2}
    content = json.loads(report.as_json())
    assert list(content["counters"].items()) == [("a", 1), ("b", 2)]
    assert content["phase"] == "inject"
    assert content["options"] == {"update": True}
    assert content["details"]["odd"] == "{1}"


def test_samples_are_limited_for_each_reason() -> None:
    report = Report("inject", 5, "digest")
    report.add_samples({"x": ["1", "2"], "y": ["1"]}, 3)
    report.add_samples({"x": ["3", "4"], "z": []}, 3)
    report.add_samples({"x": ["5"]}, 3)
    assert report.samples == {"x": ["1", "2", "3"], "y": ["1"], "z": []}
    report.add_samples({"x": ["6"], "y": ["2", "3", "4"]}, 3)
    assert report.samples["x"] == ["1", "2", "3"]
    assert report.samples["y"] == ["1", "2", "3"]


def test_secrets_are_not_written_down() -> None:
    params = {"topic": "t", "password": "hush", "properties": "sasl.password=hush,client.id=x"}
    report = Report("index", 5, "digest", options={"parameters": params, "force": False})
    assert "hush" not in report.as_json()
    assert params["password"] == "hush", "the work itself needs it"
    kept = json.loads(report.as_json())["options"]
    assert kept["parameters"]["topic"] == "t" and kept["force"] is False
