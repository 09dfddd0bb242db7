from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from crawl.errors import StorageError
from crawl.service.open_places import OpenPlaces, PlaceLost, place_of, require_place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "crawl"
    folder.mkdir()
    (folder / "file").write_text("text")
    return folder


def test_what_is_where_it_was_is_found(folder: Path) -> None:
    places = OpenPlaces([folder], [folder / "file"])
    places.require()
    (folder / "file").write_text("another text")
    (folder / "more").mkdir()
    places.require()
    places.close()
    folder.rename(folder.with_name("moved"))
    places.require()  # nobody looks any more


def test_what_was_moved_away_is_lost_until_it_is_back(folder: Path, tmp_path: Path) -> None:
    places = OpenPlaces([folder], [folder / "file"])
    folder.rename(tmp_path / "moved")
    with pytest.raises(PlaceLost, match="was moved away or removed"):
        places.require()
    (tmp_path / "moved").rename(folder)
    places.require()
    places.close()


@pytest.mark.parametrize("name", ["", "file"])
def test_a_copy_in_its_place_is_another(folder: Path, tmp_path: Path, name: str) -> None:
    places = OpenPlaces([folder], [folder / "file"])
    opened = (folder / "file").open()  # what is open keeps its number
    shutil.copytree(folder, tmp_path / "copy")
    if name:
        (tmp_path / "copy" / name).replace(folder / name)
    else:
        folder.rename(tmp_path / "before")
        (tmp_path / "copy").rename(folder)
    with pytest.raises(PlaceLost, match="was replaced") as lost:
        places.require()
    assert str(folder / name) in str(lost.value) and not lost.value.may_pass
    opened.close()
    places.close()


def test_a_link_that_leads_elsewhere_now_is_another(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    link = tmp_path / "link"
    link.symlink_to(folder)
    places = OpenPlaces([link], [])
    link.unlink()
    link.symlink_to(tmp_path / "other")
    with pytest.raises(PlaceLost):
        places.require()
    places.close()


def test_what_is_not_there_cannot_be_opened(folder: Path) -> None:
    with pytest.raises(StorageError, match="none"):
        OpenPlaces([folder, folder / "none"], [])


def test_another_process_tells_it_from_what_took_its_place(folder: Path, tmp_path: Path) -> None:
    place = place_of(folder)
    require_place(folder, place)
    folder.rename(tmp_path / "moved")
    folder.mkdir()
    with pytest.raises(PlaceLost):
        require_place(folder, place)
