"""MkDocs calls this at every build: the pages below reference/ are written from the code."""

from __future__ import annotations

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

from reference import PAGES


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages to those in docs/pages."""
    for name, written in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=written()))
    return files
