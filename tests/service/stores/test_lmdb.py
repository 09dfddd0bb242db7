from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Event

import lmdb
import pytest

from crawl.clock import Clock, SystemClock
from crawl.errors import StorageError
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.stores.lmdb_files import FILE_NAME
from crawl.service.stores.store import Row, Space, Store
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS, StoreContract
from tests.service.stores.processes import line_of, started, tell

_OPEN = """
import sys
from pathlib import Path
from crawl.clock import SystemClock
from crawl.service.stores.lmdb import LmdbStore
from crawl.service.stores.store import Row, Space
store = LmdbStore(Path(sys.argv[1]), SystemClock(), map_bytes=int(sys.argv[2]))
"""
_PUT_UNTIL_KILLED = (
    _OPEN
    + """
turn = 0
while True:
    turn += 1
    rows = [Row(b"%d/%d" % (turn, place), b"%d" % turn * 500, turn) for place in range(20)]
    store.put_many(Space.PAGES, rows)
    assert store.compare_and_set(
        Space.STATE, b"turn", b"%d" % (turn - 1) if turn > 1 else None, b"%d" % turn)
    print(turn, flush=True)
"""
)
_COUNT = (
    _OPEN
    + """
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[3])):
    while True:
        (old,) = store.get_many(Space.STATE, [b"n"])
        if store.compare_and_set(Space.STATE, b"n", old, b"%d" % (int(old or b"0") + 1)):
            break
print("done", flush=True)
"""
)
_FILL = (
    _OPEN
    + """
for place in range(400):
    store.put_many(Space.PAGES, [Row(b"%d" % place, bytes(20_000), 1)])
print("done", flush=True)
sys.stdin.readline()
"""
)


class TestLmdbStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "store"

    def open(self, clock: Clock) -> Store:
        return LmdbStore(self.folder, clock, map_bytes=1 << 26)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "service" / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[LmdbStore]:
    store = LmdbStore(folder, SystemClock())
    yield store
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("turns", [1, 3, 20])
def test_a_kill_in_the_middle_loses_nothing_that_was_acknowledged(folder: Path, turns: int) -> None:
    with started(_PUT_UNTIL_KILLED, str(folder), str(1 << 20)) as process:
        told = 0
        for _ in range(turns):
            told = int(line_of(process))
        process.kill()
        process.wait()
        assert process.stdout is not None
        told = max([told, *map(int, process.stdout.read().split())])
    store = LmdbStore(folder, SystemClock())
    try:
        keys = [b"%d/%d" % (turn, place) for turn in range(1, told + 1) for place in range(20)]
        expected = [b"%d" % turn * 500 for turn in range(1, told + 1) for _ in range(20)]
        assert store.get_many(Space.PAGES, keys) == expected
        (turn,) = store.get_many(Space.STATE, [b"turn"])
        assert int(turn or b"") in (told, told + 1)
        # and a turn is stored whole or not at all
        begun = store.scan(Space.PAGES, b"%d/" % (told + 1))
        assert len(begun) in (0, 20)
        store.put_many(Space.PAGES, [Row(b"after", b"", 1)])
    finally:
        store.close()


