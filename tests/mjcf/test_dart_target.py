"""What DART's MJCF reader refuses is reported in files for DART."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lxml import etree

import exoskel
from exoskel import Cone, Ellipsoid, Euler, Pose, Pyramid, Scene, TriMesh, World
from exoskel.fates import Fate
from exoskel.samples import samples
from exoskel.source.output_context import Target

REFUSED = {"domino", "trebuchet", "amotor_gimbal"}
"""The samples whose MJCF DART 6.20.3 does not read."""


def reasons(report: exoskel.Report) -> set[str]:
    return {item.why for item in report.items if "MJ511" in item.why}


@pytest.mark.parametrize("uri", [sample.uri for sample in samples()])
def test_files_that_dart_refuses_are_reported(uri: str, tmp_path: Path) -> None:
    report = exoskel.convert(uri, tmp_path / "a.xml", target="dart")
    assert bool(reasons(report)) == (Path(uri).stem in REFUSED)
    assert not reasons(exoskel.convert(uri, to="mjcf"))


def world(kind: Any, inner: bool) -> World:
    out = World()
    model = out.add_model("m")
    base = model.add_body("base", mass=1.0, joint="weld") if inner else None
    model.add_body("b", mass=1.0, joint=kind, parent=base)
    return out


@pytest.mark.parametrize(
    ("kind", "inner", "refused"),
    [("free", False, False), ("free", True, True), ("ball", True, False), ("planar", True, False)],
)
def test_a_body_with_more_than_three_joints_is_reported(kind: str, inner: bool, refused: bool) -> None:
    report = exoskel.convert(Scene(worlds=[world(kind, inner)]), to="mjcf", target="dart")
    assert bool(reasons(report)) == refused
    assert all("more than three MuJoCo joints" in reason for reason in reasons(report))


def solids() -> World:
    """A hollow static mesh, and shapes that MuJoCo lacks."""
    out = World()
    corners = [(x, y, x % 2) for x in range(5) for y in (-1, 1)]
    pit = TriMesh(corners, [(n, n + 2, n + 1) if n % 2 == 0 else (n, n + 1, n + 2) for n in range(8)])
    out.add_model("ground", static=True).add_body("g", joint="weld", shapes=[pit])
    for name, shape in (("cone", Cone(0.1, 0.3)), ("pyramid", Pyramid(0.1, 0.2, 0.3)), ("egg", Ellipsoid((1, 2, 3)))):
        out.add_model(name).add_body("b", joint="free", mass=1.0, shapes=[shape])
    return out


@pytest.mark.parametrize("target", ["dart", "isaac"])
def test_all_meshes_are_in_files(target: Target, tmp_path: Path) -> None:
    """Both programs refuse meshes inside of the document; Isaac Sim has no ellipsoids."""
    report = exoskel.convert(Scene(worlds=[solids()]), tmp_path / "a.xml", target=target)
    assert report.certificate.passed and not reasons(report)
    root = etree.fromstring(report.data)
    meshes = list(root.iter("mesh"))
    assert len(meshes) == (3 if target == "dart" else 4)
    assert all((tmp_path / mesh.get("file", "")).is_file() and "vertex" not in mesh.attrib for mesh in meshes)
    assert any(geom.get("type") == "ellipsoid" for geom in root.iter("geom")) == (target == "dart")
    lost = {item.why for item in report.losses if item.fate is Fate.APPROXIMATED}
    assert any("no ellipsoids" in why for why in lost) == (target == "isaac")
    back = exoskel.load(tmp_path / "a.xml")
    assert back.world.model("ground").bodies[0].collisions[0].kind in ("mesh", "trimesh")


@pytest.mark.parametrize(("target", "is_lost"), [("portable", False), ("dart", False), ("isaac", True)])
def test_static_meshes_are_hulls_in_isaac_sim(target: Target, is_lost: bool) -> None:
    report = exoskel.convert("dart://sample/xode/trimesh_terrain.xode", to="mjcf", target=target)
    assert any("hollows are filled (MJ501)" in item.why for item in report.losses) == is_lost
    geoms = [one for one in etree.fromstring(report.data).iter("geom") if one.get("type") == "mesh"]
    assert (len(geoms) > 1) == (target == "portable")


def test_capsules_are_not_exact_for_dart() -> None:
    for target, fate in (("portable", Fate.EXACT), ("dart", Fate.APPROXIMATED)):
        report = exoskel.convert("dart://sample/skel/walker.skel", to="mjcf", target=target)
        capsules = {i.fate for i in report.items if i.path.endswith("capsule") and "collision_shape" in i.path}
        assert capsules == {fate}


@pytest.mark.parametrize("static", [False, True])
def test_no_moment_of_inertia_is_exact_for_dart(static: bool) -> None:
    """DART also reads the moments of bodies that never move."""
    out = World()
    out.add_model("m", static=static).add_body("b", joint="weld", mass=2.0, moment=(1.0, 1.1, 1.2, 0.0, 0.0, 0.0))
    for target, fate in (("mujoco4", Fate.EXACT), ("dart", Fate.APPROXIMATED)):
        report = exoskel.convert(Scene(worlds=[out]), to="mjcf", target=target)
        moments = {item.fate for item in report.items if "moment_of_inertia/" in item.path and item.path.endswith("xx")}
        assert moments == {fate}, target


@pytest.mark.parametrize("with_shape", [False, True])
def test_the_mass_of_a_body_without_shapes_is_exact_for_dart(with_shape: bool) -> None:
    """DART ignores it: such a body gets an invisible shape."""
    out = World()
    model = out.add_model("m")
    shapes = [Ellipsoid((1, 2, 3))] if with_shape else []
    model.add_body(
        "b", joint="free", mass=2.0, com=(0.1, 0.0, 0.0), moment=(1.0, 1.1, 1.2, 0.0, 0.0, 0.0), shapes=shapes
    )
    for target in ("mujoco4", "dart"):
        report = exoskel.convert(Scene(worlds=[out]), to="mjcf", target=target)
        found = {item.fate for item in report.items if item.path.endswith(("inertia/mass", "inertia/offset"))}
        assert found == {Fate.EXACT}, target
        assert (b"exoskel_inertia" in report.data) == (target == "dart" and not with_shape)


@pytest.mark.parametrize("turned", [False, True])
def test_the_axes_of_three_slides_are_not_exact_for_dart(turned: bool) -> None:
    out = world("translational", inner=True)
    out.models[0].joint("b_joint").pose = Pose((0.0, 0.0, 0.0), Euler((0.0, 0.0, 0.5 if turned else 0.0)))
    for target, is_lost in (("newton", False), ("dart", turned)):
        report = exoskel.convert(Scene(worlds=[out]), to="mjcf", target=target)
        assert any("the axes of three slides" in item.why for item in report.losses) == is_lost, target
