"""Kubernetes without one: the manifests are in step with each other and with the image, Spark asks
for the pods that were meant, and the entry point makes executors of them that run a job."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from crawl.config.load import load
from crawl.declared import declared_properties
from crawl.storage.crawl_dir import CrawlDir
from tests.cluster.standalone import SPARK, bare_environment
from tests.docker.dockerfile import DOCKER, ROOT, chain, stages
from tests.docker.kubernetes_api import Pod, RecordingApi, environment_of, recording_api
from tests.phases.made import records_of
from tests.quick_jvm import quick_jvm

HERE = DOCKER / "kubernetes"
IMAGE = "registry.example.org/nutria-kubernetes:0.1.0"
SUBMIT_S = 600


def manifests() -> dict[str, dict[str, Any]]:
    """What crawler.yaml makes, by kind: one of each."""
    found = list(yaml.safe_load_all((HERE / "crawler.yaml").read_text()))
    assert len({each["kind"] for each in found}) == len(found)
    return {each["kind"]: each for each in found}


def template(name: str) -> dict[str, Any]:
    found = yaml.safe_load((HERE / f"{name}.yaml").read_text())
    assert (found["apiVersion"], found["kind"]) == ("v1", "Pod")
    return dict(found["spec"])


def conf_of(key: str) -> str:
    """A setting that submit gives to Spark."""
    (found,) = re.findall(rf"--conf {re.escape(key)}=(\S+)", (HERE / "submit").read_text())
    return str(found)


class TestManifests:
    def test_there_is_what_the_driver_needs(self) -> None:
        assert {kind: each["apiVersion"] for kind, each in manifests().items()} == {
            "Namespace": "v1",
            "ServiceAccount": "v1",
            "Role": "rbac.authorization.k8s.io/v1",
            "RoleBinding": "rbac.authorization.k8s.io/v1",
            "ConfigMap": "v1",
        }

    def test_names_agree(self) -> None:
        found = manifests()
        namespace = found["Namespace"]["metadata"]["name"]
        for kind, each in found.items():
            if kind != "Namespace":
                assert each["metadata"]["namespace"] == namespace
        assert f"${{NAMESPACE:-{namespace}}}" in (HERE / "submit").read_text()
        account = found["ServiceAccount"]["metadata"]["name"]
        assert conf_of("spark.kubernetes.authenticate.driver.serviceAccountName") == account
        binding = found["RoleBinding"]
        assert binding["roleRef"] == {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role",
            "name": found["Role"]["metadata"]["name"],
        }
        assert binding["subjects"] == [
            {"kind": "ServiceAccount", "name": account, "namespace": namespace}
        ]

    def test_the_driver_may_do_what_spark_does_and_no_more(self) -> None:
        (rule,) = manifests()["Role"]["rules"]
        assert rule["apiGroups"] == [""]
        assert set(rule["resources"]) == {
            *("pods", "services", "configmaps", "persistentvolumeclaims")
        }
        assert "*" not in rule["verbs"] and {"create", "watch", "deletecollection"} <= {
            *rule["verbs"]
        }

    def test_settings_are_accepted_and_lie_where_the_driver_looks(self, tmp_path: Path) -> None:
        site = manifests()["ConfigMap"]
        for name, text in site["data"].items():
            (tmp_path / name).write_text(text)
        load(conf=tmp_path, extra=declared_properties)
        spec = template("driver")
        (volume,) = spec["volumes"]
        assert volume["configMap"]["name"] == site["metadata"]["name"]
        (mount,) = spec["containers"][0]["volumeMounts"]
        assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
        assert conf_of("spark.kubernetes.driverEnv.CRAWL_CONF_DIR") == mount["mountPath"]

    @pytest.mark.parametrize("name", ["driver", "executor"])
    def test_pods_are_of_the_image_s_user_and_may_nothing(self, name: str) -> None:
        spec = template(name)
        users = [user for stage in chain("kubernetes") for user in stage.values("USER")]
        context = spec["securityContext"]
        assert f"{context['runAsUser']}:{context['runAsGroup']}" == users[-1]
        assert context["runAsNonRoot"] and context["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = spec["containers"]
        assert container["name"] == name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }

    def test_the_entry_point_is_the_image_s(self) -> None:
        stage = stages()["kubernetes"]
        assert stage.values("ENTRYPOINT") == ['["tini", "--", "pod"]']
        assert [copy.sources for copy in stage.copies] == [("docker/kubernetes/pod",)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run"], "usage: submit JOB CRAWL_DIR"),
        (["run", "s3://b/c"], "MASTER and IMAGE must be set"),
    ],
)
def test_submit_says_what_is_missing(arguments: list[str], complaint: str) -> None:
    done = subprocess.run(
        [HERE / "submit", *arguments], env={"PATH": "/bin:/usr/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert complaint in done.stderr


def environment(home: Path) -> dict[str, str]:
    """Of a machine that has the image's programs."""
    bare = bare_environment(home)
    return {
        **bare,
        "PATH": f"{Path(sys.executable).parent}:{bare['PATH']}",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
        "KUBECONFIG": str(home / "none"),
    }


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordingApi]:
    home = tmp_path_factory.mktemp("home")
    with recording_api() as api:
        sizes = {
            "spark.driver.memory": "1024m",
            "spark.driver.memoryOverhead": "600m",
            "spark.executor.memoryOverhead": "3000m",
        }
        settings = " ".join(f"--conf {key}={value}" for key, value in sizes.items())
        told = {"MASTER": api.master, "IMAGE": IMAGE, "WAIT": "false"}
        done = subprocess.run(
            [HERE / "submit", "run", "s3://bucket/crawl", "--seeds", "/site/seeds.txt"],
            env={**environment(home), **told, "SPARK_SETTINGS": settings},
            capture_output=True,
            text=True,
            timeout=SUBMIT_S,
        )
        assert done.returncode == 0, done.stderr
        yield api


