from __future__ import annotations

import pytest

from crawl.storage.filesystems import hdfs_errors


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            'RPCError("org.apache.hadoop.hdfs.server.namenode.SafeModeException", "No\\n\\tat")',
            "in safe mode",
        ),
        ('RPCError("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", "B")', "quota"),
        ('RPCError("org.apache.hadoop.ipc.StandbyException", "Operation")', "on standby"),
        (
            'RPCError("org.apache.hadoop.security.AccessControlException", '
            '"SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]")',
            "wants Kerberos",
        ),
        (
            'RPCError("java.io.IOException", "Something else\\n\\tat x.y(Z:1)")',
            "Something else",
        ),
        ('OperationFailed("Failed to complete file in time")', "Failed to complete file in time"),
    ],
)
def test_what_a_cluster_says_is_one_line(text: str, line: str) -> None:
    message = hdfs_errors.error_line(RuntimeError(text), "nn:8020")
    assert line in message
    assert "\n" not in message
    assert "\\n" not in message
    assert "org.apache" not in message


def test_a_broken_line_is_reported_by_what_was_known() -> None:
    error = OSError("Broken pipe (os error 32)")
    assert "cannot reach the name node at nn:8020" in hdfs_errors.error_line(error, "nn:8020")
    gone = hdfs_errors.error_line(error, "nn:8020", has_answered=True)
    assert "a node of the cluster at nn:8020 no longer answers (Broken pipe" in gone


def test_a_fault_of_the_user_is_not_tried_again() -> None:
    asked: list[int] = []

    def refused() -> None:
        asked.append(1)
        raise RuntimeError('RPCError("org.apache.hadoop.fs.InvalidPathException", "Invalid")')

    with pytest.raises(OSError, match="^Invalid$"):
        hdfs_errors.HdfsRetries("service").of(refused)
    assert len(asked) == 1
