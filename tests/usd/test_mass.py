"""Mass properties of bodies and their colliders: usd-core computes the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import spatial

pytest.importorskip("pxr", reason="usd-core is not installed")

BODY = """#usda 1.0
(
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)

def Material "rubber" (prepend apiSchemas = ["PhysicsMaterialAPI"])
{{
    float physics:density = 700
}}

def Xform "body" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    double3 xformOp:translate = (1, 2, 3)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    {body}

    def Cube "small" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI", "MaterialBindingAPI"])
    {{
        double size = 0.5
        double3 xformOp:translate = (0.25, 0, 0.125)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        {small}
    }}

    def Cube "large" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMassAPI", "MaterialBindingAPI"])
    {{
        double size = 1
        double3 xformOp:translate = (-1, 0.5, 0)
        quatd xformOp:orient = (0.5, 0.5, 0.5, 0.5)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
        {large}
    }}
}}
"""
MASS, DENSITY = "float physics:mass = {}".format, "float physics:density = {}".format
CENTRE = "point3f physics:centerOfMass = (0.125, 0.25, -0.5)"
MOMENT = "float3 physics:diagonalInertia = (1, 2, 2.5)"
AXES = f"{MOMENT}\n        quatf physics:principalAxes = (0.8, 0, 0.6, 0)"
RUBBER = "rel material:binding:physics = </rubber>"
STATED = {
    "nothing": ("", "", ""),
    "density of one collider": ("", DENSITY(250), ""),
    "densities of both colliders": ("", DENSITY(250), DENSITY(3000)),
    "a density of a collider outranks that of the body": (DENSITY(500), "", DENSITY(3000)),
    "a density of the body outranks that of the material": (DENSITY(500), RUBBER, ""),
    "density of the material": ("", RUBBER, ""),
    "a density of a collider outranks that of the material": ("", f"{RUBBER}\n        {DENSITY(250)}", ""),
    "mass of one collider": ("", MASS(4), ""),
    "masses of both colliders": ("", MASS(4), MASS(0.5)),
    "a mass outranks a density": ("", f"{MASS(4)}\n        {DENSITY(250)}", ""),
    "a mass of the body keeps the proportions": (MASS(10), MASS(4), MASS(1)),
    "mass of the body and densities": (MASS(10), DENSITY(250), ""),
    "a centre of the body": (f"{MASS(10)}\n    {CENTRE}", MASS(4), MASS(1)),
    "a moment of the body": (f"{MASS(10)}\n    {AXES}", MASS(4), MASS(1)),
    "all of the body": (f"{MASS(10)}\n    {CENTRE}\n    {AXES}", MASS(4), MASS(1)),
    "a moment of a collider": ("", "", f"{MASS(3)}\n        {AXES}"),
    "a moment of a collider of a heavier body": (MASS(100), "", f"{MASS(3)}\n        {AXES}"),
    "a centre and moment of a collider": ("", MASS(3), f"{MASS(3)}\n        {AXES}\n        {CENTRE}"),
    "a collider that does not collide": ("", "bool physics:collisionEnabled = 0", ""),
}


def mass_by_usd_core(text: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre and tensor by Pixar's implementation, which gets volumes and moments of cubes."""
    from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(text)
    stage = Usd.Stage.Open(layer)
    body = stage.GetPrimAtPath("/body")

    def describe(prim: Any) -> Any:
        size = UsdGeom.Cube(prim).GetSizeAttr().Get()
        placed, _ = UsdGeom.XformCache().ComputeRelativeTransform(prim, body)
        found = UsdPhysics.RigidBodyAPI.MassInformation()
        found.volume, found.inertia = size**3, Gf.Matrix3f(size**5 / 6)
        found.centerOfMass = Gf.Vec3f(0)
        found.localPos = Gf.Vec3f(placed.ExtractTranslation())
        found.localRot = Gf.Quatf(placed.ExtractRotationQuat())
        return found

    mass, principal, centre, axes = UsdPhysics.RigidBodyAPI(body).ComputeMassProperties(describe)
    rotation = spatial.quaternion_matrix([axes.GetReal(), *axes.GetImaginary()])
    return mass, np.array(centre), rotation @ np.diag(np.array(principal)) @ rotation.T


def read_body(text: str, folder: Path) -> exoskel.Scene:
    file = folder / "body.usda"
    file.write_text(text, encoding="utf-8")
    return exoskel.load(file)


@pytest.mark.parametrize("stated", STATED.values(), ids=STATED)
def test_mass_properties_are_those_of_usd_core(stated: tuple[str, str, str], tmp_path: Path) -> None:
    text = BODY.format(body=stated[0], small=stated[1], large=stated[2])
    mass, centre, tensor = mass_by_usd_core(text)
    (body,) = read_body(text, tmp_path).world.bodies()
    assert body.mass == pytest.approx(mass, rel=1e-6)
    assert np.allclose(body.com, centre, atol=1e-6)
    assert np.allclose(spatial.moment_matrix(body.moment), tensor, rtol=2e-5, atol=2e-5 * np.abs(tensor).max())


def test_units_scale_the_mass_properties_of_colliders(tmp_path: Path) -> None:
    stated = {"body": "", "small": MASS(3), "large": f"{DENSITY(0.002)}\n        {AXES}\n        {CENTRE}"}
    text = BODY.format(**stated)
    (body,) = read_body(text, tmp_path).world.bodies()
    scaled = text.replace("metersPerUnit = 1", "metersPerUnit = 0.01").replace("ogramsPerUnit = 1", "ogramsPerUnit = 2")
    (small,) = read_body(scaled, tmp_path).world.bodies()
    assert small.mass == pytest.approx(2 * body.mass)
    assert np.allclose(small.com, 0.01 * np.array(body.com))
    assert np.allclose(small.moment, 2 * 0.01**2 * np.array(body.moment))


@pytest.mark.parametrize(
    ("stated", "unused"),
    [
        (("", MASS(4), MASS(1)), set()),
        ((DENSITY(500), DENSITY(250), ""), set()),
        ((DENSITY(500), MASS(4), DENSITY(3000)), {"density of 'body'"}),
        (("", f"{MASS(4)}\n        {DENSITY(250)}", ""), {"density of 'small'"}),
        ((f"{MASS(10)}\n    {DENSITY(500)}", "", ""), {"density of 'body'"}),
        ((f"{MASS(10)}\n    {CENTRE}\n    {AXES}", MASS(4), ""), {"mass of 'small'"}),
        ((f"{MASS(10)}\n    {AXES}", MASS(4), MOMENT), {"diagonalInertia of 'large'"}),
    ],
)
def test_what_has_no_effect_is_reported(stated: tuple[str, str, str], unused: set[str], tmp_path: Path) -> None:
    scene = read_body(BODY.format(body=stated[0], small=stated[1], large=stated[2]), tmp_path)
    found = {d.message.partition(" has ")[0] for d in scene.diagnostics if d.key == "US108.unused"}
    assert found == {f"physics:{name}" for name in unused}
