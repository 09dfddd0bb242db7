from __future__ import annotations

from typing import Any

import pytest

from crawl.storage.filesystems import object_store


def test_other_faults_are_not_ours_to_report() -> None:
    assert object_store.error_line(ValueError("x")) is None
    assert object_store.error_line(FileNotFoundError("x")) is None


class Busy:
    """A store where another's request for the same name is under way, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.asked = 0

    def pipe_file(self, path: str, data: bytes, **options: Any) -> None:
        self.asked += 1
        if self.asked <= self.times:
            error = OSError(5, "conflict")
            error.__cause__ = _answered("ConditionalRequestConflict")
            raise error


def _answered(code: str) -> Exception:
    error = Exception(code)
    error.response = {"Error": {"Code": code}}  # type: ignore[attr-defined]
    return error


def test_a_conflict_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_store, "_CONFLICT_PAUSE_S", 0.0)
    store = Busy(3)
    assert object_store.create(store, "bucket/x", b"") is True
    assert store.asked == 4
    assert object_store.create(Busy(100), "bucket/x", b"") is False


class Reluctant:
    """A store that deletes only some of many at once, and does not say so."""

    def __init__(self, files: int, a_time: int) -> None:
        self.files = [f"bucket/tree/{number}" for number in range(files)]
        self.a_time = a_time

    def info(self, path: str) -> dict[str, str]:
        return {"type": "directory"}

    def find(self, path: str) -> list[str]:
        return list(self.files)

    def rm(self, path: str, recursive: bool) -> None:
        del self.files[: self.a_time]

    def rm_file(self, path: str) -> None:
        self.files.remove(path)


def test_what_a_store_silently_kept_is_deleted_too() -> None:
    store = Reluctant(50, 20)
    object_store.delete(store, "bucket/tree", lambda path: False)
    assert store.files == []
    with pytest.raises(OSError, match="does not delete"):
        object_store.delete(Reluctant(50, 0), "bucket/tree", lambda path: False)


def test_settings_of_the_user_go_before_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    assert object_store.options_of("file") == {}
    usual = object_store.options_of("s3")
    assert usual["use_listings_cache"] is False
    assert usual["config_kwargs"]["retries"]["mode"] == "standard"
    assert "endpoint_url" not in usual
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://general")
    assert "retries" not in object_store.options_of("s3")["config_kwargs"]
    assert object_store.options_of("s3a")["endpoint_url"] == "http://general"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://special")
    assert object_store.options_of("s3")["endpoint_url"] == "http://special"
