from __future__ import annotations

from pathlib import Path

import pytest

from crawl.errors import StorageError, UsageError
from crawl.storage.output_file import check_output_file, write_output_file


def test_a_check_leaves_nothing_but_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "new" / "groups.json"
    check_output_file(str(file))
    assert list(file.parent.iterdir()) == []
    write_output_file(str(file), b"1")
    check_output_file(str(file))
    assert file.read_bytes() == b"1"
    assert [path.name for path in file.parent.iterdir()] == ["groups.json"]


def test_what_cannot_be_written_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "folder", f"{tmp_path}/new/", "/", "folder", "."):
        with pytest.raises(UsageError, match="is a folder: name a file"):
            check_output_file(str(folder))
    lines = []
    for path in ("file/below.json", "x" * 300, "/proc/no.json"):
        with pytest.raises(StorageError, match="cannot be written: ") as raised:
            check_output_file(path)
        lines.append(str(raised.value))
    assert not any("\n" in line for line in lines)
    assert lines[0] == "file/below.json cannot be written: a part of the path is a file"


def test_a_file_in_memory(tmp_path: Path) -> None:
    check_output_file("memory://outputs/groups.json")
    write_output_file("memory://outputs/groups.json", b"2")
