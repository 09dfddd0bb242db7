"""The five lines of the README in a real Jupyter kernel, and its interrupt."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from crawl.synthetic.web import Settings, Web, WebServer, running

pytestmark = [pytest.mark.exhaustive, pytest.mark.spark, pytest.mark.slow(seconds=60)]


DONE = "web.close()"


def settings_of(hosts: Path, delay: float) -> dict[str, object]:
    return {
        "http.agent.name": "mybot",
        "http.filter.ipaddress.allow.private": True,
        "http.resolver.hosts.file": str(hosts),
        "fetcher.server.delay": delay,
    }


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebServer]:
    with running(Web(Settings(sites=2, pages=12))) as server:
        lines = (f"{server.web.address(host)} {host}\n" for host in server.web.hosts())
        (tmp_path / "hosts.txt").write_text("".join(lines))
        yield server


def executed(
    cells: Sequence[str], meanwhile: Callable[[Any], None] | None = None
) -> list[list[Any]]:
    """What each cell shows. `meanwhile` is given the kernel's manager, in a thread."""
    # half a second, which every process that collects the tests would spend
    import nbclient
    import nbformat

    notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    notebook.cells = [
        nbformat.v4.new_code_cell(source)  # type: ignore[no-untyped-call]
        for source in cells
    ]
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", allow_errors=meanwhile is not None
    )
    if meanwhile is not None:
        threading.Thread(target=lambda: meanwhile(client), daemon=True).start()
    client.execute()
    return [cell.outputs for cell in notebook.cells]


def test_five_lines_in_a_notebook(tmp_path: Path, server: WebServer) -> None:
    (seed, *_) = server.web.seeds()
    settings = settings_of(tmp_path / "hosts.txt", 0.05)
    outputs = executed(
        [
            "import crawl",
            f"web = crawl.open({str(tmp_path / 'crawl')!r}, settings={settings!r})",
            f"web.inject([{seed!r}])",
            "web.run(rounds=2)",
            "web.pages().to_pandas()[['url', 'title', 'language']]",
            DONE,
        ]
    )
    assert "caption>inject" in html_of(outputs[2])
    assert "caption>run: rounds done" in html_of(outputs[3])
    shown = "".join(
        output.get("text", "") for output in outputs[3] if output.output_type == "stream"
    )
    assert "fetch" in shown  # a progress bar
    assert all(output.get("name") != "stdout" for cell in outputs for output in cell)
    assert seed in html_of(outputs[4])


def test_a_kernel_s_interrupt_ends_a_run_in_good_order(tmp_path: Path, server: WebServer) -> None:
    """What was fetched is kept, the kernel is usable, and the same call goes on."""
    folder, hosts = tmp_path / "crawl", tmp_path / "hosts.txt"

    def interrupt(client: Any) -> None:
        while not list(folder.glob("segments/*/crawl_fetch/chunks")):
            time.sleep(0.05)
        asyncio.run(client.km.interrupt_kernel())

    opened = "web = crawl.open({!r}, settings={!r})".format
    outputs = executed(
        [
            f"import crawl; {opened(str(folder), settings_of(hosts, 60.0))}",
            f"web.run(rounds=1, urls={server.web.seeds()!r})",
            "web.status()[-1]['state']",
            f"web.close(); {opened(str(folder), settings_of(hosts, 0.05))}",
            "web.run(rounds=1)",
            DONE,
        ],
        meanwhile=interrupt,
    )
    (error,) = [output for output in outputs[1] if output.output_type == "error"]
    assert error.ename == "Interrupted"
    (state,) = outputs[2]
    assert state["data"]["text/plain"] == "'interrupted'"
    assert "caption>run: rounds done" in html_of(outputs[4])
    assert not [output for cell in outputs[2:] for output in cell if output.output_type == "error"]


def html_of(outputs: list[Any]) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs)
