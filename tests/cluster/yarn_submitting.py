"""The lines that submit jobs to YARN, as docs/pages/how-to/cluster-managers.md has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from crawl.storage.folder import Folder
from crawl.synthetic.web import Web
from tests.cluster.standalone import SPARK, Submitted, started
from tests.cluster.submitting import ROOT, Package, Site
from tests.cluster.yarn import YarnCluster
from tests.quick_jvm import quick_jvm

SENT_PYTHON = "./environment/bin/python"


def stored_environment(package: Package, store: str) -> str:
    """Puts the packages onto the store, where a node takes them once and not once a job."""
    archive = Path(package.archive.partition("#")[0])
    Folder(store).write(archive.name, archive.read_bytes())
    return f"{store}/{archive.name}#environment"


class YarnSite(Site):
    """A crawl on HDFS whose jobs run on YARN."""

    def __init__(
        self, folder: Path, web: Web, package: Package, crawl: str, environment: str
    ) -> None:
        super().__init__(folder, web, package, crawl)
        self.environment = environment

    def submit_client(
        self, yarn: YarnCluster, job: str, *arguments: str, executors: int = 2
    ) -> Submitted:
        """The driver runs here, and reads its configuration and seeds here."""
        job_file = str(ROOT / "jobs" / f"{job}.py")
        program = [job_file, self.crawl, *arguments, "--conf", "conf"]
        return self._submit_here(yarn, program, executors)

    def submit_jobs(self, yarn: YarnCluster, *jobs: Sequence[str], executors: int = 2) -> Submitted:
        """These jobs in one application, whose driver is here."""
        return self._submit_here(yarn, self.in_turn(jobs), executors)

    def _submit_here(self, yarn: YarnCluster, program: Sequence[str], executors: int) -> Submitted:
        return self._submit(
            yarn,
            *("--deploy-mode", "client", "--archives", self.environment),
            f"--conf=spark.pyspark.driver.python={self.package.python}",
            "--conf=spark.yarn.am.memory=512m",
            f"--conf=spark.yarn.am.extraJavaOptions={quick_jvm()}",
            f"--conf=spark.executor.instances={executors}",
            *program,
        )

    def submit_cluster(self, yarn: YarnCluster, job: str, *arguments: str) -> Submitted:
        """The driver runs in the application master; what it reads is sent along."""
        files = [*(self.folder / "conf").iterdir(), self.seeds]
        return self._submit(
            yarn,
            *("--deploy-mode", "cluster", "--archives", self.environment),
            *("--files", ",".join(map(str, files))),
            f"--conf=spark.yarn.appMasterEnv.PYSPARK_PYTHON={SENT_PYTHON}",
            # all nodes are this machine, which may have other addresses
            "--conf=spark.yarn.appMasterEnv.SPARK_LOCAL_IP=127.0.0.1",
            "--conf=spark.yarn.maxAppAttempts=1",
            "--conf=spark.executor.instances=2",
            *(str(ROOT / "jobs" / f"{job}.py"), self.crawl, *arguments),
            *("--conf", "crawl-site.toml"),
        )

    def _submit(self, yarn: YarnCluster, *rest: str) -> Submitted:
        settings = {
            **self.spark_settings(),
            "spark.pyspark.python": SENT_PYTHON,
            "spark.yarn.jars": f"local:{SPARK}/jars/*",
            "spark.executor.cores": "1",
            # its pages and the filter that YARN puts before them get in each other's way at times
            # when a driver starts (ConcurrentModificationException, Spark 4.3)
            "spark.ui.enabled": "false",
            # the driver is told at once of a container that died
            "spark.yarn.scheduler.heartbeat.interval-ms": "500",
        }
        return started(
            [
                *(SPARK / "bin" / "spark-submit", "--master", "yarn"),
                *("--py-files", f"{self.package.code},{self.plugins}"),
                *(f"--conf={name}={value}" for name, value in settings.items()),
                *rest,
            ],
            self.folder,
            yarn.environment(self.folder),
        )
