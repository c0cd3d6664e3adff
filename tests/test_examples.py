"""The numbered examples run and print the expected output."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import PROJECT

SCRIPTS = sorted((PROJECT / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(script: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and not done.stderr


def test_examples_are_numbered_without_gaps() -> None:
    assert [int(script.stem[:2]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))


def test_the_notebook_runs_and_its_results_show_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = json.loads((PROJECT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = []
    for cell in (one for one in notebook["cells"] if one["cell_type"] == "code"):
        body = ast.parse("".join(cell["source"])).body
        last = body.pop()
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        shown.append(type(value).__name__)
        assert "<table" in value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)
    assert shown == ["World", "Model", "Trajectory", "Wrench", "Trajectory"]
