"""Public models of installed packages; `make test-external` also tests those of other packages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.external.public_models import FORMATS, convert_to_all, faults, models


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
