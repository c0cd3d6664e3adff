"""usd-core's validators find no problems in archives and preserved data that the source does not have."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import exoskel
from tests.support.edits import edited
from tests.support.textured_meshes import png
from tests.usd.test_preserved_prims import ROBOT

pytest.importorskip("pxr")


def problems(path: Path) -> Counter[str]:
    """The names of the problems that all validators find in a file, with their numbers."""
    from pxr import Usd, UsdValidation

    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    found = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(path)))
    return Counter(f"{one.GetName()}: {one.GetMessage()}" for one in found)


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures" / "sky.png").write_bytes(png())
    (tmp_path / "robot.usda").write_text(ROBOT)
    return tmp_path / "robot.usda"


@pytest.mark.parametrize("is_edited", [False, True])
@pytest.mark.parametrize("form", ["usda", "usdz"])
def test_validators_find_no_further_problems(form: str, is_edited: bool, robot: Path) -> None:
    output = robot.with_name(f"output.{form}")
    exoskel.convert(edited(robot) if is_edited else robot, output)
    assert not problems(output) - problems(robot)