@pytest.mark.cluster
@pytest.mark.slow(seconds=30)
@pytest.mark.timeout(900)
class TestSubmitted:
    """What `docker/kubernetes/submit` has Spark ask for."""

    def test_the_driver_s_pod(self, api: RecordingApi) -> None:
        (pod,) = api.created("Pod")
        (container,) = pod["spec"]["containers"]
        assert container["image"] == IMAGE
        assert container["args"] == [
            *("driver", "--properties-file", "/opt/spark/conf/spark.properties"),
            *("--class", "org.apache.spark.deploy.PythonRunner"),
            *("local:///opt/nutria/jobs/nutria.py", "run"),
            *("s3://bucket/crawl", "--seeds", "/site/seeds.txt"),
        ]
        assert (ROOT / "jobs" / "nutria.py").is_file()
        assert container["resources"]["limits"] == {"memory": "1624Mi"}
        assert pod["spec"]["serviceAccountName"] == "nutria-driver"
        assert pod["spec"]["securityContext"] == template("driver")["securityContext"]
        assert {"name": "site", "mountPath": "/site", "readOnly": True} in container["volumeMounts"]
        assert environment_of(pod)["CRAWL_CONF_DIR"] == "/site"

    def test_credentials_are_references(self, api: RecordingApi) -> None:
        (pod,) = api.created("Pod")
        secrets = {
            variable["name"]: variable["valueFrom"]["secretKeyRef"]
            for variable in pod["spec"]["containers"][0]["env"]
            if "secretKeyRef" in variable.get("valueFrom", {})
        }
        assert secrets == {
            "AWS_ACCESS_KEY_ID": {"name": "nutria-store", "key": "access-key"},
            "AWS_SECRET_ACCESS_KEY": {"name": "nutria-store", "key": "secret-key"},
        }

    def test_what_executors_are_to_be_travels_with_the_driver(self, api: RecordingApi) -> None:
        texts = [text for map_ in api.created("ConfigMap") for text in map_["data"].values()]
        assert (HERE / "executor.yaml").read_text() in texts
        (properties,) = [text for text in texts if "spark.app.id" in text]
        assert "spark.executor.memoryOverhead=3000m" in properties
        assert "spark.kubernetes.executor.secretKeyRef.AWS_ACCESS_KEY_ID" in properties

    def test_the_entry_point_starts_that_driver(self, api: RecordingApi, tmp_path: Path) -> None:
        (pod,) = api.created("Pod")
        (tmp_path / "spark-submit").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (tmp_path / "spark-submit").chmod(0o755)
        arguments = pod["spec"]["containers"][0]["args"]
        done = subprocess.run(
            [HERE / "pod", *arguments],
            env={**environment_of(pod), "PATH": f"{tmp_path}:/bin:/usr/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        given = done.stdout.splitlines()
        assert given[-len(arguments) + 1 :] == arguments[1:]
        assert given[: -len(arguments) + 1] == [
            *("--conf", "spark.driver.bindAddress=127.0.0.1"),
            *("--conf", "spark.executorEnv.SPARK_DRIVER_POD_IP=127.0.0.1"),
            *("--deploy-mode", "client"),
        ]


@pytest.mark.cluster
@pytest.mark.slow(seconds=40)
@pytest.mark.timeout(900)
def test_executors_of_the_entry_point_run_a_job(tmp_path: Path) -> None:
    """The driver runs here; the pods that Spark asks for are processes of this machine."""
    started: list[Pod] = []

    def kubelet(pod: Pod) -> subprocess.Popen[bytes]:
        started.append(pod)
        folder = tmp_path / pod["metadata"]["name"]
        folder.mkdir()
        variables = {**environment(folder), **environment_of(pod)}
        variables["SPARK_LOCAL_DIRS"] = str(folder)  # a volume of the pod's own
        (container,) = pod["spec"]["containers"]
        with (folder / "log").open("wb") as log:
            return subprocess.Popen(
                [HERE / "pod", *container["args"]],
                env=variables,
                cwd=folder,
                stdout=log,
                stderr=log,
            )

    seeds = tmp_path / "seeds.txt"
    urls = [f"http://h{number % 4}.example.org/p{number}" for number in range(40)]
    seeds.write_text("\n".join(urls))
    with recording_api(kubelet) as api:
        settings = {
            "spark.kubernetes.namespace": "nutria",
            "spark.kubernetes.container.image": IMAGE,
            "spark.kubernetes.executor.podTemplateFile": HERE / "executor.yaml",
            # the API server of this test tells nothing by itself
            "spark.kubernetes.executor.enableApiWatcher": "false",
            "spark.kubernetes.executor.apiPollingInterval": "1s",
            "spark.executor.instances": "2",
            "spark.executor.cores": "1",
            "spark.executor.memory": "512m",
            "spark.executor.memoryOverhead": "1000m",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": quick_jvm(),
            "spark.executor.extraJavaOptions": quick_jvm(),
        }
        done = subprocess.run(
            [
                *(SPARK / "bin" / "spark-submit", "--master", api.master),
                *(f"--conf={key}={value}" for key, value in settings.items()),
                *(ROOT / "jobs" / "inject.py", tmp_path / "crawl", seeds),
            ],
            env=environment(tmp_path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=SUBMIT_S,
        )
        logs = "\n".join(path.read_text()[-1500:] for path in tmp_path.glob("*/log"))
        assert done.returncode == 0, done.stderr[-3000:] + logs
    assert records_of(CrawlDir(str(tmp_path / "crawl"))).keys() == set(urls)
    assert len(started) >= 2
    for pod in started:
        (container,) = pod["spec"]["containers"]
        assert (container["image"], container["args"]) == (IMAGE, ["executor"])
        assert container["resources"]["limits"] == {"memory": "1512Mi"}
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["spec"]["automountServiceAccountToken"] is False
