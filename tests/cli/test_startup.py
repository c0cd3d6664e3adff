"""Commands load only what they need: the time of a short command is the time of its imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.xml import one_body

SLOW = (
    "rich",
    "trimesh",
    "mujoco",
    "matplotlib",
    "urllib.request",
    "logging",
    "subprocess",
    "tempfile",
    "zipfile",
    "json",
)
UNRELATED = ("exoskel.conversion", "exoskel.engines", "exoskel.simulate", "exoskel.view", "exoskel.lsp")
FORMATS = ("skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf")
SCRIPT = "import sys; from exoskel.cli.main import main; main(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"


def loaded(*arguments: str | Path) -> set[str]:
    """The modules that a command loads, with their packages."""
    command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def below(packages: tuple[str, ...], modules: set[str]) -> list[str]:
    return sorted(one for one in modules if one.startswith(tuple(f"{name}." for name in packages)) or one in packages)


@pytest.mark.parametrize("name", ["skel/pendulum.skel", "skel/walker.skel", "xode/ragdoll.xode"])
def test_a_check_loads_its_format_only(name: str) -> None:
    modules = loaded("check", f"dart://sample/{name}")
    own = name.partition("/")[0]
    others = {
        f"exoskel.formats.{one}.{part}"
        for one in FORMATS
        if one != own
        for part in ("read", "reader", "codes", "write")
    }
    assert f"exoskel.formats.{own}.read" in modules
    assert below((*SLOW, *UNRELATED), modules) == [] and not modules & others


def test_problems_load_the_codes_of_their_format_only(tmp_path: Path) -> None:
    file = tmp_path / "odd.skel"
    file.write_text(one_body("<odd/>"))
    modules = loaded("check", file)
    assert "exoskel.formats.skel.codes" in modules and "exoskel.formats.xode.codes" not in modules
    assert below((*SLOW, *UNRELATED), modules) == []


def test_a_run_does_not_load_what_only_other_options_and_engines_need() -> None:
    modules = loaded("run", "dart://sample/skel/pendulum.skel", "--time", "0.001")
    others = ("exoskel.formats.write", "exoskel.formats.embedded_writer")
    assert "exoskel.engines.mujoco.mujoco_world" in modules
    assert below((*others, "rich", "concurrent.futures", "hashlib"), modules) == []
