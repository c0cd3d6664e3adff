"""Public models of installed packages; `make test-external` also tests those of other packages."""

from __future__ import annotations

from importlib.util import find_spec
from math import inf
from pathlib import Path

import pytest

import exoskel
from exoskel.conversion.folder import FolderRow
from exoskel.scene.joint import JointKind
from exoskel.scene.pose import Pose
from tests.external.public_models import (
    FORMATS,
    INCOMPLETE,
    REJECTED,
    Result,
    RoundTrip,
    convert_to_all,
    faults,
    is_complete,
    models,
    physics_difference,
    updated,
)


def installed(package: str) -> list[tuple[Path, Path]]:
    """The folder of installed packages, and each model of one package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    site = Path(spec.origin).parent.parent
    return [(site, file) for file in models(site, package)]


@pytest.mark.parametrize("package", ["mujoco", "gymnasium"])
def test_public_models_convert_to_every_format(package: str) -> None:
    pytest.importorskip(package)
    found = installed(package)
    assert found
    for site, file in found:
        result = convert_to_all(site, file)
        assert list(faults(result)) == []
        assert result.rows.keys() == set(FORMATS)
        assert is_complete(result.trips)


def test_a_rejected_model_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "mujoco" / "broken.xml"
    file.parent.mkdir()
    file.write_text("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", encoding="utf-8")
    assert models(tmp_path, "mujoco") == [file]
    result = convert_to_all(tmp_path, file)
    assert [fault.split(":")[0] for fault in faults(result)] == [f"mujoco/broken.xml to {f}" for f in FORMATS]


def test_an_incomplete_model_is_converted_with_exactly_the_expected_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mujoco" / "incomplete.xml"
    file.parent.mkdir()
    mesh = '<geom size="1"/><geom type="mesh" mesh="lost"/>'
    assets = '<asset><mesh file="lost.obj"/></asset>'
    file.write_text(f"<mujoco>{assets}<worldbody>{mesh}</worldbody></mujoco>", encoding="utf-8")
    result = convert_to_all(tmp_path, file)
    name = result.name
    missing = "cannot read the mesh 'lost.obj': file not found (MJ105)"
    assert list(faults(result)) == [f"{name} to {format}: {missing}" for format in FORMATS]
    monkeypatch.setitem(INCOMPLETE, name, "MJ105")
    assert list(faults(result)) == []
    monkeypatch.setitem(INCOMPLETE, name, "MJ104")
    expected = [f"{name} to {format}: expected MJ104, but: {missing}" for format in FORMATS]
    assert list(faults(result)) == expected
    monkeypatch.setitem(REJECTED, name, "MJ105")
    assert list(faults(result)) == [f"{name} to {format}: expected MJ105, but it is written" for format in FORMATS]


def test_a_round_trip_that_changes_the_physics_is_a_fault() -> None:
    def arm(mass: float = 2.0, *, joint: JointKind = "ball") -> exoskel.Scene:
        world = exoskel.World()
        body = world.add_model("arm").add_body("upper", joint=joint, mass=mass)
        body.com = (0.0, 0.1, 0.0)
        return exoskel.Scene(worlds=[world])

    assert physics_difference(arm(), arm()) == 0.0
    assert physics_difference(arm(), arm(2.1)) == pytest.approx(0.05)
    assert physics_difference(arm(), arm(joint="free")) == inf
    moved = arm()
    moved.world.models[0].pose = Pose((0.0, 0.0, 1e-3))
    assert 1e-5 < physics_difference(arm(), moved) < 1e-1
    trips = {"usd-mjcf": RoundTrip("", 0.0), "mjcf-usd": RoundTrip("the physics differs", 0.05)}
    assert not is_complete(trips) and not is_complete({"usd-mjcf": trips["usd-mjcf"]})
    expected = ["newton/a.usda through mjcf-usd: the physics differs (difference 0.05)"]
    assert list(faults(Result("newton/a.usda", {}, trips))) == expected


def test_a_package_that_is_older_than_the_recorded_one_is_not_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {"skel": FolderRow("", True, output="out", losses=2)}
    before = {"versions": {"newton": "1.8.0", "pydrake": "1.58.0"}, "models": {"pydrake/a.sdf": 1, "newton/b.usda": 1}}
    trips = {"usd-mjcf": RoundTrip("", 0.0), "mjcf-usd": RoundTrip("", 0.0)}
    found = [Result("pydrake/old.sdf", rows, trips), Result("newton/b.usda", rows, trips)]
    after = updated(before, found, {"newton": "1.8.1", "pydrake": "1.51.1"})
    assert after == {
        "versions": {"newton": "1.8.1", "pydrake": "1.58.0"},
        "models": {"newton/b.usda": {"losses": {"skel": 2}, "round_trips": True}, "pydrake/a.sdf": 1},
    }
    assert capsys.readouterr().out == "Not recorded: pydrake 1.51.1 is older than 1.58.0.\n"
