"""A program for spark-submit that runs several commands by jobs/nutria.py, one after the other, in
one application: to start one takes far longer than most of them do.

    spark-submit … jobs_in_turn.py JOBS LINES

JOBS is their folder, LINES a file with a JSON list of each one's words. What a job prints stands
below a line with its name, and the code that it ended with above the next. Nothing of the tests is
there to be imported.
"""

import json
import runpy
import sys
from pathlib import Path

try:
    from crawl.config import Config
    from crawl.spark.session import open_session
except ModuleNotFoundError as missing:
    sys.exit(f"crawl: this Python has no {missing.name}: scripts/package tells how to send it")


def run_job(folder: Path, name: str, words: list[str]) -> int:
    sys.argv = [str(folder / "nutria.py"), name, *words]
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def main(jobs: Path, lines: Path) -> None:
    session = open_session("jobs in turn", Config.of({}))  # which all of them borrow
    for name, *words in json.loads(lines.read_text()):
        print(f"== {name}", flush=True)
        print(f"== {run_job(jobs, name, words)}", flush=True)
    session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
