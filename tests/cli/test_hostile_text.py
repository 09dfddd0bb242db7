"""Whatever servers say, no command lets it reach a terminal as it is."""

from __future__ import annotations

import csv
import io
import json
import logging
import re
import unicodedata
from pathlib import Path

import pytest

from crawl.errors import UsageError
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from crawl.telemetry import logs
from crawl.telemetry.progress import BarDisplay
from tests.cli.calling import Answer, Caller
from tests.phases.made import NOW, datum, make_crawldb
from tests.phases.made_segments import link, make_segment

WICKED = "a\x1b]0;owned\x07\x9b31m\x7f\x00\r\n\u202eb\u2066c\u200b\u2028\u061cd"
URL = "http://h1.org/p4"
ODD_URL = "http://h1.org/\x1b[2J\u202e"
SEGMENT = "20270101000000"
HIDING = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def assert_safe(text: str, *, besides: str = "\n") -> None:
    hidden = {each for each in text if unicodedata.category(each) in HIDING}
    assert not hidden - set(besides), ascii(text)
    assert "forged" not in text.splitlines()


@pytest.fixture
def crawled(tmp_path: Path) -> str:
    """A crawl whose servers sent hostile text wherever they could."""
    metadata = {
        "_pst_": f"success(http_200): {WICKED}",
        "Content-Type": f"text/html{WICKED}",
        "ETag": f"{WICKED}\nforged",
        "_redirect_": f"http://h2.org/{WICKED}",
        f"key{WICKED}": "value",
    }
    address = str(tmp_path / "crawl")
    records = {
        URL: datum(status=Status.DB_FETCHED, metadata=metadata),
        ODD_URL: datum(score=-2.5),
        "http://h1.org/formula": datum(metadata={"=1+1": "x"}),
    }
    make_crawldb(address, records)
    make_segment(
        CrawlDir(address),
        SEGMENT,
        generate=[(URL, datum())],
        fetch=[(URL, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW, metadata=metadata))],
        contents=[Content(URL, b"x", f"text/html{WICKED}", 200, NOW, truncated=WICKED)],
        parse=[(URL, datum(status=Status.LINKED, metadata=metadata))],
        pages=[
            {
                "url": URL,
                "title": f"{WICKED}\nforged",
                "language": WICKED,
                "message": f"{WICKED}\nforged",
                "outlinks": [link(URL, f"{WICKED}\nforged")],
            }
        ],
    )
    return address


COMMANDS: list[list[str]] = [
    ["readdb", "{}", "--url", URL],
    ["readdb", "{}", "--url", ODD_URL],
    ["readdb", "{}", "--url", f"http://nowhere.org/{WICKED}"],
    ["readdb", "{}", "--top", "5"],
    ["readdb", "{}", "--stats", "--sort"],
    ["explain", "{}", URL],
    ["explain", "{}", ODD_URL],
    ["explain", "{}", f"http://nowhere.org/{WICKED}"],
    ["status", "{}"],
    ["snapshots", "{}"],
    ["filterchecker", ODD_URL, WICKED],
    ["normalizerchecker", ODD_URL, WICKED],
    ["generate", f"no such folder {WICKED}"],
    ["readdb", "{}", "--stats", f"--{WICKED}"],
    ["showproperties", f"no{WICKED}"],
    ["showproperties", "agent.name", "-D", f"http.agent.name={WICKED}"],
    [WICKED],
]


def call(crawl: Caller, command: list[str], crawled: str, *more: str) -> Answer:
    return crawl(*(word.replace("{}", crawled) for word in command), *more)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:40])
def test_commands_for_people(crawl: Caller, crawled: str, command: list[str]) -> None:
    answer = call(crawl, command, crawled)
    assert_safe(answer.out, besides="\n\t")
    assert_safe(answer.err)
    assert answer.out or answer.err


