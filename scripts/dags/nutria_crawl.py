"""A crawl as an Airflow DAG: rounds of generate, fetch, parse and updatedb, a task each, and what
is wanted of the link graph, the HostDb, duplicates and the index after them.

What the tasks are and what they run is told by crawl/rounds/steps.py, and what may be asked of
them by crawl/rounds/options.py; here that becomes operators and parameters. Where the DAG is
parsed, these are all that is needed of Nutria, with the few files that they import
(docker/Dockerfile copies them) and msgspec, which Airflow has itself; and no Spark.

Where Airflow parses it, the environment says how the tasks run:

    NUTRIA_FLAVOUR       command (the default): `crawl …` on the worker, which starts Spark
                         itself; spark-submit: SparkSubmitOperator with jobs/nutria.py
    NUTRIA_MAX_ROUNDS    rounds that the graph has (10); the parameter says how many are done
    NUTRIA_RETRIES       of each task (2)
    NUTRIA_RETRY_DELAY   seconds before each (60)
    NUTRIA_COMMAND       command: the program, with words before the phase's if need be (crawl)
    NUTRIA_JOBS          spark-submit: the folder of the jobs (that of this checkout)
    NUTRIA_SPARK_CONN    spark-submit: Airflow's connection (spark_default); client mode, for
                         only there does Spark hand on the exit code that tells: nothing is due
    NUTRIA_PY_FILES, NUTRIA_ARCHIVES    spark-submit: what scripts/package made

A task that was done already does nothing when it is repeated, and one that was interrupted
goes on: so retries and cleared tasks are safe.

Rounds do not overlap here, as those of `crawl run --until-empty --overlap` do: they are counted,
and a task that is repeated must find its round, of which there is one at a time.
"""

from __future__ import annotations

import os
import shlex
import sys
from datetime import timedelta
from pathlib import Path

import msgspec
from airflow.sdk import DAG, Param, TaskGroup, chain
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

CHECKOUT = Path(__file__).resolve().parents[2]
# for an Airflow that has no Nutria; one that has it uses its own
sys.path.append(str(CHECKOUT))

from crawl.errors import NOTHING_MORE  # noqa: E402
from crawl.rounds.options import RunOptions  # noqa: E402
from crawl.rounds.steps import (  # noqa: E402
    AFTER_ROUNDS,
    CrawlParams,
    RoundOptions,
    Task,
    task_graph,
)

FLAVOUR = os.environ.get("NUTRIA_FLAVOUR", "command")
MAX_ROUNDS = int(os.environ.get("NUTRIA_MAX_ROUNDS", "10"))
RETRIES = int(os.environ.get("NUTRIA_RETRIES", "2"))
RETRY_DELAY = timedelta(seconds=float(os.environ.get("NUTRIA_RETRY_DELAY", "60")))
PROGRAM = shlex.split(os.environ.get("NUTRIA_COMMAND", "crawl"))
JOBS = os.environ.get("NUTRIA_JOBS", str(CHECKOUT / "jobs"))
CONNECTION = os.environ.get("NUTRIA_SPARK_CONN", "spark_default")
USUAL = RoundOptions()
_, DECLARED = msgspec.json.schema_components([RunOptions])


def declared(option: str, **others) -> Param:
    """The parameter that an option of `crawl run` is: its default, bounds and description."""
    schema = {**DECLARED["RunOptions"]["properties"][option], **others}
    if "anyOf" in schema:
        # Airflow's form knows a list of types, and no schemas to choose from
        choices = schema.pop("anyOf")
        kinds = [each.get("type") for each in choices]
        for choice in choices:
            schema = {**choice, **schema}
        schema["type"] = others.get("type", ["null", *(each for each in kinds if each != "null")])
    return Param(schema.pop("default"), **schema)


