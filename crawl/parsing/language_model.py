"""py3langid's model, unpacked once a machine and then mapped into memory.

The package has it compressed: half a second of processor time and 70 MB for every process that
identifies a language. So the first one leaves it as it is used in the user's cache folder,

    ~/.cache/nutria/langid-0.4.0-4586720-2/   weights, transitions, states, outputs, classes …

and the others map these files: milliseconds, and one copy for all. The weights are in single
precision there, which takes twice the room and a third of the time. Where nothing can be
written, or what is there is not as it should be, the package's own file is loaded.

Texts are scored here and not by the package: it says which language is the likeliest, but not how
likely it is.
"""

from __future__ import annotations

import logging
import math
import os
import shutil
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_FORM = 2
"""Of the files here: another one makes another folder."""
_FILES = ("weights", "priors", "usual", "transitions", "states", "outputs", "classes")
_ROWS = 10_000
"""Of the weights that are looked at together: all of them would take 200 MB."""
_PROOF = "The weather will be fine tomorrow, with some clouds in the afternoon."

_log = logging.getLogger(__name__)


class BestLanguage(NamedTuple):
    """The language that a text looks most like."""

    code: str
    confidence: float
    """How much more like it than like any other, from 0 to 1."""
    fit: float
    """How likely the text is in it, as the mean logarithm of its n-grams' probabilities, less what
    that is of texts in this language: about 0 where it is in it, -1 and less where it is in one
    that the model lacks."""


class LanguageModel:
    """Naive Bayes over the n-grams of bytes that an automaton finds."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Of the arrays that `_FILES` names."""
        self._weights = arrays["weights"]
        self._priors = arrays["priors"]
        self._usual = arrays["usual"]
        self._transitions: Any = arrays["transitions"].data
        self._starts = [state << 8 for state in arrays["states"].tolist()]
        self._outputs: list[int] = arrays["outputs"].tolist()
        self._classes: list[str] = arrays["classes"].tolist()
        self._first = _first_places(self._classes)
        """A language in two scripts has two classes, which count together."""

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(self._classes))

    def set_languages(self, languages: Iterable[str]) -> None:
        """Leaves these languages alone in the model."""
        codes = set(languages)
        places = [at for at, code in enumerate(self._classes) if code in codes]
        self._classes = [self._classes[at] for at in places]
        self._first = _first_places(self._classes)
        self._weights = self._weights[:, places]
        self._priors, self._usual = self._priors[places], self._usual[places]

    def best(self, text: str) -> BestLanguage:
        """The likeliest language; with no confidence where nothing of the text is known."""
        if text.isupper():
            text = text.lower()
        data = unicodedata.normalize("NFC", text).encode("utf-8", "surrogatepass")
        counts = self._features(data)
        if not counts:
            return BestLanguage(self._classes[0], 0.0, -math.inf)
        features = np.fromiter(counts.keys(), np.intp, len(counts))
        amounts = np.log1p(np.fromiter(counts.values(), np.float32, len(counts)))
        likelihoods = amounts @ self._weights[features]
        scores = likelihoods + self._priors
        best = int(scores.argmax())
        # the package's temperature, by which confidence does not depend on the length
        shares = np.exp((scores - scores[best]) / math.sqrt(len(data)))
        merged = np.bincount(self._first, shares)
        likeliest = int(merged.argmax())
        if self._first[best] != likeliest:
            best = likeliest
        fit = likelihoods[best] / amounts.sum() - self._usual[best]
        return BestLanguage(
            self._classes[likeliest], float(merged[likeliest] / shares.sum()), float(fit)
        )

    def _features(self, data: bytes) -> Counter[int]:
        transitions, starts, outputs = self._transitions, self._starts, self._outputs
        state, features = 0, []
        for octet in data:
            state = transitions[starts[state] + octet]
            feature = outputs[state]
            if feature >= 0:
                features.append(feature)
        return Counter(features)


def _first_places(classes: list[str]) -> npt.NDArray[np.intp]:
    return np.array([classes.index(code) for code in classes], np.intp)


def load_model() -> LanguageModel:
    """A model of its own for the caller; raises MemoryError where there is no room for it."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    size = (MODEL_DIR / MODEL_FILE).stat().st_size
    folder = _cache() / f"langid-{version('py3langid')}-{size}-{_FORM}"
    mapped = _mapped(folder)
    if mapped is not None:
        return mapped
    packed = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    arrays = _arrays(packed)
    del packed
    try:
        _keep(arrays, folder)
    except OSError as error:
        _log.debug("the language model is not kept: %s", error)
        return LanguageModel(arrays)
    return _mapped(folder) or LanguageModel(arrays)


def _arrays(packed: Any) -> dict[str, npt.NDArray[Any]]:
    """The model of the package as the arrays of `_FILES`."""
    weights = np.asarray(packed.nb_ptc, np.float32)
    return {
        "weights": weights,
        "priors": np.asarray(packed.nb_pc, np.float32),
        "usual": _usual_fit(weights),
        "transitions": np.frombuffer(packed.tk_nextmove, f"u{packed.tk_nextmove.itemsize}"),
        "states": np.asarray(packed.tk_row, np.uint32),
        "outputs": np.asarray(packed.tk_output, np.int32),
        "classes": np.array(packed.nb_classes),
    }


def _usual_fit(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The mean logarithm of the probabilities of n-grams in texts of each language, which is its
    negative entropy in the model."""
    total = np.zeros(weights.shape[1])
    mass = np.zeros(weights.shape[1])
    for start in range(0, len(weights), _ROWS):
        part = weights[start : start + _ROWS].astype(np.float64)
        probabilities = np.exp(part)
        total += (probabilities * part).sum(axis=0)
        mass += probabilities.sum(axis=0)
    return (total / mass).astype(np.float32)


def _mapped(folder: Path) -> LanguageModel | None:
    """The model of these files; None where they are missing or not as they should be."""
    try:
        if folder.stat().st_uid != os.getuid():
            return None
        arrays: dict[str, npt.NDArray[Any]] = {
            name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in _FILES
        }
        width = len(arrays["classes"])
        if arrays["weights"].shape[1] != width or len(arrays["usual"]) != width:
            return None
        if len(arrays["states"]) != len(arrays["outputs"]):
            return None
        model = LanguageModel(arrays)
        return model if model.best(_PROOF).code == "en" else None
    except (OSError, ValueError, IndexError, EOFError):
        return None


def _keep(arrays: dict[str, npt.NDArray[Any]], folder: Path) -> None:
    """Writes the model as it is mapped; all of it appears at once."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".langid-", dir=folder.parent))
    try:
        for name in _FILES:
            np.save(made / f"{name}.npy", arrays[name], allow_pickle=False)
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
