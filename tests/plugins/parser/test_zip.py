from __future__ import annotations

import gzip
import io
import random
import zipfile
import zlib

import pytest

from crawl.config import Config
from crawl.model.parse import ParseStatus
from crawl.plugins.parser.zip import ZipParser
from crawl.testing.parser_contract import ParserContract
from tests.plugins.parser.pages import only, page, refusal, targets
from tests.plugins.parser.small_pdf import small_pdf

NAMES = ["sitemap", "feed", "xml", "text", "json", "pdf", "zip", "js", "tika", "metadata"]
SETTINGS = {"plugin.parser": NAMES}
PARSER = ZipParser(Config.of(SETTINGS))
ZIP, GZIP = "application/zip", "application/gzip"
SITEMAP = "<urlset><url><loc>http://a.com/1</loc></url><url><loc>/2</loc></url></urlset>"


def archive(members: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as written:
        for name, body in members.items():
            written.writestr(name, body)
    return out.getvalue()


class TestContract(ParserContract):
    plugin_class = ZipParser

    def samples(self) -> list[bytes]:
        return [archive({"a.txt": "http://a.com/", "b.json": "{"}), gzip.compress(b"x"), b"PK\3\4"]


def test_members_are_read_by_the_other_parsers_into_one_document() -> None:
    body = archive(
        {
            "folder/": "",
            "folder/a.txt": "Hello http://a.com/x",
            "b.xml": "<doc><title>B</title><a href='relative'/><a href='http://b.com/'/></doc>",
            "c.pdf": small_pdf(),
            "d.png": b"\x89PNG\0",
            "e.zip": archive({"inner.txt": "not opened"}),
            "no-suffix": "unread",
            "broken.json": "{",
        }
    )
    parse = only(PARSER, page(body, ZIP))
    assert parse.text.split("\n\n")[:2] == ["folder/a.txt", "Hello http://a.com/x"]
    assert "says hello" in parse.text and "not opened" not in parse.text
    assert "unread" not in parse.text
    assert [(link.url, link.tag) for link in parse.outlinks] == [
        ("http://a.com/x", ""),
        ("http://b.com/", "a"),
        ("http://a.com/x", "a"),
    ]
    assert parse.metadata == {"zip.members": "7", "zip.members.read": "3"}


def test_a_packed_page_is_the_page() -> None:
    given = page(gzip.compress(SITEMAP.encode()), GZIP, "http://www.example.com/s/sitemap.xml.gz")
    parse = only(PARSER, given)
    assert targets(parse) == ["http://a.com/1", "http://www.example.com/2"]
    assert parse.metadata["sitemap.kind"] == "urlset"


def test_a_packed_page_without_a_name_is_known_by_its_bytes() -> None:
    body = gzip.compress(b'<?xml version="1.0"?>' + SITEMAP.encode())
    assert targets(only(PARSER, page(body, GZIP, "http://www.example.com/download?id=3"))) == [
        *("http://a.com/1", "http://www.example.com/2")
    ]
    plain = gzip.compress(b"Just text http://a.com/") + gzip.compress(b"and more")
    assert only(PARSER, page(plain, GZIP)).text == "Just text http://a.com/and more"


def test_what_nobody_reads_is_a_document_all_the_same() -> None:
    parse = only(PARSER, page(gzip.compress(b"\0\1\2" * 99), GZIP, "http://a.com/x.tar.gz"))
    assert (parse.text, parse.metadata) == ("", {"gzip.size": "297"})


def test_archives_inside_a_packed_file_are_not_opened() -> None:
    inner = archive({"a.txt": "secret"})
    assert only(PARSER, page(gzip.compress(inner), GZIP, "http://a.com/a.zip.gz")).text == ""
    thrice = gzip.compress(gzip.compress(gzip.compress(b"secret")))
    assert only(PARSER, page(thrice, GZIP)).text == ""


def test_what_is_packed_and_packed_again_by_its_server_is_read() -> None:
    twice = gzip.compress(gzip.compress(SITEMAP.encode()))
    parse = only(PARSER, page(twice, GZIP, "http://a.com/sitemap.xml.gz"))
    assert targets(parse) == ["http://a.com/1", "http://a.com/2"]


def test_a_bomb_inside_a_packed_file_is_refused_by_what_came_over_the_network() -> None:
    zeros = gzip.compress(gzip.compress(b"0" * (30 << 20)))
    assert "times its size" in refusal(PARSER, page(zeros, GZIP, "http://a.com/x.txt.gz"))


def test_a_small_last_member_makes_no_bomb_of_a_file() -> None:
    noise = random.Random(1).randbytes(100_000).hex().encode()
    packed = gzip.compress(noise) + gzip.compress(b"the end")
    assert only(PARSER, page(packed, GZIP, "http://a.com/x.txt.gz")).text.endswith("the end")


def test_what_is_declared_of_a_packed_file_is_said_of_the_file() -> None:
    packed = gzip.compress("<p>grün".encode("latin-1"))
    with_html = ZipParser(Config.of({"plugin.parser": ["html", "text"]}))
    given = page(packed, "text/html; charset=iso-8859-1")
    assert only(with_html, given).text == "grün"


def test_bombs_are_refused_before_they_fill_the_memory() -> None:
    zeros = b"0" * (30 << 20)
    packed = gzip.compress(zeros)
    assert "times its size" in refusal(PARSER, page(packed, GZIP, "http://a.com/x.txt.gz"))
    assert "times its size" in refusal(PARSER, page(archive({"a.txt": zeros}), ZIP))


def test_a_bomb_that_lies_about_its_size_is_unpacked_no_further() -> None:
    body = bytearray(archive({"a.txt": b"x" * 5_000_000}))
    directory = body.index(b"PK\x01\x02")
    body[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    parse = only(PARSER, page(bytes(body), ZIP))
    assert len(parse.text) < 100


def test_the_total_is_bounded() -> None:
    small = ZipParser(Config.of({**SETTINGS, "parser.zip.max.size": 1000}))
    noise = random.Random(1).randbytes(600).hex().encode()
    parse = only(small, page(archive({f"{n}.txt": noise[:400] for n in range(9)}), ZIP))
    assert parse.metadata == {"zip.members": "9", "zip.members.read": "2"}
    packed = page(gzip.compress(noise), GZIP, "http://a.com/x.txt.gz")
    assert len(only(small, packed).text) == 1000


def test_members_are_bounded() -> None:
    few = ZipParser(Config.of({**SETTINGS, "parser.zip.max.members": 2}))
    parse = only(few, page(archive({f"{number}.txt": "x" for number in range(5)}), ZIP))
    assert parse.metadata == {"zip.members": "5", "zip.members.read": "2"}


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_ask_for_much_memory_are_not_read(method: int) -> None:
    parse = only(PARSER, page(archive({"a.txt": "hello"}, method), ZIP))
    assert (parse.text, parse.metadata["zip.members"]) == ("", "1")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"PK",
        b"text",
        b"\x1f\x8b",
        b"\x1f\x8b" + b"\0" * 50,
        gzip.compress(b"x", mtime=0)[:-12],
        b"PK\5\6",
    ],
)
def test_what_is_none_is_reported(body: bytes) -> None:
    assert refusal(PARSER, page(body, ZIP)).startswith("no archive that can be read")


def test_a_parser_that_cannot_be_found_is_passed_over() -> None:
    lonely = ZipParser(Config.of({"plugin.parser": ["no-such-parser", "text"]}))
    assert "hello" in only(lonely, page(archive({"a.txt": "hello"}), ZIP)).text


def test_damaged_ones_are_read_or_refused() -> None:
    chance = random.Random(7)
    whole = archive({"a.txt": "hello " * 50, "b.json": '["x"]'})
    packed = gzip.compress(b"hello " * 50)
    for body_of in (whole, packed):
        for _ in range(200):
            body = bytearray(body_of)
            for _ in range(chance.randint(1, 6)):
                at = chance.randrange(len(body))
                body[at : at + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
            parses = PARSER.parse(page(bytes(body), ZIP))
            assert parses[0].status in (ParseStatus.SUCCESS, ParseStatus.INVALID_FORMAT)


def test_deflate_at_its_densest_is_still_a_bomb() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join([*(packer.compress(b"\0" * (1 << 20)) for _ in range(64)), packer.flush()])
    assert "times its size" in refusal(PARSER, page(packed, GZIP))
