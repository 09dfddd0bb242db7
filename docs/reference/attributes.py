"""The texts that stand below constants and fields, which Python itself throws away."""

from __future__ import annotations

import ast
from itertools import pairwise


def texts_below(body: list[ast.stmt]) -> dict[str, str]:
    """By the name that is assigned, the text below the assignment."""
    texts: dict[str, str] = {}
    for statement, following in pairwise(body):
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        else:
            continue
        if (
            isinstance(target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            texts[target.id] = following.value.value
    return texts
