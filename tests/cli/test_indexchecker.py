from __future__ import annotations

from pathlib import Path

from tests.cli.calling import Caller


def test_the_document_by_each_writers_names(tmp_path: Path, crawl: Caller) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html lang=en><title>A title</title><body>Some words")
    rules = tmp_path / "writers.toml"
    rules.write_text(
        "[[writer]]\nid='a'\nplugin='jsonl'\nfields={rename={content='text'}}\n"
        "[[writer]]\nid='b'\nplugin='jsonl'\nwhen=\"lang='fr'\"\n"
    )
    settings = ["-D", "index.writers=a,b", "-D", f"index.writers.file={rules}"]
    arguments = ["indexchecker", "--file", str(page), "--url", "http://a.com/", *settings]
    answer = crawl(*arguments, "--json").json
    assert answer["indexed"] and answer["writers"]["b"] is None
    assert answer["writers"]["a"]["text"] == "Some words"
    page.write_text("<html><head><meta name=robots content=noindex></head><body>x")
    refused = crawl(*arguments)
    assert refused.code == 1 and "not indexed: noindex" in refused.out
