"""The figures as Prometheus reads them, by its own client's parser."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from crawl.errors import EnvironmentFault
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import FETCH_HANDED_BACK, FETCH_URLS_LEFT, TASK_SECONDS
from crawl.telemetry.prometheus import exported, require_extra
from crawl.telemetry.settings import Settings
from tests.telemetry.collector import collecting

SERVED = Settings(port=0, linger_s=0)


@pytest.fixture
def meter() -> Meter:
    made = Meter()
    made.set(FETCH_URLS_LEFT, 12)
    made.add(FETCH_HANDED_BACK, 3, reason="time_limit")
    made.observe(TASK_SECONDS, 0.7, phase="parse", step="parse")
    return made


def scraped(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def figures(text: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_sees_the_figures_of_the_moment(meter: Meter) -> None:
    with exported(meter, SERVED, "mycrawl", "fetch") as url:
        assert url.startswith("http://127.0.0.1:")
        first = figures(scraped(url))
        meter.set(FETCH_URLS_LEFT, 11)
        second = figures(scraped(url))
    crawl = ("crawl", "mycrawl")
    assert first[("nutria_fetch_urls_left", (crawl,))] == 12
    assert second[("nutria_fetch_urls_left", (crawl,))] == 11
    back = ("nutria_fetch_handed_back_total", (crawl, ("reason", "time_limit")))
    assert first[back] == 3
    task = (("phase", "parse"), ("step", "parse"))
    buckets = {
        dict(labels)["le"]: value
        for (name, labels), value in first.items()
        if name == "nutria_task_seconds_bucket"
    }
    assert buckets["0.5"] == 0
    assert buckets["1.0"] == buckets["+Inf"] == 1
    assert first[("nutria_task_seconds_sum", (crawl, *task))] == 0.7
    assert ("process_resident_memory_bytes", ()) in first


def test_the_port_is_closed_at_the_end(meter: Meter) -> None:
    with exported(meter, SERVED, "c", "fetch") as url:
        scraped(url)
    with pytest.raises(OSError):
        scraped(url)


def test_a_taken_port_gives_way_to_the_next(meter: Meter) -> None:
    with exported(meter, SERVED, "c", "fetch") as first:
        taken = int(first.rpartition(":")[2].partition("/")[0])
        with exported(meter, Settings(port=taken, linger_s=0), "c", "fetch") as second:
            port = int(second.rpartition(":")[2].partition("/")[0])
            assert taken < port < taken + 100
            assert scraped(first)
            assert scraped(second)


def test_an_address_that_is_not_ours_is_reported_in_a_line(meter: Meter) -> None:
    settings = Settings(port=0, address="192.0.2.1")
    with (
        pytest.raises(EnvironmentFault, match=r"metrics\.prometheus\.port: cannot listen on"),
        exported(meter, settings, "c", "fetch"),
    ):
        pass


def test_the_discovery_file_is_there_as_long_as_the_command(meter: Meter, tmp_path: Path) -> None:
    folder = tmp_path / "targets"
    folder.mkdir()
    dead = folder / f"nutria-{socket.gethostname().replace('-', '_')}-4194304.json"
    dead.write_text("[]")
    forgotten = folder / "nutria-another_node-7.json"
    forgotten.write_text("[]")
    os.utime(forgotten, (1, 1))
    fresh = folder / "nutria-another_node-8.json"
    fresh.write_text("[]")
    settings = Settings(port=0, discovery=str(folder), linger_s=0)
    with exported(meter, settings, "c", "fetch") as url:
        (path,) = set(folder.iterdir()) - {fresh}
        (group,) = json.loads(path.read_text())
        assert [f"http://{target}/metrics" for target in group["targets"]] == [url]
    assert list(folder.iterdir()) == [fresh], "those of the dead are swept"


def test_a_command_waits_for_prometheus_to_see_its_end(meter: Meter) -> None:
    """Or it would never hear that the last phase succeeded."""
    ended = threading.Event()
    address: list[str] = []
    began = threading.Event()

    def command() -> None:
        with exported(meter, Settings(port=0, linger_s=60), "c", "updatedb") as url:
            address.append(url)
            scraped(url)
            began.set()
            meter.set(FETCH_URLS_LEFT, 0)
        ended.set()

    thread = threading.Thread(target=command)
    thread.start()
    assert began.wait(30)
    # between two scrapes of ours the command may or may not have come to its end
    while not ended.is_set():
        try:
            last = scraped(address[0])
        except OSError:
            break
        ended.wait(0.05)
    thread.join(30)
    assert not thread.is_alive()
    assert figures(last)[("nutria_fetch_urls_left", (("crawl", "c"),))] == 0


def test_where_nobody_asks_nobody_waits(meter: Meter) -> None:
    with exported(meter, Settings(port=0, linger_s=3600), "c", "updatedb"):
        pass


def test_an_interrupted_command_does_not_wait(meter: Meter) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        exported(meter, Settings(port=0, linger_s=3600), "c", "updatedb") as url,
    ):
        scraped(url)
        raise KeyboardInterrupt


def test_a_textfile_stays_when_the_command_has_ended(meter: Meter, tmp_path: Path) -> None:
    settings = Settings(textfile=str(tmp_path / "node"), interval_s=0.1)
    with exported(meter, settings, "my crawl", "updatedb") as url:
        assert url == ""
        path = tmp_path / "node" / "nutria-my_crawl-updatedb.prom"
        assert path.exists()
        meter.set(FETCH_URLS_LEFT, 1)
    samples = figures(path.read_text())
    assert samples[("nutria_fetch_urls_left", (("crawl", "my crawl"),))] == 1


def test_a_folder_that_cannot_be_written_is_reported_in_a_line(
    meter: Meter, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    settings = Settings(textfile=str(tmp_path / "file"))
    with (
        pytest.raises(EnvironmentFault, match=r"metrics\.textfile: cannot write"),
        exported(meter, settings, "c", "fetch"),
    ):
        pass


def test_what_is_pushed_last_is_how_it_ended(meter: Meter) -> None:
    with collecting() as gateway:
        settings = Settings(pushgateway=gateway.url, interval_s=0.1)
        with exported(meter, settings, "c", "run"):
            meter.set(FETCH_URLS_LEFT, 0)
        path, body = gateway.posts[-1]
    assert path == "/metrics/job/nutria/command/run/crawl/c"
    assert figures(body.decode())[("nutria_fetch_urls_left", (("crawl", "c"),))] == 0


def test_a_gateway_that_is_down_harms_nobody(
    meter: Meter, caplog: pytest.LogCaptureFixture
) -> None:
    with collecting() as gateway:
        gateway.answer = 500
        settings = Settings(pushgateway=gateway.url, interval_s=0.05)
        with exported(meter, settings, "c", "run"):
            threading.Event().wait(0.3)
    warnings = [record for record in caplog.records if "takes no metrics" in record.getMessage()]
    assert len(warnings) == 1, "once, not with every push"


def test_the_missing_extra_is_named_in_a_line() -> None:
    code = """
import sys
sys.modules["prometheus_client"] = None
from crawl.cli.main import main
main(["readdb", "nowhere", "--stats", "-D", "metrics.prometheus.port=0"])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 2
    assert done.stderr == (
        "crawl: metrics.prometheus.port needs prometheus-client: pip install '.[metrics]'\n"
    )


def test_the_extra_is_there_for_tests() -> None:
    require_extra(SERVED)
