"""Public models that come with what is installed anyway; `make test-foreign` tries those of other packages too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.foreign.public import FORMATS, faults, models, tried


def installed(package: str) -> list[tuple[Path, Path]]:
    """The folder that packages lie in, and the models of one."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return []
    site = Path(spec.origin).parent.parent
    return [(site, file) for file in models(site, package)]


@pytest.mark.parametrize("package", ["mujoco", "gymnasium"])
def test_models_survive_the_way_there_and_back(package: str) -> None:
    pytest.importorskip(package)
    found = installed(package)
    assert found
    for site, file in found:
        name, rows = tried(site, file)
        assert list(faults(name, rows)) == []
        assert rows.keys() == set(FORMATS)


def test_what_is_refused_is_a_fault_unless_it_is_known(tmp_path: Path) -> None:
    file = tmp_path / "mujoco" / "broken.xml"
    file.parent.mkdir()
    file.write_text("<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>", encoding="utf-8")
    assert models(tmp_path, "mujoco") == [file]
    name, rows = tried(tmp_path, file)
    assert [fault.split(":")[0] for fault in faults(name, rows)] == [f"mujoco/broken.xml to {f}" for f in FORMATS]
