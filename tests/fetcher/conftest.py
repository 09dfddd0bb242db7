from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fetcher.scripted_task import Script, ScriptedProtocol


@pytest.fixture
def script() -> Iterator[Script]:
    """What the scripted protocol answers; it begins without a memory of earlier tests."""
    ScriptedProtocol.asked.clear()
    ScriptedProtocol.script.clear()
    yield ScriptedProtocol.script
    ScriptedProtocol.script.clear()