PARAMS = {
    "crawl_dir": Param(
        type="string",
        # tasks run in folders that are gone afterwards
        pattern="^(/|[a-z][a-z0-9+.-]*://).",
        description="The crawl's folder: an absolute path, or a URL such as s3://bucket/crawl.",
    ),
    "seeds": declared("files", default=[]),
    # the graph has so many; they end before where nothing is due
    "rounds": declared(
        "rounds",
        default=1,
        type="integer",
        minimum=1,
        maximum=MAX_ROUNDS,
        description="At most this many.",
    ),
    "top_n": declared("top_n"),
    "num_fetchers": declared("num_fetchers"),
    # each task is told, as it would not know what is usual for rounds
    "threads": declared("threads", default=USUAL.threads, type="integer"),
    "time_limit_min": declared("time_limit_min", default=USUAL.time_limit_min, type="number"),
    "master": Param(
        None,
        type=["null", "string"],
        description="Spark master (default: local[*]); with spark-submit it is the connection's.",
    ),
    "conf": Param(
        None,
        type=["null", "string"],
        description="Folder with crawl-site.toml and rule files, where the tasks run.",
    ),
    "settings": Param(
        [],
        type="array",
        items={"type": "string", "pattern": "^[^=]+="},
        description="KEY=VALUE, each as after -D.",
    ),
    "after": declared(
        "then",
        default=[],
        items={"type": "string", "enum": [step.name for step in AFTER_ROUNDS]},
    ),
}


def command(step: str, number: int, params: CrawlParams) -> str:
    """What a shell is given."""
    return shlex.join([*PROGRAM, *Task(step, number).command_line(params)])


def arguments(step: str, number: int, params: CrawlParams) -> list[str]:
    """What the job is given; spark-submit knows the master."""
    return Task(step, number).command_line({**params, "master": None})


def by_command(task: Task, **options):
    """`crawl PHASE …` on the worker."""
    from airflow.providers.standard.operators.bash import BashOperator

    return BashOperator(
        bash_command=f"{{{{ command('{task.step}', {task.round}, params) }}}}",
        skip_on_exit_code=NOTHING_MORE,
        **options,
    )


def by_spark_submit(task: Task, **options):
    """`spark-submit jobs/nutria.py PHASE …`."""
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

    class Submit(SparkSubmitOperator):
        """Knows what the exit code of a phase means."""

        def execute(self, context):
            try:
                super().execute(context)
            except AirflowException as error:
                if f"Error code is: {NOTHING_MORE}." in str(error):
                    raise AirflowSkipException("nothing more is to be done") from error
                raise

    return Submit(
        application=f"{JOBS}/nutria.py",
        application_args=f"{{{{ arguments('{task.step}', {task.round}, params) }}}}",
        name=f"nutria {task.step}",
        conn_id=CONNECTION,
        py_files=os.environ.get("NUTRIA_PY_FILES"),
        archives=os.environ.get("NUTRIA_ARCHIVES"),
        **options,
    )


FLAVOURS = {"command": by_command, "spark-submit": by_spark_submit}
if FLAVOUR not in FLAVOURS:
    raise ValueError(f"NUTRIA_FLAVOUR is {FLAVOUR!r}: give one of {', '.join(FLAVOURS)}")


def operator_of(task: Task):
    def unless_skipped(context) -> None:
        if why := task.skipped(context["params"]):
            raise AirflowSkipException(why)

    return FLAVOURS[FLAVOUR](
        task,
        task_id=task.step,
        pre_execute=unless_skipped,
        do_xcom_push=False,
        # where no seeds are injected the first round begins all the same, and what follows the
        # rounds does so however many there were; all of the rounds that comes after a generate
        # that found nothing due is skipped with it
        trigger_rule="none_failed" if task.follows_skipped else "all_success",
    )


with DAG(
    "nutria_crawl",
    description="Crawl in rounds: inject, generate, fetch, parse, updatedb; then links and index",
    doc_md=__doc__,
    schedule=None,
    catchup=False,
    params=PARAMS,
    default_args={"retries": RETRIES, "retry_delay": RETRY_DELAY},
    user_defined_macros={"command": command, "arguments": arguments},
    # a list stays one
    render_template_as_native_obj=FLAVOUR == "spark-submit",
    tags=["nutria"],
) as dag:
    groups = {}
    operators = []
    for task in task_graph(MAX_ROUNDS):
        if task.group is None:
            operators.append(operator_of(task))
            continue
        if task.group not in groups:
            groups[task.group] = TaskGroup(task.group)
        with groups[task.group]:
            operators.append(operator_of(task))
    chain(*operators)
