"""Public models of installed packages; `make test-external` also tests those of other packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from exoskel.conversion.folder import FolderRow
from tests.external.public_models import FORMATS, INCOMPLETE, REJECTED, convert_to_all, faults, models, updated


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
        name, rows = convert_to_all(site, file)
        assert list(faults(name, rows)) == []
        assert rows.keys() == set(FORMATS)


def test_a_rejected_model_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "mujoco" / "broken.xml"
    file.parent.mkdir()
    file.write_text("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", encoding="utf-8")
    assert models(tmp_path, "mujoco") == [file]
    name, rows = convert_to_all(tmp_path, file)
    assert [fault.split(":")[0] for fault in faults(name, rows)] == [f"mujoco/broken.xml to {f}" for f in FORMATS]


def test_an_incomplete_model_is_converted_with_exactly_the_expected_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mujoco" / "incomplete.xml"
    file.parent.mkdir()
    mesh = '<geom size="1"/><geom type="mesh" mesh="lost"/>'
    assets = '<asset><mesh file="lost.obj"/></asset>'
    file.write_text(f"<mujoco>{assets}<worldbody>{mesh}</worldbody></mujoco>", encoding="utf-8")
    name, rows = convert_to_all(tmp_path, file)
    missing = "cannot read the mesh 'lost.obj': file not found (MJ105)"
    assert list(faults(name, rows)) == [f"{name} to {format}: {missing}" for format in FORMATS]
    monkeypatch.setitem(INCOMPLETE, name, "MJ105")
    assert list(faults(name, rows)) == []
    monkeypatch.setitem(INCOMPLETE, name, "MJ104")
    expected = [f"{name} to {format}: expected MJ104, but: {missing}" for format in FORMATS]
    assert list(faults(name, rows)) == expected
    monkeypatch.setitem(REJECTED, name, "MJ105")
    assert list(faults(name, rows)) == [f"{name} to {format}: expected MJ105, but it is written" for format in FORMATS]


def test_a_package_that_is_older_than_the_recorded_one_is_not_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    rows = {"skel": FolderRow("", True, output="out", losses=2)}
    before = {"versions": {"newton": "1.8.0", "pydrake": "1.58.0"}, "models": {"pydrake/a.sdf": 1, "newton/b.usda": 1}}
    found = [("pydrake/old.sdf", rows), ("newton/b.usda", rows)]
    after = updated(before, found, {"newton": "1.8.1", "pydrake": "1.51.1"})
    assert after == {
        "versions": {"newton": "1.8.1", "pydrake": "1.58.0"},
        "models": {"newton/b.usda": {"losses": {"skel": 2}}, "pydrake/a.sdf": 1},
    }
    assert capsys.readouterr().out == "Not recorded: pydrake 1.51.1 is older than 1.58.0.\n"
