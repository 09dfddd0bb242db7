"""Every fault the crawler raises on purpose, as one tree.

    CrawlError                 the command ends with one line and `exit_code`
    ├── UsageError             an argument that cannot be meant
    │   └── NothingToDo        what was asked for is done already, or there is none of it
    ├── ConfigError            a property with a wrong name, type, unit or value
    ├── PluginError            a plugin that cannot be found, loaded or configured
    ├── EnvironmentFault       the machine lacks something: Java, Python, a master
    ├── Cancelled              whoever holds the operation wanted it to end
    ├── ServiceFault           a crawl service that refused or failed
    │   ├── ServiceUnreachable it cannot be reached, or did not answer in time
    │   └── NotFetchedYet      a page is not there yet, and the service goes on with it
    └── StorageError           a path that cannot be read or written
        ├── DamagedFile        a file of the crawl that is not as it was written
        ├── Locked             somebody else is writing the dataset
        └── NoSnapshot         the dataset has no such (or no) snapshot

Outcomes are not faults: a rejected URL, a 404 or a bad seed line is returned with a
reason and counted.
"""

from __future__ import annotations

NOTHING_MORE = 99
"""Exit code that tells a scheduler to skip the rest; 1 is what any broken program ends with."""


class CrawlError(Exception):
    """A fault that a user can understand from its one line."""

    exit_code = 2
    may_pass = False
    """Whether the same work may go well later, or on another machine, so that Spark is to try it
    again (crawl/spark/faults.py). What the user did wrong is wrong everywhere."""


class UsageError(CrawlError):
    """An argument that cannot be meant."""


class NothingToDo(UsageError):
    """What was asked for is done already, or there is none of it."""

    exit_code = 1


class ConfigError(CrawlError):
    """A property with a wrong name, type, unit or value."""


class PluginError(CrawlError):
    """A plugin that cannot be found, loaded or configured."""


class EnvironmentFault(CrawlError):
    """The machine lacks something that the command needs."""

    may_pass = True


class Cancelled(CrawlError):
    """Whoever holds the operation wanted it to end; what it had not published is not there."""

    exit_code = 130


class ServiceFault(CrawlError):
    """A crawl service refused what it was asked, or failed at it: its own code and message."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        details: object = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP; 0 where there was no answer."""
        self.code = code
        self.details = details
        self.retry_after_seconds = retry_after_seconds
        """How long the service asks to be left alone, where it says so."""
        self.may_pass = status in (0, 429) or status >= 500


class ServiceUnreachable(ServiceFault):
    """A crawl service cannot be reached, or did not answer in time."""


class NotFetchedYet(ServiceFault):
    """A page was not there within the time that somebody was willing to wait. The service goes on
    with it: `job_id` is what to wait for or ask about."""

    def __init__(self, message: str, job_id: str) -> None:
        super().__init__(message, status=202, code="not_fetched_yet")
        self.job_id = job_id
        self.may_pass = True


class StorageError(CrawlError):
    """A path that cannot be read or written."""

    may_pass = True


class DamagedFile(StorageError):
    """A file of the crawl that is not as it was written, or was not read so: a broken connection
    to the store looks the same to whoever decodes it."""

    def __init__(self, path: str, fault: str) -> None:
        super().__init__(
            f"{path} is damaged: {fault}; `crawl check CRAWL_DIR --repair` tells what can be saved,"
            " and saves it"
        )
        self.path = path
        self.fault = fault


class Locked(StorageError):
    """Somebody else is writing the dataset."""

    exit_code = 3
    may_pass = False


class NoSnapshot(StorageError):
    """The dataset has no such snapshot, or none at all."""

    may_pass = False
