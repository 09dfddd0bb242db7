from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import crawl
from crawl.config import Config, file, load
from crawl.config.resources import packaged
from crawl.errors import ConfigError

PACKAGED = file("packaged.file", "crawl-default.toml", "A file that is among the defaults.")
RULES = file("rules.file", "test-rules.txt", "Rules.")


def test_the_packaged_defaults_are_found() -> None:
    assert (packaged() / "crawl-default.toml").is_file()
    assert '"fetcher.server.delay"' in Config().read(PACKAGED)
    assert Config().source(PACKAGED).endswith("crawl-default.toml")


def test_a_conf_folder_goes_before_the_packaged_defaults(tmp_path: Path) -> None:
    (tmp_path / "crawl-default.toml").write_text("mine")
    config = load(conf=tmp_path)
    assert config.read(PACKAGED) == "mine"
    assert config.source(PACKAGED) == str(tmp_path / "crawl-default.toml")


def test_read_once(tmp_path: Path) -> None:
    (tmp_path / "test-rules.txt").write_text("first")
    config = load(conf=tmp_path)
    assert config.read(RULES) == "first"
    (tmp_path / "test-rules.txt").write_text("second")
    assert config.read(RULES) == "first"


def test_a_file_of_the_working_folder_is_named_by_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test-rules.txt").write_text("here")
    with pytest.raises(ConfigError, match=f"by its whole path: {tmp_path}/test-rules.txt"):
        load(conf=None).read(RULES)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(conf=tmp_path).read(RULES)
    assert str(caught.value) == (
        f"rules.file: no file 'test-rules.txt' in {tmp_path}, the packaged defaults"
    )


@pytest.mark.parametrize("name", ["", "x" * 5000, "\ud800", ".", "..", "a\nb", "/", "a/../b"])
def test_names_that_are_no_file(name: str, tmp_path: Path) -> None:
    for config in (load(conf=tmp_path), Config()):
        with pytest.raises(ConfigError) as caught:
            config.with_values({"rules.file": name}).read(RULES)
        assert str(caught.value).startswith("rules.file: ")
        assert "\n" not in str(caught.value)


def test_absolute_paths_need_no_folder(tmp_path: Path) -> None:
    rules = tmp_path / "elsewhere.txt"
    rules.write_text("+x")
    assert Config.of({"rules.file": str(rules)}).read(RULES) == "+x"
    other = tmp_path / "conf"
    other.mkdir()
    assert load(conf=other).with_values({"rules.file": str(rules)}).read(RULES) == "+x"
    with pytest.raises(ConfigError, match="there is no file"):
        Config.of({"rules.file": str(tmp_path / "missing.txt")}).read(RULES)


def test_a_byte_order_mark_is_dropped_and_other_bytes_are_a_fault(tmp_path: Path) -> None:
    (tmp_path / "test-rules.txt").write_bytes(b"\xef\xbb\xbf+.")
    assert load(conf=tmp_path).read(RULES) == "+."
    (tmp_path / "test-rules.txt").write_bytes(b"+.\xff")
    with pytest.raises(
        ConfigError, match=r"^rules\.file: .*test-rules\.txt is not UTF-8 at byte 2"
    ):
        load(conf=tmp_path).read(RULES)


class TestAfterTravelling:
    def test_an_unread_rule_file_is_read_where_the_folder_is_there_too(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "test-rules.txt").write_text("+.")
        assert pickle.loads(pickle.dumps(load(conf=tmp_path))).read(RULES) == "+."

    def test_it_is_never_replaced_by_the_packaged_one(self, tmp_path: Path) -> None:
        conf = tmp_path / "conf"
        conf.mkdir()
        (conf / "crawl-default.toml").write_text("mine")
        once = pickle.loads(pickle.dumps(load(conf=conf)))
        shutil.rmtree(conf)
        for config in (once, pickle.loads(pickle.dumps(once))):
            with pytest.raises(ConfigError, match="read it before the configuration is sent"):
                config.read(PACKAGED)

    def test_files_that_the_folder_did_not_hold_come_from_the_defaults(
        self, tmp_path: Path
    ) -> None:
        conf = tmp_path / "conf"
        conf.mkdir()
        arrived = pickle.loads(pickle.dumps(load(conf=conf)))
        conf.rmdir()
        assert arrived.read(PACKAGED) == Config().read(PACKAGED)


@pytest.mark.parametrize("zipped", [False, True])
def test_the_defaults_inside_an_installed_package(zipped: bool, tmp_path: Path) -> None:
    """As a wheel lays it out, in a folder and in a --py-files archive."""
    source = Path(crawl.__file__).parent
    root = tmp_path / "site"
    for path in [*source.glob("*.py"), *source.glob("config/*.py"), *source.glob("model/*.py")]:
        target = root / "crawl" / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (root / "crawl" / "conf").mkdir()
    (root / "crawl" / "conf" / "inside.txt").write_text("from the package")
    if zipped:
        archive = tmp_path / "crawl.zip"
        with zipfile.ZipFile(archive, "w") as packed:
            for path in root.rglob("*"):
                packed.write(path, path.relative_to(root))
        root = archive
    script = (
        "from crawl.config import Config, file\n"
        "print(Config().read(file('a.file', 'inside.txt', 'A file.')))"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(root)!r})\n{script}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={},
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("from the package\n", "")
