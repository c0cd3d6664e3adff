"""Markers that connect tests to the numbered items of a conformance checklist."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest


def item(*numbers: int) -> Any:
    """Marks a test as showing items of the SKEL reference's section 18."""
    return pytest.mark.checklist("skel", numbers)


def rule(*numbers: int) -> Any:
    """Marks a test as showing rules of the XODE reference's section 13."""
    return pytest.mark.checklist("xode", numbers)


def disagreement(*numbers: int) -> Any:
    """Marks a test as showing the rule chosen for disagreements of the XODE reference's section 11."""
    return pytest.mark.checklist("xode D", numbers)


def numbers_shown(directory: Path, marker: str) -> set[int]:
    """All numbers in markers of tests in `directory`, read from the source."""
    found: set[int] = set()
    for file in directory.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                found.update(_numbers(node, marker))
    return found


def _numbers(function: ast.FunctionDef, marker: str) -> set[int]:
    return {
        argument.value
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == marker
        for argument in decorator.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, int)
    }
