"""The languages that tantivy has stemmers for, and the fields that they are indexed in."""

from __future__ import annotations

STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""ISO 639 code → tantivy's name."""

OTHER = "xx"
"""The field of all other languages, whose words stay as they are."""

GROUPS = (*STEMMERS, OTHER)

_SAME = {"nb": "no", "nn": "no"}


def language_code(language: str) -> str:
    """`en-US` and `EN` as `en`."""
    return language.replace("_", "-").partition("-")[0].strip().lower()[:8]


def group_of(language: str) -> str:
    """The fields that a page of the language goes to."""
    code = language_code(language)
    code = _SAME.get(code, code)
    return code if code in STEMMERS else OTHER