@pytest.mark.parametrize(
    "command", COMMANDS[:12], ids=lambda command: ascii(" ".join(command))[:40]
)
def test_commands_for_programs(crawl: Caller, crawled: str, command: list[str]) -> None:
    answer = call(crawl, command, crawled, "--json")
    assert_safe(answer.out)
    for document in answer.out.splitlines() if "checker" in command[0] else [answer.out]:
        json.loads(document)
    if command == COMMANDS[0]:
        assert answer.json["metadata"]["ETag"] == f"{WICKED}\nforged"


def test_dumps(crawl: Caller, crawled: str, tmp_path: Path) -> None:
    for form, suffix in (("text", "txt"), ("csv", "csv"), ("json", "jsonl")):
        out = tmp_path / form
        assert crawl("readdb", crawled, "--dump", out, "--format", form).code == 0
        text = "".join(part.read_bytes().decode() for part in out.glob(f"*.{suffix}"))
        assert_safe(text)
        if form == "csv":
            rows = {row["Url"]: row for row in csv.DictReader(io.StringIO(text))}
            assert len(rows) == 3
            assert rows["http://h1.org/formula"]["Metadata"] == "'=1+1:x"
            assert [row["Score"] for row in rows.values()].count("-2.5") == 1
        if form == "json":
            values = {row["url"]: row for row in map(json.loads, text.splitlines())}
            assert values[URL]["metadata"]["ETag"] == f"{WICKED}\nforged"
            assert ODD_URL in values


def test_robots_lines(crawl: Caller, tmp_path: Path) -> None:
    robots = tmp_path / "robots.txt"
    hostile = WICKED.replace("\n", "").replace("\r", "")
    robots.write_text(f"User-agent: *\nDisallow: /{hostile}\nSitemap: http://h.org/{hostile}\n")
    for more in ([], ["--json"]):
        answer = crawl("robotsparser", robots, "--agent", "x", "--show", ODD_URL, *more)
        assert_safe(answer.out, besides="\n\t")
        assert_safe(answer.err)


@pytest.mark.parametrize("more", [[], ["--json"], ["--dump-text"]])
def test_a_page(crawl: Caller, tmp_path: Path, more: list[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        f"<title>{WICKED}</title><a href='/{WICKED}'>{WICKED}</a><p>{WICKED}"
        f"<meta name='robots' content='{WICKED}'><link rel=canonical href='/{WICKED}'>"
    )
    answer = crawl("parsechecker", "--file", page, *more)
    assert_safe(answer.out)
    assert_safe(answer.err)


def test_a_fault_is_one_line(crawl: Caller, monkeypatch: pytest.MonkeyPatch, crawled: str) -> None:
    def fails(*_: object, **__: object) -> None:
        raise UsageError(f"the server said {WICKED}\nforged")

    monkeypatch.setattr("crawl.readers.readdb.lookup.find_datum", fails)
    message = crawl("readdb", crawled, "--url", URL).err
    assert_safe(message)
    assert len(message.splitlines()) == 1


def test_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    class Far:
        done, total, pace, remaining = 1, 2, f"waits for {WICKED}", WICKED

    stream = Terminal()
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    bar = BarDisplay("fetch", stream)
    bar.show(Far())
    bar.close()
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())
    assert "waits for a\\x1b]0;owned\\x07" in drawn
    assert_safe(drawn, besides="\n\r")


def test_log_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert logging.lastResort is not None
    monkeypatch.setattr(logging.lastResort, "formatter", None)
    logs.escape_text()
    record = logging.makeLogRecord({"msg": f"{WICKED}", "levelno": 30, "levelname": "WARNING"})
    logging.lastResort.handle(record)
    assert_safe(capsys.readouterr().err)
    record = logging.makeLogRecord({"msg": f"{WICKED}", "levelname": "WARNING"})
    text = logs.JsonLines().format(record)
    assert_safe(text, besides="")
    assert text.isascii() and json.loads(text)["message"] == WICKED
