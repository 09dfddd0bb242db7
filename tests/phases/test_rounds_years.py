"""Two virtual years: pages change, go, come back and fail, and every record says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from hashlib import md5
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.model.status import Status
from crawl.rounds.steps import LoopOptions
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.made import NOW, records_of
from tests.phases.round_loops import SetClock, run_rounds
from tests.phases.round_model import DAY, Answer, Model, Record
from tests.phases.scripted_web import PLAYED, Scene, Script, answers_unchanged
from tests.phases.test_rounds import as_record

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

YEARS = 2 * 365
STRIDE = 15
"""Days between two looks at what is due."""
FRONT = "http://a.test/"


def day_of(now: int) -> float:
    return (now - NOW) / DAY


def between(first: int, last: int, then: Scene, otherwise: Scene) -> Callable[[int], Scene]:
    return lambda now: then if first <= day_of(now) < last else otherwise


def page(text: str, **more: str) -> Scene:
    return Scene(text=text, links=(FRONT,), etag=more.get("etag", ""))


PAGES: dict[str, Callable[[int], Scene]] = {
    "steady": lambda now: page("steady", etag='"1"'),
    "dated": lambda now: replace(page("dated"), modified_ms=NOW - 100 * DAY),
    "same": lambda now: page("same"),
    "living": lambda now: page(f"v{day_of(now) // 50}", etag=f'"{day_of(now) // 50}"'),
    "lost": between(100, 400, Scene(404), page("lost and found", etag='"x"')),
    "reborn": lambda now: Scene(404) if 100 <= day_of(now) < 250 else page(f"{day_of(now) < 100}"),
    "shaky": between(60, 130, Scene(500), page("shaky")),
    "hiccup": between(44, 50, Scene(500), page("hiccup")),
    "moved": between(200, 900, Scene(301, target="http://a.test/steady"), page("here")),
    "moving": between(200, 300, Scene(302, target="http://a.test/found-late"), page("here too")),
    "found-late": lambda now: page("by a redirect"),
    "never": lambda now: Scene(410),
    "broken": lambda now: Scene(500),
}
LINKED = tuple(f"http://a.test/{name}" for name in PAGES if name != "found-late")


def script(clock: SetClock) -> Script:
    pages = {f"http://a.test/{name}": scene for name, scene in PAGES.items()}
    pages[FRONT] = lambda now: Scene(text=f"front {day_of(now) // 40}", links=LINKED)
    return Script(pages, clock.now_ms)


class Seen:
    """The truth of the script for the model, which must know what validators we were given."""

    def __init__(self, played: Script) -> None:
        self._played = played
        self._validators: dict[str, tuple[str, str]] = {}

    def visit(self, url: str, record: Record) -> Answer:
        scene = self._played.pages[url](self._played.now())
        if answers_unchanged(scene, *self._validators.get(url, ("", ""))):
            return Answer(304)
        if scene.code != 500:
            self._validators[url] = (scene.etag, scene.last_modified)
        links = scene.links if scene.code == 200 else ()
        return Answer(scene.code, links, scene.target, md5(scene.body).digest())


def test_two_years(tmp_path: Path) -> None:
    clock = SetClock(NOW)
    played = PLAYED["years"] = script(clock)
    seen = Seen(played)
    model = Model()
    directory = CrawlDir(str(tmp_path / "crawl"))
    seeds = tmp_path / "seeds.txt"
    seeds.write_text(FRONT)
    config = Config.of(
        {
            "http.agent.name": "testbot",
            "plugin.protocol": ["tests.phases.scripted_web:ScriptedProtocol"],
            "test.script": "years",
            "fetcher.server.delay": 0,
            "fetcher.max.exceptions.per.queue": -1,
            "urlfilter.order": ["length"],
            "crawldb.buckets": 2,
        }
    )
    model.inject([FRONT], NOW)
    history: dict[str, list[Status]] = defaultdict(list)
    now, rounds = NOW, 0
    while day_of(now) <= YEARS:
        clock.set(now)
        before = len(played.asked)
        answers = model.run_round(now, seen.visit)
        result = run_rounds(
            directory, config, clock, LoopOptions(1), seeds=() if rounds else (str(seeds),), parts=1
        )
        assert len(result.rounds) == 1
        asked = {url: code for _, url, code in played.asked[before:]}
        assert asked == {url: answer.code for url, answer in answers.items()}
        found = records_of(directory)
        assert set(found) == set(model.records)
        for url, datum in found.items():
            wanted = model.records[url]
            assert replace(as_record(datum), score=0.0) == replace(wanted, score=0.0), url
            assert datum.score == pytest.approx(wanted.score, rel=1e-4), url
            if url in answers:
                history[url.rpartition("/")[2]].append(datum.status)
        rounds += 1
        soonest = min(record.fetch_time for record in model.records.values())
        now += max(1, -(-(soonest - now) // (STRIDE * DAY))) * STRIDE * DAY
    assert_every_case_occurred(history)


def assert_every_case_occurred(history: dict[str, list[Status]]) -> None:
    """Asserts that every case for which the script exists did occur."""
    fetched, same = Status.DB_FETCHED, Status.DB_NOTMODIFIED
    gone, again = Status.DB_GONE, Status.DB_UNFETCHED
    for name in ("steady", "dated", "same"):
        assert history[name][0] is fetched
        assert set(history[name][1:]) == {same}
        assert len(history[name]) > 20
    for name in ("", "living"):
        assert {fetched, same} == set(history[name])
    back = history["lost"].index(gone)
    assert history["lost"][back:].count(same) > 3
    assert fetched not in history["lost"][back:], "it came back as it was"
    back = history["reborn"].index(gone)
    assert fetched in history["reborn"][back:], "it came back as another"
    first = history["shaky"].index(again)
    assert history["shaky"][first : first + 3] == [again, again, gone]
    assert history["shaky"][-1] is same
    assert history["hiccup"][:4] == [fetched, again, same, same]
    assert history["broken"][:3] == [again, again, gone]
    assert set(history["broken"][2:]) == set(history["never"]) == {gone}
    assert history["moved"][-1] is Status.DB_REDIR_PERM
    assert Status.DB_REDIR_TEMP in history["moving"]
    assert history["moving"][-1] in (fetched, same)
    assert history["found-late"][0] is fetched
