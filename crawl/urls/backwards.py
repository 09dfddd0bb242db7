"""Names with their labels backwards, by which neighbours in a sorted list are of one domain."""

from __future__ import annotations


def backwards(name: str) -> str:
    """`www.example.org` as `org.example.www`, and the other way round. An IP address stays as it
    is: its parts go from the large to the small already."""
    labels = name.split(".")
    if ":" in name or all(label.isdecimal() for label in labels):
        return name
    return ".".join(reversed(labels))
