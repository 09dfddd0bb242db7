"""One session for all crawls of a process, opened and stopped by many threads: no JVM is needed to
see who opens, who shares and who stops."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.spark import session, shared_session
from crawl.spark.runners import SparkOptions

THREADS = 8
TIMES = 60


class FakeContext:
    _gateway = None

    def __init__(self) -> None:
        self._jsc: object | None = None
        self.files: list[str] = []

    def addPyFile(self, path: str) -> None:  # noqa: N802
        self.files.append(path)


class FakeSession:
    def __init__(self, process: FakeProcess) -> None:
        self.sparkContext = FakeContext()
        self._process = process

    def stop(self) -> None:
        assert self._process.active is self, "it was stopped twice"
        self.sparkContext._jsc = None
        _let_others_run()
        self._process.active = None


class FakeProcess:
    """What pyspark knows of this process."""

    def __init__(self) -> None:
        self.active: Any = None
        self.opened = 0

    @property
    def is_open(self) -> bool:
        return self.active is not None

    def current(self) -> Any:
        if self.active is not None:
            # 'SparkContext' object has no attribute 'master'
            assert self.active.sparkContext._jsc is not None, "it is not whole"
        return self.active

    def launch(self, *_: object) -> Any:
        assert self.active is None, "a process has one session"
        self.active = FakeSession(self)  # which other threads see from here on
        _let_others_run()
        self.active.sparkContext._jsc = object()
        _let_others_run()
        self.active.sparkContext.addPyFile("code.zip")
        self.opened += 1
        return self.active


def _let_others_run() -> None:
    threading.Event().wait(random.random() / 2000)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProcess]:
    made = FakeProcess()
    monkeypatch.setattr(session, "_launched", made.launch)
    monkeypatch.setattr(session, "current_session", made.current)
    monkeypatch.setattr(shared_session, "current_session", made.current)
    monkeypatch.setattr(shared_session, "_shared", None)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    yield made


OPTIONS = SparkOptions("local[2]", quiet=True)
CONFIG = Config.of({})


def test_many_threads_open_and_close_at_the_same_time(process: FakeProcess) -> None:
    def work(_: int) -> None:
        for _ in range(TIMES):
            with OPTIONS.session("test", CONFIG) as spark:
                fake: Any = spark
                assert fake.sparkContext._jsc is not None
                assert fake.sparkContext.files == ["code.zip"], "a task would find no code"
                _let_others_run()
                assert process.active is fake, "it was stopped by another user"

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert process.active is None
    assert 1 <= process.opened <= THREADS * TIMES


def test_the_last_user_stops_it(process: FakeProcess) -> None:
    with OPTIONS.session("one", CONFIG) as one:
        with OPTIONS.session("other", CONFIG) as other:
            assert other is one
        assert process.active is one
    assert process.opened == 1 and not process.is_open


@pytest.mark.parametrize(
    ("master", "settings", "key"),
    [
        ("local[3]", {}, "spark.master"),
        (None, {}, "spark.master"),
        ("local[2]", {"spark.driver.memory": "2g"}, "spark.driver.memory"),
    ],
)
def test_settings_that_differ_are_refused_whoever_comes_first(
    process: FakeProcess, master: str | None, settings: dict[str, str], key: str
) -> None:
    ways = (OPTIONS, CONFIG), (SparkOptions(master, quiet=True), Config.of(settings))
    for (first, config), (second, other) in (ways, ways[::-1]):
        with first.session("one", config):
            refused = pytest.raises(ConfigError, match=f"^{key} differs from that of another crawl")
            with refused, second.session("other", other):
                raise AssertionError("it was opened")
            with first.session("again", config):
                assert process.opened == 1
        assert process.active is None
        process.opened = 0


def test_the_same_master_may_be_written_otherwise(process: FakeProcess) -> None:
    with OPTIONS.session("one", CONFIG):
        for master in ("local[2,4]", " local[2] "):
            with SparkOptions(master, quiet=True).session("other", CONFIG):
                assert process.opened == 1
        with SparkOptions(None, quiet=True).session(
            "other", Config.of({"spark.master": "local[2]"})
        ):
            assert process.opened == 1


def test_passwords_are_not_told(process: FakeProcess) -> None:
    key = "spark.hadoop.fs.s3a.secret.key"
    with OPTIONS.session("one", Config.of({key: "hunter2"})):
        with pytest.raises(ConfigError) as refused, OPTIONS.session("other", CONFIG):
            pass
        assert key in str(refused.value) and "hunter2" not in str(refused.value)


def test_one_that_somebody_stopped_is_opened_anew(process: FakeProcess) -> None:
    with OPTIONS.session("one", CONFIG) as one:
        one.stop()
        with OPTIONS.session("other", CONFIG) as other:
            assert other is not one
            assert process.opened == 2
        assert process.active is None


def test_a_start_that_failed_leaves_nothing_behind(
    process: FakeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ConfigError("no")

    with monkeypatch.context() as patched:
        patched.setattr(session, "_launched", fail)
        with pytest.raises(ConfigError, match="^no$"), OPTIONS.session("one", CONFIG):
            pass
    with OPTIONS.session("again", CONFIG):
        assert process.opened == 1


def test_a_borrowed_session_is_looked_at_and_left_open(
    process: FakeProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[object] = []
    monkeypatch.setattr(shared_session, "check_borrowed", lambda *given: looked.append(given))
    theirs = process.launch()
    with OPTIONS.session("one", CONFIG) as spark:
        assert spark is theirs
    assert process.active is theirs
    assert looked == [(theirs, CONFIG)]


def test_plugins_of_a_further_crawl_are_sent_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`No module named … on an executor`, where a cluster has only the code of the first crawl."""
    from zipfile import ZipFile

    from crawl.spark.code_archive import note_sent, send_missing

    (tmp_path / "othercrawls.py").write_text("class Filter: ...\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = Config.of({})
    second = Config.of({"urlfilter.order": ["othercrawls:Filter"]})
    context: Any = FakeContext()
    send_missing(context, second)
    assert context.files == [], "nobody sends code here"
    note_sent(context, first)
    send_missing(context, first)
    assert context.files == []
    send_missing(context, second)
    send_missing(context, second)
    (archive,) = context.files
    assert Path(archive).name == "nutria-code-2.zip"
    assert ZipFile(archive).namelist() == ["othercrawls.py"]
