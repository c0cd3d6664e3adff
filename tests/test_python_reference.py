"""Every public name is documented, and its example runs."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path

import pytest

import exoskel
from tools.python_reference import EXAMPLES, example, python_reference

NEEDED = {"gym": "gymnasium", "export": "viser", "plot": "matplotlib", "animate": "trimesh"} | {
    "to_dartpy": "dartpy",
    "DartpyWorld": "dartpy",
    "to_newton": "newton",
    "NewtonModel": "newton",
    "to_pinocchio": "pinocchio",
    "PinocchioModel": "pinocchio",
}
"""Packages of extras that examples need."""


def test_every_public_name_has_an_example_and_documentation() -> None:
    assert set(EXAMPLES) == set(exoskel.__all__)
    for name in exoskel.__all__:
        value = getattr(exoskel, name)
        assert isinstance(value, str) or inspect.getdoc(value), name


def test_every_public_name_is_on_the_page() -> None:
    page = python_reference()
    for name in exoskel.__all__:
        assert f"## {name}\n" in page


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in NEEDED:
        pytest.importorskip(NEEDED[name])
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        exec(compile(example(name), name, "exec"), {})
