"""Marks of tests that need a version of MuJoCo: MuJoCo 3 is supported, but does not know all words of MuJoCo 4."""

from __future__ import annotations

import mujoco
import pytest

needs_mujoco_4 = pytest.mark.skipif(mujoco.__version__.startswith("3."), reason="MuJoCo 3 does not know these words")
