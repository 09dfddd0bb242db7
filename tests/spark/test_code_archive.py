from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import EnvironmentFault
from crawl.spark.code_archive import NAME, code_archives, named_archives


def test_all_of_it_can_be_used_from_the_archive(tmp_path: Path) -> None:
    (archive,) = code_archives(Config.of({}))
    assert archive.name == NAME
    result = subprocess.run(
        [
            *(sys.executable, "-I", "-c"),
            f"import sys; sys.path.insert(0, {str(archive)!r})\n"
            "import crawl.cli.main, crawl.phases.updatedb.tasks, crawl.plugins.parser.html\n"
            "from crawl.config import Config\n"
            "from crawl.plugins.urlfilter.regex import RegexURLFilter\n"
            "RegexURLFilter(Config.of({}))\n"
            "print(crawl.__file__)",
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert result.stdout.strip() == f"{archive}/crawl/__init__.py"


def test_nothing_but_source_and_rules(tmp_path: Path) -> None:
    (archive,) = code_archives(Config.of({}))
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
    assert len(names) == len(set(names))
    assert "crawl/conf/regex-urlfilter.txt" in names
    assert not [name for name in names if "__pycache__" in name]
    assert {name.partition("/")[0] for name in names} == {"crawl"}


class TestPlugins:
    def test_of_a_module_that_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "their_filter.py").write_text("class Mine: pass\n")
        package = tmp_path / "their_package"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "words.txt").write_text("theirs")
        monkeypatch.syspath_prepend(str(tmp_path))
        given = {"urlfilter.order": ["length", "their_filter:Mine", "their_package:Mine"]}
        (archive,) = code_archives(Config.of(given))
        with zipfile.ZipFile(archive) as opened:
            names = set(opened.namelist())
        assert {"their_filter.py", "their_package/__init__.py", "their_package/words.txt"} <= names

    def test_that_are_an_archive_already(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        zipped = tmp_path / "theirs.zip"
        with zipfile.ZipFile(zipped, "w") as opened:
            opened.writestr("their_zipped.py", "class Mine: pass\n")
        monkeypatch.syspath_prepend(str(zipped))
        found = code_archives(Config.of({"urlfilter.order": ["their_zipped:Mine"]}))
        assert found[1:] == [zipped]


def test_it_is_gone_with_its_process() -> None:
    script = (
        "from crawl.config import Config\n"
        "from crawl.spark.code_archive import code_archives\n"
        "print(code_archives(Config.of({}))[0])"
    )
    root = str(Path(__file__).parents[2])
    made = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert not Path(made.stdout.strip()).exists()


def test_archives_that_a_user_names(tmp_path: Path) -> None:
    there = tmp_path / "a.zip"
    there.touch()
    assert named_archives("") == []
    assert named_archives(f"{there}, hdfs://nn/b.zip") == [str(there), "hdfs://nn/b.zip"]
    with pytest.raises(EnvironmentFault, match=r"spark.submit.pyFiles: there is no c.zip"):
        named_archives(f"{there},c.zip")