@pytest.mark.slow
def test_a_writer_that_is_killed_holds_up_nobody(folder: Path, store: LmdbStore) -> None:
    script = _OPEN + (
        "with store._environment.begin(write=True):\n"
        "    print('begun', flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    with started(script, str(folder), str(1 << 30)) as process, ThreadPoolExecutor(1) as pool:
        assert line_of(process) == b"begun"
        waiting = pool.submit(store.put_many, Space.PAGES, [Row(b"k", b"v", 1)])
        process.kill()
        waiting.result(60)
    assert store.get_many(Space.PAGES, [b"k"]) == [b"v"]


@pytest.mark.slow
def test_processes_count_on_one_value_and_none_is_lost(folder: Path, store: LmdbStore) -> None:
    with ExitStack() as stack:
        processes = [
            stack.enter_context(started(_COUNT, str(folder), str(1 << 30), "100")) for _ in range(3)
        ]
        for process in processes:
            assert line_of(process) == b"ready"
        for process in processes:
            tell(process)
        for process in processes:
            assert line_of(process) == b"done"
    assert store.get_many(Space.STATE, [b"n"]) == [b"300"]


@pytest.mark.slow
def test_a_map_that_another_process_has_grown_is_taken_over(folder: Path) -> None:
    store = LmdbStore(folder, SystemClock(), map_bytes=1 << 20)
    store.put_many(Space.PAGES, [Row(b"mine", b"1", 1)])
    with started(_FILL, str(folder), str(1 << 20)) as process:
        assert line_of(process) == b"done"
        keys = [b"%d" % place for place in range(400)]
        assert store.get_many(Space.PAGES, [*keys, b"mine"]) == [bytes(20_000)] * 400 + [b"1"]
        store.put_many(Space.PAGES, [Row(b"mine", b"2", 2)])
        assert store.get_many(Space.PAGES, [b"mine"]) == [b"2"]
    store.close()


def test_a_full_map_grows_while_others_read(folder: Path) -> None:
    store = LmdbStore(folder, SystemClock(), map_bytes=1 << 20)
    store.put_many(Space.PAGES, [Row(b"first", b"1", 1)])
    is_done = Event()

    def read() -> int:
        turns = 0
        while not is_done.is_set() or not turns:
            assert store.get_many(Space.PAGES, [b"first"]) == [b"1"]
            turns += 1
        return turns

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(2)]

        def fill(thread: int) -> None:
            for place in range(50):
                store.put_many(Space.PAGES, [Row(b"%d/%d" % (thread, place), bytes(50_000), 1)])

        try:
            list(pool.map(fill, range(4)))
        finally:
            is_done.set()
        assert all(reader.result(60) for reader in readers)
    keys = [b"%d/%d" % (thread, place) for thread in range(4) for place in range(50)]
    assert store.get_many(Space.PAGES, keys) == [bytes(50_000)] * 200
    store.close()
    # a smaller map than the file takes is no fault, either
    again = LmdbStore(folder, SystemClock(), map_bytes=1 << 20)
    assert again.get_many(Space.PAGES, keys) == [bytes(50_000)] * 200
    again.close()


def test_a_store_that_may_not_grow_says_so_and_keeps_what_it_has(folder: Path) -> None:
    store = LmdbStore(folder, SystemClock(), map_bytes=1 << 20, max_map_bytes=1 << 21)
    store.put_many(Space.PAGES, [Row(b"k", b"kept", 1)])
    with pytest.raises(StorageError, match=f"{folder} is full"):
        store.put_many(Space.PAGES, [Row(b"k", b"lost", 2), Row(b"large", bytes(5 << 20), 1)])
    assert store.get_many(Space.PAGES, [b"k", b"large"]) == [b"kept", None]
    store.put_many(Space.PAGES, [Row(b"k", b"new", 2)])
    assert store.get_many(Space.PAGES, [b"k"]) == [b"new"]
    store.close()


def _filled(folder: Path) -> Path:
    store = LmdbStore(folder, SystemClock())
    rows = [Row(b"%05d" % place, b"value %05d " % place * 60, 1) for place in range(5000)]
    store.put_many(Space.PAGES, rows)
    store.close()
    return folder / FILE_NAME


def test_a_file_that_is_something_else_is_named(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / FILE_NAME).write_bytes(b"something else" * 2000)
    with pytest.raises(StorageError, match=f"{folder / FILE_NAME} is damaged"):
        LmdbStore(folder, SystemClock())


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_named_and_nobody_dies_of_it(folder: Path, share: float) -> None:
    file = _filled(folder)
    os.truncate(file, int(file.stat().st_size * share))
    with pytest.raises(StorageError, match=f"{file} is damaged: it has"):
        LmdbStore(folder, SystemClock())
    # another try finds it as damaged: what was missing is not there by now
    with pytest.raises(StorageError, match=f"{file} is damaged"):
        store = LmdbStore(folder, SystemClock())
        store.get_many(Space.PAGES, [b"%05d" % place for place in range(5000)])


