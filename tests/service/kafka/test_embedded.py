"""The service in one process beside Kafka: wishes come by a topic, ends go to one."""

from __future__ import annotations

import json

import pytest

from tests.plugins.indexwriter.real_kafka import RealKafka
from tests.service.kafka.conftest import StartRole, prefix_of
from tests.service.kafka.site import Web, wait_for
from tests.service.kafka.topics import TopicReader, put

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=30)]


def test_wishes_in_finished_out(
    kafka: RealKafka, web: Web, start_role: StartRole, request: pytest.FixtureRequest
) -> None:
    prefix = prefix_of(request)
    start_role("all").wait_until_ready()
    urls = [web.url(f"h{number % 3}.test", f"/{number}") for number in range(9)]
    hop = web.url("short.test", "/to/h0.test/0")
    wishes = [json.dumps({"url": url, "tags": ["mine"]}).encode() for url in [*urls, hop]]
    wrong = [
        b"{",
        b"",
        b'{"url": 7}',
        b'{"url": "ftp://x.test/"}',
        b"\xff\xfe",
        b'{"url":"' + b"x" * 70_000,
    ]
    put(kafka.address, f"{prefix}.wishes", [*wishes, *wrong])
    finished = TopicReader(kafka.address, f"{prefix}.finished")
    wait_for(
        lambda: len({each["url"] for each in finished.read()}) >= 10, lambda: str(finished.values)
    )
    by_url = {each["url"]: each for each in finished.values}
    assert set(by_url) == {*urls, hop}
    assert all(each["tags"] == ["mine"] for each in finished.values)
    assert by_url[urls[3]]["page"]["title"] == "Page /3"
    assert by_url[hop]["final_url"] == urls[0]
    refused = TopicReader(kafka.address, f"{prefix}.refused")
    wait_for(lambda: len(refused.read()) >= len(wrong), lambda: str(refused.values))
    reasons = sorted(each["reason"] for each in refused.values)
    assert len(reasons) == len(wrong)
    assert "scheme" in reasons
    assert sum(reason.startswith("invalid: ") for reason in reasons) == len(wrong) - 1
    # what is known is told at once, and nobody is asked again
    asked = len(web.log())
    put(kafka.address, f"{prefix}.wishes", [wishes[0]])
    wait_for(
        lambda: any(each["state"] == "answered" for each in finished.read()),
        lambda: str(finished.values),
    )
    assert len(web.log()) == asked
    finished.close()
    refused.close()
