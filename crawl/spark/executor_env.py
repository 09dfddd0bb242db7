"""What of the user's surroundings executors need to find a crawl's folder.

Spark starts them with the surroundings of their machines; here the store's address, region
and user are named in those of the command.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from crawl.spark.master import is_local

_SETTINGS = (
    *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"),
    *("AWS_MAX_ATTEMPTS", "AWS_RETRY_MODE", "AWS_EC2_METADATA_DISABLED", "HADOOP_USER_NAME"),
)
_CREDENTIALS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
"""As Spark's own connector does it. YARN and Kubernetes show what they are told to many, and
have better ways: delegation tokens, secrets, roles."""
_PREFIX = "spark.executorEnv."
_HIDDEN = "(?i)secret|password|token|access[._]?key"


def executor_settings(master: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Spark's settings that give executors the variables they need."""
    if is_local(master):
        return {}  # they are children of this process
    names = list(_SETTINGS)
    if not master.startswith("yarn"):
        names.append("HADOOP_CONF_DIR")  # YARN's containers have the cluster's own
    shared: dict[str, str] = {}
    if master.startswith("spark://"):
        names.extend(_CREDENTIALS)
        if any(environment.get(name) for name in _CREDENTIALS):
            shared["spark.redaction.regex"] = _HIDDEN  # Spark's own lets the key's name through
    return shared | {_PREFIX + name: environment[name] for name in names if environment.get(name)}
