"""The five lines of the README in a real Jupyter kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crawl.synthetic.web import Settings, Web, running

pytestmark = [pytest.mark.spark, pytest.mark.slow(seconds=60)]


def cells(folder: Path, hosts: Path, seed: str) -> list[str]:
    settings = {
        "http.agent.name": "mybot",
        "http.filter.ipaddress.allow.private": True,
        "http.resolver.hosts.file": str(hosts),
        "fetcher.server.delay": 0.05,
    }
    return [
        "import crawl",
        f"web = crawl.open({str(folder)!r}, settings={settings!r})",
        f"web.inject([{seed!r}])",
        "web.run(rounds=2)",
        "web.pages().to_pandas()[['url', 'title', 'language']]",
        "web.close()",
    ]


def test_five_lines_in_a_notebook(tmp_path: Path) -> None:
    # half a second, which every process that collects the tests would spend
    import nbclient
    import nbformat

    with running(Web(Settings(sites=2, pages=12))) as server:
        hosts = tmp_path / "hosts.txt"
        hosts.write_text(
            "".join(f"{server.web.address(host)} {host}\n" for host in server.web.hosts())
        )
        notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
        notebook.cells = [
            nbformat.v4.new_code_cell(source)  # type: ignore[no-untyped-call]
            for source in cells(tmp_path / "crawl", hosts, server.web.seeds()[0])
        ]
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert "caption>inject" in html_of(outputs[2])
    assert "caption>run: rounds done" in html_of(outputs[3])
    shown = "".join(
        output.get("text", "") for output in outputs[3] if output.output_type == "stream"
    )
    assert "fetch" in shown  # a progress bar
    assert all(output.get("name") != "stdout" for cell in outputs for output in cell)
    assert server.web.seeds()[0] in html_of(outputs[4])


def html_of(outputs: list[Any]) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in outputs)
