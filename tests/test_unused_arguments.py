"""Arguments for macros of xacro are reported if a file has no macros, in any format and by any way of reading."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.cli.main import main
from exoskel.diagnostics import LoadError, Severity

FORMATS = ["skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf"]


@pytest.fixture(params=FORMATS)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file without macros."""
    world = exoskel.World()
    world.add_model("m").add_body("b", shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    found = tmp_path / f"model.{request.param}"
    report = exoskel.convert(exoskel.Scene(worlds=[world]), to=request.param)
    assert report.data is not None
    found = found.with_suffix({"usd": ".usda", "gltf": ".glb", "mjcf": ".xml"}.get(request.param, found.suffix))
    found.write_bytes(report.data)
    return found


def test_an_argument_of_a_file_without_macros_is_reported(file: Path) -> None:
    scene = exoskel.load(file, arguments={"size": 3, "prefix": "a"})
    found = [one for one in scene.diagnostics if one.code == "FM101"]
    assert [(one.code, one.severity, one.message, one.hint) for one in found] == [
        (
            "FM101",
            Severity.WARNING,
            f"the file has no macros, and does not use the argument '{name}'",
            "remove --arg (arguments=)",
        )
        for name in ("size", "prefix")
    ]


def test_commands_report_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(file), "--arg", "size=3"]) == 0
    assert "warning[FM101]" in capsys.readouterr().out
    assert main(["convert", str(file), str(file.with_name("out.skel")), "--arg", "size=3"]) == 0
    assert "warning[FM101]" in capsys.readouterr().err


def test_a_malformed_file_has_only_its_own_errors() -> None:
    scene = exoskel.load(b"<robot name='xacro'", format="urdf", arguments={"a": 1})
    assert [one.severity for one in scene.diagnostics] == [Severity.ERROR]


def test_strict_reading_refuses_it() -> None:
    with pytest.raises(LoadError, match="FM101"):
        exoskel.load(b"<robot name='r'><link name='a'/></robot>", strict=True, arguments={"a": 1})
