"""An unknown attribute of any kind of prim is in the output of a conversion to USD, or reported as dropped."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import exoskel
from exoskel.fates import Fate
from tests.support.edits import edited

pytest.importorskip("pxr")
TYPES = (
    *("Xform", "Scope", "", "Cube", "Sphere", "Capsule", "Cylinder", "Cone", "Plane", "Mesh", "BasisCurves", "Points"),
    *("Camera", "SphereLight", "DistantLight", "DomeLight", "RectLight", "Material", "Shader", "NodeGraph", "Skeleton"),
    *("PhysicsScene", "PhysicsJoint", "PhysicsFixedJoint", "PhysicsDistanceJoint", "PhysicsCollisionGroup"),
    *("MjcActuator", "MjcTendon", "IsaacImuSensor", "OmniGraph", "UnknownThing", "GeomSubset", "TetMesh"),
)
SCHEMAS = ("", "PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "MjcSiteAPI", "PhysxRigidBodyAPI", "IsaacLinkAPI")
NAMES = ("custom:thing", "physxRigidBody:other", "newton:other", "mjc:other", "isaac:note", "userProperties:x")
VALUES = {"int": "{}", "float": "{}.5", "string": '"text{}"', "double3": "({}, 2, 3)", "token": '"word{}"'}


@dataclass
class Node:
    """A prim of a generated stage, with an attribute whose value no other prim has."""

    number: int
    kind: str
    schema: str
    name: str
    type: str
    children: list[Node] = field(default_factory=list)

    def text(self, margin: str = "") -> str:
        schemas = f' (prepend apiSchemas = ["{self.schema}"])' if self.schema else ""
        inner = margin + "    "
        lines = [f'{margin}def {self.kind} "p{self.number}"{schemas}', margin + "{"]
        lines.append(f"{inner}custom {self.type} {self.name} = {VALUES[self.type].format(self.number)}")
        if self.kind == "Mesh":
            lines += [
                f"{inner}int[] faceVertexCounts = [3]",
                f"{inner}int[] faceVertexIndices = [0, 1, 2]",
                f"{inner}point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]",
            ]
        lines += [child.text(inner) for child in self.children]
        return "\n".join([*lines, margin + "}"])


def stage(chance: random.Random) -> list[Node]:
    """Prims of all types, some of them in others."""
    kinds = [*TYPES, *TYPES]
    chance.shuffle(kinds)
    made: list[Node] = []
    roots: list[Node] = []
    for number, kind in enumerate(kinds):
        node = Node(number, kind, chance.choice(SCHEMAS), chance.choice(NAMES), chance.choice(sorted(VALUES)))
        around = chance.choice([None, *made])
        (roots if around is None else around.children).append(node)
        made.append(node)
    return roots


def written(path: Path) -> dict[tuple[str, str], str]:
    """The names of all attributes of a stage with their values, by the names of their prims and their own."""
    from pxr import Usd

    opened = Usd.Stage.Open(str(path))
    found = [(prim.GetName(), one) for prim in opened.TraverseAll() for one in prim.GetAuthoredAttributes()]
    return {(prim, one.GetName()): f"{one.GetName()} = {one.Get()}" for prim, one in found}


@pytest.mark.parametrize("is_edited", [False, True])
@settings(max_examples=2, deadline=None, phases=[Phase.generate])  # stages cannot be shrunk
@given(seed=st.integers(0, 10**6))
def test_an_unknown_attribute_is_kept_or_reported(
    is_edited: bool, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    prims = stage(random.Random(seed))
    folder = tmp_path_factory.mktemp("stage")
    text = '#usda 1.0\n(\n    metersPerUnit = 1\n    defaultPrim = "p0"\n)\n'
    text += "\n".join(one.text() for one in prims)
    (folder / "a.usda").write_text(text + "\n")
    source = edited(folder / "a.usda") if is_edited else folder / "a.usda"
    report = exoskel.convert(source, folder / "b.usda")
    before, after = written(folder / "a.usda"), written(folder / "b.usda")
    checked = [one for one in report.items if one.attribute in NAMES]
    assert len(checked) == 2 * len(TYPES)
    for one in checked:
        value = before[one.path.rpartition("/@")[0].rpartition("/")[2], one.attribute]
        is_written = value in after.values()
        assert is_written == (one.fate in (Fate.EXACT, Fate.LOWERED, Fate.KEPT)), (one, text)
        assert is_written or one.fate is Fate.DROPPED, (one, text)
    if not is_edited:
        assert report.losses == []