@pytest.mark.slow
def test_a_file_that_is_short_and_whole_is_used(folder: Path) -> None:
    """LMDB may count pages at the end that it never wrote."""
    file = _filled(folder)
    environment = lmdb.open(str(folder), max_dbs=16, map_size=1 << 28)
    database = environment.open_db(b"pages")
    for turn in range(5):  # so that there are free pages for what the last transaction changes
        with environment.begin(write=True) as transaction:
            transaction.put(b"00000", transaction.get(b"00000", b"", database), db=database)
            transaction.put(b"turn", b"%d" % turn, db=database)
    with environment.begin(write=True) as transaction:
        transaction.put(b"large", bytes(1 << 20), db=database)
        transaction.delete(b"large", db=database)
    pages = environment.info()["last_pgno"] + 1
    environment.close()
    assert file.stat().st_size < pages * 4096
    store = LmdbStore(folder, SystemClock())
    assert store.get_many(Space.PAGES, [b"00000", b"04999"]) == [
        b"value 00000 " * 60,
        b"value 04999 " * 60,
    ]
    store.close()


def test_bytes_that_a_disk_has_changed_are_no_answer(folder: Path) -> None:
    file = _filled(folder)
    content = file.read_bytes()
    file.write_bytes(content.replace(b"value 00777 value", b"value 00777 VALUE"))
    store = LmdbStore(folder, SystemClock())
    assert store.get_many(Space.PAGES, [b"00776"]) == [b"value 00776 " * 60]
    with pytest.raises(StorageError, match=f"{file} is damaged: a record's checksum"):
        store.get_many(Space.PAGES, [b"00777"])
    with pytest.raises(StorageError, match=f"{file} is damaged"):
        store.scan(Space.PAGES, b"0077")
    # what is put in its place is whole
    store.put_many(Space.PAGES, [Row(b"00777", b"new", 2)])
    assert store.get_many(Space.PAGES, [b"00777"]) == [b"new"]
    store.close()


def test_pages_that_a_disk_has_lost_are_named(folder: Path) -> None:
    file = _filled(folder)
    with file.open("r+b") as opened:
        opened.seek(4096 * 300)
        opened.write(b"\xf0" * 4096 * 200)
    store = LmdbStore(folder, SystemClock())
    with pytest.raises(StorageError, match=f"{file} is damaged"):
        store.get_many(Space.PAGES, [b"%05d" % place for place in range(5000)])
    store.close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=f"the store {tmp_path / 'file'}: "):
        LmdbStore(tmp_path / "file", SystemClock())


def test_a_store_is_opened_once_in_a_process(folder: Path, store: LmdbStore) -> None:
    with pytest.raises(StorageError, match=f"the store {folder}: .*already open"):
        LmdbStore(folder, SystemClock())
    assert store.get_many(Space.PAGES, [b"k"]) == [None]


def test_a_check_finds_that_the_file_is_gone(folder: Path, store: LmdbStore) -> None:
    store.check()
    shutil.rmtree(folder)
    with pytest.raises(StorageError, match=str(folder)):
        store.check()


def test_a_closed_store_says_so(store: LmdbStore) -> None:
    store.close()
    for use in (store.check, store.stats):
        with pytest.raises(StorageError, match="is closed"):
            use()
    with pytest.raises(StorageError, match="is closed"):
        store.put_many(Space.PAGES, [Row(b"k", b"v", 1)])


def test_what_expired_is_removed_as_others_come(folder: Path) -> None:
    clock = ManualClock(NOW_MS)
    store = LmdbStore(folder, clock)
    rows = [Row(b"%d" % place, b"", 1, NOW_MS + 1000) for place in range(100)]
    store.put_many(Space.JOBS, [*rows, Row(b"k" * 900, b"", 1, NOW_MS + 500)])
    # those that live on are left alone
    store.put_many(Space.JOBS, [Row(b"7", b"renewed", 2, NOW_MS + 9000), Row(b"8", b"kept", 2)])
    clock.advance(2)
    store.put_many(Space.PAGES, [Row(b"%d" % place, b"", 1) for place in range(60)])
    stats = store.stats()
    assert (stats.rows[Space.JOBS], stats.rows[Space.PAGES]) == (2, 60)
    assert store.get_many(Space.JOBS, [b"7", b"8"]) == [b"renewed", b"kept"]
    store.close()


