"""The text of a formula: what its author wrote for readers without pictures, else its parts."""

from __future__ import annotations

from typing import Any

from selectolax.lexbor import LexborNode

from crawl.maincontent.scripts import lowered, raised

_MAX_DEPTH = 40
_MAX_CHARACTERS = 5_000
_NOT_SHOWN = frozenset(("annotation", "annotation-xml", "mphantom", "mspace", "none", "-comment"))
_STYLED = ("{\\displaystyle", "{\\textstyle")


def formula_text(node: LexborNode) -> str:
    """The text of a `math` element: `alttext`, the TeX that it is annotated with, or its parts."""
    tex = (node.attributes.get("alttext") or "").strip()
    if not tex:
        for annotation in node.css("annotation"):
            if "tex" in (annotation.attributes.get("encoding") or "").lower():
                tex = (annotation.text(deep=True) or "").strip()
                break
    if tex:
        return _unstyled(tex)[:_MAX_CHARACTERS]
    return "".join(_parts(node, 0)).strip()[:_MAX_CHARACTERS]


def _unstyled(tex: str) -> str:
    """Without the braces that say how Wikipedia sets it."""
    for style in _STYLED:
        if tex.startswith(style) and tex.endswith("}"):
            return tex[len(style) : -1].strip()
    return tex


def _children(node: LexborNode) -> list[Any]:
    return [
        child
        for child in node.iter(include_text=True)
        if child.tag not in _NOT_SHOWN and not (child.tag == "-text" and _is_blank(child))
    ]


def _is_blank(node: Any) -> bool:
    return not (node.text_content or "").strip()


def _parts(node: Any, depth: int) -> list[str]:
    if node.tag == "-text":
        return [" ".join((node.text_content or "").split())]
    if depth > _MAX_DEPTH:
        return [node.text(deep=True) or ""]
    children = _children(node)
    parts = ["".join(_parts(child, depth + 1)) for child in children]
    tag = node.tag
    if tag == "semantics":
        return parts[:1]
    if tag == "mfrac" and len(parts) == 2:
        return [f"{_grouped(parts[0])}/{_grouped(parts[1])}"]
    if tag == "msqrt":
        return [f"√{_grouped(''.join(parts))}"]
    if tag == "mroot" and len(parts) == 2:
        return [f"{raised(parts[1], 'x')}√{_grouped(parts[0])}"]
    if tag in ("msup", "mover") and len(parts) == 2:
        return [parts[0], _above(parts[1])]
    if tag in ("msub", "munder") and len(parts) == 2:
        return [parts[0], lowered(parts[1], "x")]
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return [parts[0], lowered(parts[1], "x"), _above(parts[2])]
    return parts


def _above(text: str) -> str:
    return (
        text if text in ("′", "″", "'") else raised(text, "x") if text.isalnum() else f"^({text})"
    )


def _grouped(text: str) -> str:
    return text if text.isalnum() or len(text) < 2 else f"({text})"
