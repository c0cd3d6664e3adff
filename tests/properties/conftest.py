"""Fixtures of the property tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.generate import MESH
from tests.support.geometry import TETRA


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for generated documents, with the mesh that they refer to."""
    home = tmp_path_factory.mktemp("generated")
    (home / MESH).write_text(TETRA)
    return home
