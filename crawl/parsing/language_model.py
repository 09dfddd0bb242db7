"""py3langid's model, unpacked once a machine and then mapped into memory.

The package has it compressed: half a second of processor time and 70 MB for every process that
identifies a language. So the first one leaves it as it is used in the user's cache folder,

    ~/.cache/nutria/langid-0.4.0-4586720-1/   weights, transitions, states, outputs, classes

and the others map these files: milliseconds, and one copy for all. The weights are in single
precision there, which takes twice the room and a third of the time. Where nothing can be
written, or what is there is not as it should be, the package's own file is loaded.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

_FORM = 1
"""Of the files here: another one makes another folder."""
_FILES = ("weights", "priors", "transitions", "states", "outputs", "classes")
_PROOF = "The weather will be fine tomorrow, with some clouds in the afternoon."

_log = logging.getLogger(__name__)


def load_model() -> Any:
    """A LanguageIdentifier of its own for the caller; raises MemoryError where there is no
    room for it."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    size = (MODEL_DIR / MODEL_FILE).stat().st_size
    folder = _cache() / f"langid-{version('py3langid')}-{size}-{_FORM}"
    mapped = _mapped(folder)
    if mapped is not None:
        return mapped
    model = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    try:
        _keep(model, folder)
    except OSError as error:
        _log.debug("the language model is not kept: %s", error)
        return model
    return _mapped(folder) or model


def _mapped(folder: Path) -> Any:
    """The model of these files; None where they are missing or not as they should be."""
    from py3langid.langid import LanguageIdentifier

    try:
        if folder.stat().st_uid != os.getuid():
            return None
        weights, priors, transitions, states, outputs, classes = (
            np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in _FILES
        )
        if weights.shape[1] != len(classes) or len(states) != len(outputs):
            return None
        model = LanguageIdentifier(
            *(weights, priors, classes.tolist(), transitions.data, outputs.tolist()),
            norm_probs=True,
            tk_row=states.tolist(),
        )
        return model if model.classify(_PROOF)[0] == "en" else None
    except (OSError, ValueError, IndexError, EOFError):
        return None


def _keep(model: Any, folder: Path) -> None:
    """Writes the model as it is mapped; all of it appears at once."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".langid-", dir=folder.parent))
    try:
        arrays = (
            np.asarray(model.nb_ptc, np.float32),
            np.asarray(model.nb_pc, np.float32),
            np.frombuffer(model.tk_nextmove, f"u{model.tk_nextmove.itemsize}"),
            np.asarray(model.tk_row, np.uint32),
            np.asarray(model.tk_output, np.int32),
            np.array(model.nb_classes),
        )
        for name, array in zip(_FILES, arrays, strict=True):
            np.save(made / f"{name}.npy", array, allow_pickle=False)
        if _mapped(folder) is None:  # nobody else was quicker
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _cache() -> Path:
    """The user's folder for what can be made again, by the XDG base folders."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME") or f"{tempfile.gettempdir()}/nutria-{os.getuid()}"
    return (Path(named) if named.startswith("/") else Path(home) / ".cache") / "nutria"