def test_writers_that_come_together_share_a_transaction(store: LmdbStore) -> None:
    """One is held up; what the others bring meanwhile is one transaction."""
    before = store._environment.info()["last_txnid"]
    with ThreadPoolExecutor(10) as pool:
        with store._writing:
            puts = [
                pool.submit(store.put_many, Space.PAGES, [Row(b"%d" % place, b"", 1)])
                for place in range(10)
            ]
            is_waiting = Event()
            while len(store._waiting) < 10:
                is_waiting.wait(0.01)
        for put in puts:
            put.result(60)
    assert store._environment.info()["last_txnid"] == before + 1
    assert store.get_many(Space.PAGES, [b"%d" % place for place in range(10)]) == [b""] * 10


@pytest.mark.slow
def test_what_a_process_that_died_was_reading_does_not_let_the_file_grow(
    folder: Path, store: LmdbStore
) -> None:
    script = _OPEN + (
        "transaction = store._environment.begin()\n"
        "transaction.stat(store._expiries)\n"
        "print('reading', flush=True)\n"
        "sys.stdin.readline()\n"
    )
    with started(script, str(folder), str(1 << 30)) as process:
        assert line_of(process) == b"reading"
        assert store._environment.info()["num_readers"] >= 1
        process.kill()
        process.wait()

    def write() -> int:
        for turn in range(100):
            version = next(versions)
            store.put_many(Space.PAGES, [Row(b"%d" % (turn % 10), bytes(100_000), version)])
        return (folder / FILE_NAME).stat().st_size

    versions = count(1)
    # nothing of what it might read is written over
    first, second = write(), write()
    assert second > first + 5_000_000
    store.check()
    assert str(store._environment.readers()).startswith("(no active readers)")
    write()
    assert write() == second


@pytest.mark.slow
def test_a_disk_that_is_full_is_named_and_nothing_is_lost(folder: Path) -> None:
    """The map may be larger than the disk; a limit on files stands for one that is full."""
    script = _OPEN + (
        "import resource\n"
        "from crawl.errors import StorageError\n"
        "store.put_many(Space.PAGES, [Row(b'k', b'kept', 1)])\n"
        "_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, hard))\n"
        "try:\n"
        "    store.put_many(Space.PAGES, [Row(b'large', bytes(4 << 20), 1)])\n"
        "except StorageError as error:\n"
        "    print(error, flush=True)\n"
        "assert store.get_many(Space.PAGES, [b'k', b'large']) == [b'kept', None]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))\n"
        "store.put_many(Space.PAGES, [Row(b'large', bytes(4 << 20), 1)])\n"
        "assert store.get_many(Space.PAGES, [b'large']) == [bytes(4 << 20)]\n"
        "print('done', flush=True)\n"
    )
    with started(script, str(folder), str(1 << 40)) as process:
        assert line_of(process).startswith(b"the store %b: " % os.fsencode(folder))
        assert line_of(process) == b"done"


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_is_named(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    script = (
        "import os\n"
        "from pathlib import Path\n"
        "from crawl.clock import SystemClock\n"
        "from crawl.errors import StorageError\n"
        "from crawl.service.stores.lmdb import LmdbStore\n"
        f"os.chdir({str(folder)!r})\n"
        "if os.geteuid() == 0:\n"
        "    os.seteuid(65534)\n"  # to root nothing is forbidden
        "try:\n"
        "    LmdbStore(Path('.'), SystemClock())\n"
        "except StorageError as error:\n"
        "    print(error, flush=True)\n"
    )
    with started(script) as process:
        said = line_of(process)
    assert said.startswith(b"the store .: ") and b"Permission denied" in said
