"""crawl run through the command line, on Spark, over the synthetic web."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.run import FetchResult
from crawl.phases.generate import run as generate
from crawl.rounds.steps import STOP_FILE
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import hold_lock
from crawl.synthetic.web import Settings, Web, WebServer, duplicates, running
from tests.cli.calling import Caller
from tests.phases.fetch_commands import write_conf
from tests.phases.made import records_of
from tests.phases.webs import listed

on_spark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.fixture
def server() -> Iterator[WebServer]:
    with running(Web(Settings.plain(3, 24, port=0, size=500))) as server:
        yield server


@pytest.fixture
def conf(tmp_path: Path, server: WebServer) -> Path:
    return write_conf(tmp_path / "conf", server)


@pytest.fixture
def seeds(tmp_path: Path, server: WebServer) -> Path:
    path = tmp_path / "seeds.txt"
    path.write_text("\n".join(server.web.seeds()))
    return path


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*arguments: object, **more: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("crawl.spark.runners.SparkOptions.session", started)


def rows_of(table: str) -> dict[str, float]:
    """The figures of a table by what they are of."""
    pairs = (line.rsplit(maxsplit=1) for line in table.splitlines()[1:])
    return {what: float(figure.replace(",", "")) for what, figure in pairs}


class TestOnSpark:
    pytestmark = on_spark

    def test_from_seeds_until_nothing_is_due(
        self, crawl: Caller, tmp_path: Path, server: WebServer, conf: Path, seeds: Path
    ) -> None:
        answer = crawl("run", tmp_path / "c", "--seeds", seeds, "--conf", conf)
        assert answer.code == 0, answer.err
        assert answer.out.splitlines()[0].split() == ["what", "round", "1"]
        rows = rows_of(answer.out)
        assert rows["fetched"] == 3
        assert rows["URLs in the db"] == 3 + rows["new"]
        for phase in ("inject", "generate", "fetch", "parse", "updatedb"):
            assert rows[f"{phase}, seconds"] >= 0
        assert answer.err.splitlines()[-1] == "run: 1 round done"

        steps = ["--then", "invertlinks,dedup", "-D", "linkdb.ignore.internal.links=false"]
        done = crawl("run", tmp_path / "c", "--top-n", 3, "--conf", conf, *steps, "--json")
        assert done.code == 0, done.err
        assert [(step["step"], step["is_done"]) for step in done.json["after"]] == [
            *(("invertlinks", True), ("dedup", True))
        ]
        assert done.json["after"][0]["counters"]["links_kept"] > 0
        assert "run: dedup: done in " in done.err

        answer = crawl("run", tmp_path / "c", "--until-empty", "--top-n", 9, "--conf", conf)
        assert answer.code == 0, answer.err
        *each, together = answer.out.split("\n\n")
        assert together.splitlines()[0].split() == ["what", "all", str(len(each)), "rounds"]
        assert rows_of(together)["fetched"] == 18
        assert sum(rows_of(table)["fetched"] for table in each) == 18
        assert rows_of(together)["URLs in the db"] == 24
        assert answer.err.splitlines()[-1].endswith("rounds done, nothing more is due")
        assert set(records_of(CrawlDir(str(tmp_path / "c")))) == set(server.web.urls())
        assert not duplicates(server.requests())

        nothing = crawl("run", tmp_path / "c", "--rounds", 3, "--conf", conf)
        assert (nothing.code, nothing.out) == (1, "")
        assert nothing.err.splitlines()[-1] == "run: nothing is due, nothing was done"

    def test_for_programs(self, crawl: Caller, tmp_path: Path, conf: Path, seeds: Path) -> None:
        options = ["--seeds", seeds, "--conf", conf, "--rounds", 2, "--json", "--quiet"]
        result = crawl("run", tmp_path / "c", *options).json
        assert result["ending"] == "rounds_done"
        first, second = result["rounds"]
        assert first["fetched"] == 3
        assert second["number"] == 2
        assert second["db_urls"] == first["db_urls"] + second["new"]
        assert set(second["seconds"]) == {"generate", "fetch", "parse", "updatedb"}

    def test_what_other_commands_began_is_finished_first(
        self, crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
    ) -> None:
        directory, name = listed(str(tmp_path / "c"), server.web.seeds())
        assert crawl("fetch", directory.address, "--conf", conf).code == 0
        answer = crawl("run", directory.address, "--conf", conf)
        assert answer.code == 0, answer.err
        lines = [line for line in answer.err.splitlines() if name in line or "generate" in line]
        assert lines == [f"run: parse {name}", f"run: updatedb {name}"]
        assert not duplicates(server.requests())

    def test_a_signal_ends_a_fetch_in_good_order(
        self,
        crawl: Caller,
        tmp_path: Path,
        server: WebServer,
        conf: Path,
        seeds: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        run = fetch.run

        def signalled(*arguments: Any) -> FetchResult:
            signal.raise_signal(signal.SIGTERM)
            return run(*arguments)

        directory = tmp_path / "c"
        with monkeypatch.context() as patched:
            patched.setattr(fetch, "run", signalled)
            slow = ["-D", "fetcher.server.delay=0.5"]
            answer = crawl("run", directory, "--seeds", seeds, "--conf", conf, *slow)
        assert answer.code == 130, answer.err
        assert "run: stopping gracefully; interrupt again to stop at once" in answer.err
        message = "run: interrupted, 0 rounds done; run the same command to resume"
        assert answer.err.splitlines()[-1] == message
        again = crawl("run", directory, "--conf", conf)
        assert again.code == 0, again.err
        assert rows_of(again.out)["fetched"] == 3

    def test_a_signal_ends_any_other_step_at_once(
        self,
        crawl: Caller,
        tmp_path: Path,
        conf: Path,
        seeds: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def hangs(*arguments: Any, **more: Any) -> None:
            signal.raise_signal(signal.SIGINT)
            signal.sigtimedwait([], 60)
            raise AssertionError("the signal was not heard")

        with monkeypatch.context() as patched:
            patched.setattr(generate, "run", hangs)
            answer = crawl("run", tmp_path / "c", "--seeds", seeds, "--conf", conf)
        assert answer.code == 130, answer.err
        assert "interrupted, 0 rounds done" in answer.err.splitlines()[-1]
        assert crawl("run", tmp_path / "c", "--conf", conf).code == 0

    def test_a_locked_crawldb_is_one_line_and_can_be_gone_on_with(
        self, crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
    ) -> None:
        directory, name = listed(str(tmp_path / "c"), server.web.seeds())
        segment = directory.segments.segment(name)
        with hold_lock(segment.folder, "fetch", SystemClock(), stale_after_ms=1e9, heartbeat_s=60):
            answer = crawl("run", directory.address, "--conf", conf, "--quiet")
            assert (answer.code, answer.out) == (3, "")
            assert "is locked: fetch by" in answer.err
            assert answer.err.count("\n") == 1
        assert crawl("run", directory.address, "--conf", conf).code == 0

    @pytest.mark.parametrize(("signalled", "code"), [(False, 2), (True, 130)])
    def test_a_jvm_that_dies_is_one_line(
        self,
        crawl: Caller,
        tmp_path: Path,
        conf: Path,
        seeds: Path,
        monkeypatch: pytest.MonkeyPatch,
        signalled: bool,
        code: int,
    ) -> None:
        def dies(*arguments: object) -> FetchResult:
            if signalled:
                signal.raise_signal(signal.SIGTERM)
            raise ConnectionRefusedError("nobody there")

        monkeypatch.setattr(fetch, "run", dies)
        answer = crawl("run", tmp_path / "c", "--seeds", seeds, "--conf", conf)
        assert answer.code == code
        assert "run the same command to resume" in answer.err.splitlines()[-1]

    def test_a_stop_file_in_the_middle(
        self,
        crawl: Caller,
        tmp_path: Path,
        conf: Path,
        seeds: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        run = fetch.run

        def stopped(*arguments: Any) -> FetchResult:
            (tmp_path / "c" / STOP_FILE).touch()
            return run(*arguments)

        monkeypatch.setattr(fetch, "run", stopped)
        answer = crawl("run", tmp_path / "c", "--seeds", seeds, "--conf", conf)
        assert answer.code == 0, answer.err
        message = f"run: {tmp_path}/c/{STOP_FILE} exists, 0 rounds done; delete it to continue"
        assert answer.err.splitlines()[-1] == message


@pytest.mark.usefixtures("no_spark")
class TestWithoutSpark:
    def test_the_plan_of_a_new_crawl(
        self, crawl: Caller, tmp_path: Path, conf: Path, seeds: Path
    ) -> None:
        options = ["--seeds", seeds, "--rounds", 4, "--num-fetchers", 2, "--conf", conf]
        answer = crawl("run", tmp_path / "c", *options, "--dry-run")
        assert answer.code == 0, answer.err
        lines = [line.split(maxsplit=6) for line in answer.out.splitlines()[1:]]
        assert [line[4] for line in lines[1:]] == ["generate", "fetch", "parse", "updatedb"]
        assert f"crawl inject {tmp_path}/c {seeds}" in answer.out
        assert f"crawl generate {tmp_path}/c --top-n 50000 --num-fetchers 2" in answer.out
        assert (
            f"crawl fetch {tmp_path}/c SEGMENT"
            " -D fetcher.threads.fetch=50 -D fetcher.timelimit.mins=180"
        ) in answer.out
        assert "each of 4 rounds" in answer.out
        assert not (tmp_path / "c").exists()

    def test_the_plan_of_a_crawl_that_was_interrupted(
        self, crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
    ) -> None:
        directory, name = listed(str(tmp_path / "c"), server.web.seeds())
        plan = crawl("run", directory.address, "--conf", conf, "--dry-run", "--json").json
        begun = [step for step in plan if step["when"] == "to finish what was begun"]
        assert [step["step"] for step in begun] == ["fetch", "parse", "updatedb"]
        assert all(step["command"][:3][1:] == [directory.address, name] for step in begun)
        assert [step["step"] for step in plan[3:]] == ["generate", "fetch", "parse", "updatedb"]
        assert not server.requests()

    def test_the_configuration_goes_before_what_is_usual_and_an_option_before_both(
        self, crawl: Caller, tmp_path: Path, conf: Path, seeds: Path
    ) -> None:
        def settings(*options: object) -> list[str]:
            plan = crawl(
                *("run", tmp_path / "c", "--seeds", seeds, "--conf", conf, "--dry-run", "--json"),
                *options,
            ).json
            (command,) = [step["command"] for step in plan if step["step"] == "fetch"]
            return [word for word in command if "=" in word]

        configured = ["-D", "fetcher.threads.fetch=3", "-D", "fetcher.timelimit.mins=7"]
        assert settings(*configured) == ["fetcher.threads.fetch=3", "fetcher.timelimit.mins=7"]
        arguments = ["--num-threads", 4, "--time-limit-fetch", -1]
        assert settings(*configured, *arguments) == [
            *("fetcher.threads.fetch=4", "fetcher.timelimit.mins=-1"),
        ]

    def test_a_stop_file_from_the_start(self, crawl: Caller, made: str, conf: Path) -> None:
        Path(made, STOP_FILE).touch()
        answer = crawl("run", made, "--conf", conf)
        assert (answer.code, answer.out) == (1, "")
        assert f"{made}/{STOP_FILE} exists: delete it" in answer.err

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (["--wait", "5x"], "'5x' is no time to wait"),
            (["--until-empty", "--rounds", "3"], "--until-empty"),
            (["--until-empty", "--wait", "3m"], "--until-empty"),
            (["--rounds", "0"], "--rounds"),
            (["--rounds", "-2"], "--rounds"),
            (["--seeds", "nowhere/none.txt"], "nowhere/none.txt"),
            (["-D", "http.agent.name="], "http.agent.name"),
            (["-D", "fetcher.thread.fetch=3"], "fetcher.threads.fetch"),
        ],
    )
    def test_what_cannot_be_meant_is_reported_first(
        self, crawl: Caller, made: str, conf: Path, options: list[str], expected: str
    ) -> None:
        answer = crawl("run", made, "--conf", conf, *options)
        assert (answer.code, answer.out) == (2, "")
        assert expected in answer.err

    def test_neither_seeds_nor_a_crawldb(self, crawl: Caller, tmp_path: Path, conf: Path) -> None:
        answer = crawl("run", tmp_path / "none", "--conf", conf)
        assert (answer.code, answer.out) == (2, "")
        assert "has no CrawlDb yet" in answer.err
        assert not (tmp_path / "none").exists()

    def test_the_plan_of_what_follows(
        self, crawl: Caller, tmp_path: Path, conf: Path, seeds: Path
    ) -> None:
        options = ["--seeds", seeds, "--conf", conf, "--dry-run", "--json"]
        steps = ["--then", "clean,index", "--then", "invertlinks"]
        plan = crawl("run", tmp_path / "c", *options, *steps, "--add-days", 7).json
        assert [step["step"] for step in plan][-3:] == ["invertlinks", "index", "clean"]
        assert {step["when"] for step in plan[-3:]} == {"after the rounds"}
        assert plan[-1]["command"] == ["clean", f"{tmp_path}/c"]
        assert plan[1]["command"][-2:] == ["--add-days", "7"]
        plan = crawl("run", tmp_path / "c", *options, *steps, "--wait", "1h").json
        assert {step["when"] for step in plan[-3:]} == {"after each round"}

    @pytest.mark.parametrize(
        ("wrong", "line"),
        [
            (["--then", "indx"], "no step that can follow the rounds (did you mean 'index'?)"),
            (["--then", "clean"], "clean needs what index makes: add it to --then"),
            (["--then", "index", "-D", "index.writers=jsnl"], "jsnl"),
            (["--add-days", "-1"], "--add-days: expected a number from 0 to 1,000,000, got '-1'"),
            (["--add-days", "7", "--wait", "1h"], "--add-days and --wait exclude each other"),
        ],
    )
    def test_wrong_steps_are_told_before_anything_is_started(
        self, crawl: Caller, tmp_path: Path, conf: Path, seeds: Path, wrong: list[str], line: str
    ) -> None:
        answer = crawl("run", tmp_path / "c", "--seeds", seeds, "--conf", conf, *wrong)
        assert answer.code == 2, answer.err
        assert line in answer.err
        assert answer.err.count("\n") == 1
        assert not (tmp_path / "c").exists()

    def test_the_plan_where_the_fetch_parses(
        self, crawl: Caller, tmp_path: Path, conf: Path, seeds: Path
    ) -> None:
        options = ["--seeds", seeds, "--conf", conf, "-D", "fetcher.parse=true"]
        plan = crawl("run", tmp_path / "c", *options, "--dry-run", "--json").json
        assert [step["step"] for step in plan] == ["inject", "generate", "fetch", "updatedb"]
