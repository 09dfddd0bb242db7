"""Writers whose index is files, one a shard, in the order of URLs.

The next state of a shard is a new file: what stays is copied from the present one record by
record, without looking into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.interfaces.indexwriter import NO_PARAMETERS, IndexWriter, Shard
from crawl.plugins.indexwriter.shared.parameters import Parameters

COMMON = ("path",)
"""Parameters of every file writer: `path` is the folder of its files."""


class FileIndexWriter(IndexWriter):
    """A writer of files, which needs nobody's leave and is visible when it is published."""

    keeps_files: ClassVar[bool] = True
    known: ClassVar[tuple[str, ...]] = ()
    """Its own parameters."""

    def __init__(self, config: Config, parameters: Mapping[str, Any] = NO_PARAMETERS) -> None:
        self._parameters = Parameters(parameters, (*COMMON, *self.known))
        if "\0" in self._parameters.text("path"):
            raise ConfigError("path: no folder has a NUL in its name")

    def check(self) -> None:
        pass

    def commit(self) -> None:
        pass


class OpenedFiles:
    """The present file of a shard, if there is one, and the new one."""

    def __init__(self, shard: Shard, suffix: str) -> None:
        self.stack = ExitStack()
        self.base = shard.base
        self.name = shard.new_name(suffix)
        try:
            self.old = (
                None
                if shard.base is None
                else self.stack.enter_context(shard.open_read(shard.base))
            )
            self.new = self.stack.enter_context(shard.open_write(self.name))
        except BaseException:
            self.stack.close()
            raise

    def close(self) -> str:
        """The new file is whole when it returns."""
        self.stack.close()
        return self.name

    def abort(self) -> None:
        fault = RuntimeError("given up")
        self.stack.__exit__(type(fault), fault, None)
