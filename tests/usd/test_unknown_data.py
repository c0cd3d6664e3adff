"""An unknown attribute of any kind of prim is in the output of a conversion to USD, or reported as dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
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
VALUES = {"int": 7, "float": 0.5, "string": '"text"', "bool": 1, "double3": (1, 2, 3), "token": '"word"'}


class Node:
    """A prim of a generated stage."""

    def __init__(self, kind: str, schema: str, name: str, value: str, children: list[Node]) -> None:
        self.kind, self.schema, self.name, self.value, self.children = kind, schema, name, value, children

    def text(self, own: str, margin: str = "") -> str:
        schemas = f' (prepend apiSchemas = ["{self.schema}"])' if self.schema else ""
        inner = margin + "    "
        lines = [f'{margin}def {self.kind} "{own}"{schemas}', margin + "{"]
        lines.append(f"{inner}custom {self.value} {self.name} = {VALUES[self.value]}")
        if self.kind == "Mesh":
            lines += [
                f"{inner}int[] faceVertexCounts = [3]",
                f"{inner}int[] faceVertexIndices = [0, 1, 2]",
                f"{inner}point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]",
            ]
        lines += [child.text(f"{own}_{number}", inner) for number, child in enumerate(self.children)]
        return "\n".join([*lines, margin + "}"])


def nodes(children: Any) -> Any:
    return st.builds(
        Node,
        st.sampled_from(TYPES),
        st.sampled_from(SCHEMAS),
        st.sampled_from(NAMES),
        st.sampled_from(sorted(VALUES)),
        children,
    )


stages = st.lists(
    st.recursive(nodes(st.just([])), lambda inner: nodes(st.lists(inner, max_size=3)), max_leaves=6),
    min_size=1,
    max_size=3,
)


def written(path: Path) -> dict[str, list[Any]]:
    """The values of all attributes of a stage, by their names and those of their prims."""
    from pxr import Usd

    found: dict[str, list[Any]] = {}
    stage = Usd.Stage.Open(str(path))
    for prim in stage.TraverseAll():
        for one in prim.GetAuthoredAttributes():
            found.setdefault(f"{prim.GetName()}.{one.GetName()}", []).append(one.Get())
    return found


@pytest.mark.parametrize("is_edited", [False, True])
@settings(max_examples=3, deadline=None)
@given(prims=stages)
def test_an_unknown_attribute_is_kept_or_reported(
    is_edited: bool, prims: list[Node], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("stage")
    text = '#usda 1.0\n(\n    metersPerUnit = 1\n    defaultPrim = "p0"\n)\n'
    text += "\n".join(one.text(f"p{number}") for number, one in enumerate(prims))
    (folder / "a.usda").write_text(text + "\n")
    source = edited(folder / "a.usda") if is_edited else folder / "a.usda"
    report = exoskel.convert(source, folder / "b.usda")
    before, after = written(folder / "a.usda"), written(folder / "b.usda")
    for one in report.items:
        if one.attribute not in NAMES:
            continue
        key = f"{one.path.rpartition('/@')[0].rpartition('/')[2]}.{one.attribute}"
        names = [key, f"{key.partition('.')[0]}__edited_.{one.attribute}", f"PhysicsScene.{one.attribute}"]
        is_written = any(before[key][0] in after.get(name, ()) for name in names)
        if one.fate in (Fate.EXACT, Fate.LOWERED, Fate.KEPT):
            assert is_written, (one, text)
        else:
            assert one.fate is Fate.DROPPED and key not in after, (one, text)
    if not is_edited:
        assert report.losses == []
